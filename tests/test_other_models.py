"""Models of other programs: archives of rbms, arrays under other names; and hostile ones."""

import io
import itertools

import h5py
import numpy as np
import pytest
from naive import same_parameters
from safetensors.numpy import save_file

import rbmviz
from rbmviz import RBM, BadInput, load_model
from rbmviz.rbm.files import load_model_bytes

GENERATOR = np.random.default_rng(0)
RBM_ = RBM(GENERATOR.normal(size=(6, 4)), GENERATOR.normal(size=6), GENERATOR.normal(size=4))
SQUARE = RBM(GENERATOR.normal(size=(4, 4)), GENERATOR.normal(size=4), GENERATOR.normal(size=4))
V = np.array(list(itertools.product([0, 1], repeat=6)), np.uint8)


def same(model, rbm=RBM_):
    return same_parameters(model.rbm, rbm)


def archive(path, updates=(1, 20, 300), params="params/", kind="BBRBM"):
    """Write what ``rbms.io.save_model`` writes; older versions had no folder ``params``."""
    with h5py.File(path, "w") as file:
        for n in updates:
            for name, array in (("weight_matrix", RBM_.W * n), ("vbias", RBM_.b), ("hbias", RBM_.c)):
                file[f"update_{n}/{params}{name}"] = array
            file[f"update_{n}/torch_rng_state"] = np.zeros(5056, np.uint8)
            file[f"update_{n}/numpy_rng_arg0"], file[f"update_{n}/time"] = "MT19937", 0.5
            file.create_group(f"update_{n}/flags")["pt"] = True
        file["parallel_chains"], file["model_type"] = V[:5].astype(np.float32), kind
        file.create_group("hyperparameters")["learning_rate"] = 0.01
    return path


@pytest.mark.parametrize("params", ["params/", ""])
def test_an_archive_of_rbms(tmp_path, params):
    path = archive(tmp_path / "run.h5", params=params)
    assert (load_model(path).rbm.W == np.float32(300) * RBM_.W).all()
    assert load_model(path).meta == {"trainer": "rbms", "updates": 300}
    assert same(load_model(path, update=1))
    chains = rbmviz.load_chains(path)
    assert (chains == V[:5]).all()
    assert rbmviz.sample(path, "gibbs:n_chains=5", 10, v0=chains).by_chain()["v"].shape == (5, 2, 6)
    with pytest.raises(BadInput, match="has no update 7; it has 1, 20, 300"):
        load_model(path, update=7)
    many = archive(tmp_path / "many.h5", range(1, 20))
    with pytest.raises(BadInput, match=r"it has 1, 2, 3, \.\.\., 17, 18, 19"):
        load_model(many, update=0)
    with pytest.raises(BadInput, match="of the type IIRBM: only BBRBM"):
        load_model(archive(tmp_path / "ising.h5", kind="IIRBM"))


@pytest.mark.parametrize(
    ("theirs", "stated"),
    [
        ({"weight": RBM_.W.T, "v_bias": RBM_.b, "h_bias": RBM_.c}, None),
        ({"rbm.weights": RBM_.W, "rbm.visible_bias": RBM_.b, "rbm.hidden_bias": RBM_.c, "lr": RBM_.c}, None),
        ({"W": RBM_.W, "a": RBM_.b, "b": RBM_.c}, {"b": "a", "c": "b"}),
        ({"U": RBM_.W.T, "x": RBM_.b, "y": RBM_.c}, {"W": "U.T", "b": "x", "c": "y"}),
    ],
)
def test_other_names_of_the_arrays(tmp_path, theirs, stated):
    np.savez(tmp_path / "m.npz", **theirs)
    save_file({name: np.ascontiguousarray(x) for name, x in theirs.items()}, tmp_path / "m.safetensors")
    for source in ("m.npz", "m.safetensors"):
        assert same(load_model(tmp_path / source, names=stated))
    assert same(rbmviz.from_arrays(theirs, stated))


def test_ambiguous_arrays_are_refused(tmp_path):
    two = {"W": RBM_.W, "vbias": RBM_.b, "visible_bias": RBM_.b, "hbias": RBM_.c}
    for arrays, names, said in (
        (two, None, "no array b;"),
        ({"b": RBM_.b, "c": RBM_.c, "rates.W": RBM_.W}, None, "no array W;.* this one b, c: names="),
        (two, {"V": "vbias"}, "names has a key 'V'"),
        ({**two, "b": RBM_.c}, None, "b has shape"),
        ({"W": "text", "b": RBM_.b, "c": RBM_.c}, None, "values are of type"),
    ):
        with pytest.raises(BadInput, match=said):
            rbmviz.from_arrays(arrays, names)
    with pytest.raises(BadInput, match="not a mapping"):
        rbmviz.from_arrays([RBM_.W])
    state = {"weight": SQUARE.W.T, "vbias": SQUARE.b, "hbias": SQUARE.c}
    assert same(rbmviz.from_arrays(state, {"W": "weight.T"}), SQUARE)
    assert same(rbmviz.from_arrays({**state, "weight": SQUARE.W}, {"W": "weight"}), SQUARE)
    np.savez(tmp_path / "square.npz", **state)
    for read in (lambda: rbmviz.from_arrays(state), lambda: load_model(tmp_path / "square.npz")):
        with pytest.raises(BadInput, match=r"'weight' is square.*torch.nn.Linear.*'weight\.T' for hidden"):
            read()
    for name, W in (("W", SQUARE.W), ("weight_matrix", SQUARE.W), ("components_", SQUARE.W.T)):
        assert same(rbmviz.from_arrays({name: W, "vbias": SQUARE.b, "hbias": SQUARE.c}), SQUARE)
    (tmp_path / "m.pt").write_bytes(b"PK")
    with pytest.raises(BadInput, match=r"is not opened.*rbmviz\.from_arrays"):
        load_model(tmp_path / "m.pt")


def test_tensors_and_a_centred_model():
    class Tensor:
        def __init__(self, array):
            self.array = array

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self.array

    state = {"weight": Tensor(RBM_.W.T), "v_bias": Tensor(RBM_.b), "h_bias": Tensor(RBM_.c)}
    assert same(rbmviz.from_arrays(state))
    ov, oh = GENERATOR.random((1, 6)), GENERATOR.random((1, 4))
    model = rbmviz.from_arrays({"w": RBM_.W, "bv": RBM_.b[None], "bh": RBM_.c[None], "ov": ov, "oh": oh})
    h = np.array(list(itertools.product([0, 1], repeat=4)))
    v = V[:, None]
    energy = -((v - ov) @ RBM_.W * (h - oh)).sum(-1) - (v - ov) @ RBM_.b - (h - oh) @ RBM_.c
    ours = -(v @ model.rbm.W * h).sum(-1) - v @ model.rbm.b - h @ model.rbm.c
    assert np.ptp(energy - ours) < 1e-5  # they differ by a constant


def hostile(damage):
    """Return the bytes of an archive after ``damage`` has been done to its update 1."""
    content = io.BytesIO()
    archive(content, updates=[1])
    with h5py.File(content, "a") as file:
        group = file["update_1/params"]
        damage(group)
    return content.getvalue()


def replaced(name, **how):
    def damage(group):
        del group[name]
        group.create_dataset(name, **how)

    return damage


def linked(link):
    def damage(group):
        del group["vbias"]
        group["vbias"] = link

    return damage


def virtual(group):
    del group["vbias"]
    layout = h5py.VirtualLayout(shape=(6,), dtype="f4")
    layout[:] = h5py.VirtualSource("/etc/hostname", "x", shape=(6,))
    group.create_virtual_dataset("vbias", layout)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (replaced("weight_matrix", shape=(2**20, 2**20), dtype="f4", chunks=True), "more memory|allocate"),
        (replaced("vbias", shape=(5,), dtype="f4"), "b has shape"),
        (replaced("vbias", data="text"), "holds no array of numbers"),
        (
            replaced("vbias", shape=(6,), dtype="f4", external=[("/etc/hostname", 0, 24)]),
            "not an array in this file",
        ),
        (virtual, "not an array in this file"),
        (linked(h5py.ExternalLink("other.h5", "/vbias")), "not an array in this file"),
        (lambda group: group.move("vbias", "other/vbias"), "has no vbias"),
    ],
)
def test_hostile_archives_are_refused_in_a_sentence(tmp_path, damage, said):
    path = tmp_path / "m.h5"
    path.write_bytes(hostile(damage))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["vbias"] = RBM_.b
    with pytest.raises(BadInput, match=f"m.h5'.*{said}"):
        load_model(path)


def test_damaged_archives_are_refused(tmp_path):
    whole, path = archive(tmp_path / "whole.h5", updates=[1]).read_bytes(), tmp_path / "m.h5"
    for content in (b"", b"\x89HDF\r\n\x1a\n", whole[:700], whole[: len(whole) // 2], b"x" * 999):
        path.write_bytes(content)
        with pytest.raises(BadInput, match="is not a readable model file"):
            load_model(path)
    assert same(load_model_bytes(whole, "m.h5"))
