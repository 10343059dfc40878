"""Samples as an ArviZ data tree: chains x draws."""

import json
from typing import Any

import numpy as np

from rbmviz.datasets import AnyData, as_dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.metrics import Coverage, findings
from rbmviz.samplers import Samples


def data_tree(samples: Samples, dataset: AnyData | None = None) -> Any:
    """Return samples as an ``xarray.DataTree``; see ``Samples.to_arviz``."""
    with brought_by("arviz", "to_arviz"):
        from arviz_base import from_dict

    chains = samples.by_chain()
    v, traces = chains.pop("v"), {"p": chains.pop("p")}
    posterior = {}
    if samples.model is not None:
        energy = samples.model.rbm.free_energy(v.reshape(-1, v.shape[2]))
        posterior["free_energy"] = energy.reshape(v.shape[:2])
    posterior |= {name: chains.pop(name) for name in [*chains] if name != "sweeps"}
    dataset = None if dataset is None else as_dataset(dataset)
    attrs = {}
    if samples.model is not None:
        found = findings(samples, samples.model, dataset).as_data()
        attrs = {"model": json.dumps(dict(samples.model.meta)), "findings": json.dumps(found)}
    if dataset is not None:
        classes, _, spurious = Coverage(dataset).kinds(v.reshape(-1, v.shape[2]))
        posterior["spurious"] = spurious.reshape(v.shape[:2]).astype(np.int64)  # ArviZ subtracts
        if len(classes):
            posterior["class"] = classes.reshape(v.shape[:2])
            attrs["classes"] = json.dumps(dataset.classes)
    if not posterior:
        raise BadInput("These samples say neither their model nor a trace: draw them with rbmviz.sample.")
    groups = {"posterior": posterior, "sample_stats": chains, "samples": {"v": v, **traces}}
    return from_dict(groups, dims={"v": ["unit"], "p": ["unit"]}, attrs={"/": attrs})
