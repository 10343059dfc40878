"""``rbmviz export-model``: write a model as a file for other programs."""

from rbmviz.cli import Answer
from rbmviz.cli.options import ModelName
from rbmviz.cli.outputs import DefaultName, check_outputs
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.models import load_model, with_rates
from rbmviz.rbm.files import save_model


def export_model(
    *, model: ModelName = "bas_pcd", dataset: str | None = None, out: str = DefaultName("model.npz")
) -> Answer:
    """Write a model as .safetensors or .npz.

    The file has the arrays W, b, c, the rates, and the metadata.

    Parameters
    ----------
    dataset
        Training data of a model without rates, a name or a file: the rates, which driven samplers need, are
        computed from them.
    out
        The file, .safetensors or .npz.

    Examples
    --------
    rbmviz export-model --model usps_fpcd --out usps.npz
    """
    check_outputs({"--out": out}, models={"--model": model}, datasets={"--dataset": dataset})
    loaded = load_model(model)
    if dataset is not None:
        if loaded.rates is not None:
            raise BadInput(f"export-model: '{model}' has rates already: leave --dataset out.")
        loaded = with_rates(loaded, load_dataset(dataset))
    save_model(loaded, out)
    (m, n), rates = loaded.rbm.W.shape, loaded.rates is not None
    result = {"out": out, "n_visible": m, "n_hidden": n, "rates": rates}
    return result, f"{m} x {n}, {'with' if rates else 'without'} rates -> {out}"
