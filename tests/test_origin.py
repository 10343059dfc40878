"""Files say where they come from, and stay readable by everything that reads such files."""

import csv
import io
import json

import numpy as np
import pandas as pd

from rbmviz import load_dataset, load_model
from rbmviz.cli import main
from rbmviz.files.origin import origin, with_origin

KNOWN = origin(
    'rbmviz sample --model "a <b> & c"\nprint("ü")',
    models={"bas_pcd": load_model("bas_pcd")},
    data=[load_dataset("bas"), None],
    seeds=[3, 4],
)


def test_origin_names_models_data_and_seeds():
    assert KNOWN["models"] == {"bas_pcd": load_model("bas_pcd").digest()}
    assert KNOWN["data"] == {"bas": load_dataset("bas").digest()}
    assert KNOWN["seeds"] == [3, 4]
    assert KNOWN["version"] in KNOWN["cite"]


def test_tables():
    written = with_origin(b'a,b\n1,"x, ""y"""\n2,z\n', "t.csv", KNOWN)
    rows = list(csv.DictReader(written.decode().splitlines()))
    assert [(row["a"], row["b"]) for row in rows] == [("1", 'x, "y"'), ("2", "z")]
    assert json.loads(rows[0]["origin"]) == KNOWN
    assert rows[1]["origin"] == ""
    assert pd.read_csv(io.BytesIO(written))["a"].tolist() == [1, 2]
    two = with_origin(b"a\n1\n\nb\n2\n", "t.csv", KNOWN).decode()
    assert two.endswith("\n\nb\n2\n")  # the second table of a file stays as it is
    [alone] = csv.DictReader(with_origin(b"a,b\n", "t.csv", KNOWN).decode().splitlines())
    assert json.loads(alone["origin"]) == KNOWN


def test_arrays():
    content = io.BytesIO()
    np.savez_compressed(content, x=np.arange(3))
    with np.load(io.BytesIO(with_origin(content.getvalue(), "a.npz", KNOWN))) as found:
        assert found["x"].tolist() == [0, 1, 2]
        assert json.loads(str(found["origin"])) == KNOWN


def test_other_files_stay_as_they_are():
    for name in ("model.safetensors", "a.png", "a.svg", "a.html"):
        assert with_origin(b"anything", name, KNOWN) == b"anything"
    assert with_origin(b"", "nothing.csv", KNOWN) == b""


def test_the_command_line(tmp_path, capsys):
    out, history = tmp_path / "m.safetensors", tmp_path / "h.csv"
    words = "train --dataset bas --trainer cd --n-hidden 2 --iterations 4 --seed 5".split()
    assert main([*words, "--out", str(out), "--history", str(history), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["origin"]
    first, *_ = csv.DictReader(history.read_text().splitlines())
    assert json.loads(first["origin"]) == said
    assert said["command"].startswith("rbmviz train --dataset bas --trainer cd")
    assert (said["seeds"], said["data"]) == ([5], KNOWN["data"])
    samples = tmp_path / "s.npz"
    assert main(f"sample --model bas_pcd --sampler gibbs -n 5 --out={samples}".split()) == 0
    with np.load(samples) as arrays:
        source = json.loads(str(arrays["meta"]))["origin"]
    assert source["models"] == KNOWN["models"]
    assert source["command"].endswith(" -n 5 --out=s.npz")  # without the folder
