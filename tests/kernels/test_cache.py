"""The cache of compiled kernels, damaged, shared, read-only or filled by others: never wrong, never fatal."""

import gc
import random
import subprocess
import sys

import pytest
from file_limits import largest_file
from llvmlite.binding import ObjectFileRef
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCPUCodegen

from rbmviz.kernels import _jit, compiled

pytestmark = pytest.mark.compiled


def twice(x):
    return 2 * x


def cached() -> tuple[float, int]:
    """Call a new dispatcher of the function; return its result and the number of cache hits."""
    kernel = _jit.kernel(twice)
    return kernel(2.0), sum(kernel.stats.cache_hits.values())


def test_a_kernel_contains_what_it_calls(tmp_path, monkeypatch):
    """Kernels that kernels call: inline ones, functions of their own, and those that Python calls, too."""
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    step = _jit.inline(lambda x: x + 1.0)
    called = _jit.private(lambda x: step(x) * step(x))
    also = _jit.inner(lambda x: called(x) - 1.0)
    outer = _jit.kernel(lambda x: also(x) + called(x))
    assert outer(2.0) == 17.0
    assert also(2.0) == 8.0
    assert [len(form.signatures) for form in (outer, also, also.private_form)] == [1, 1, 1]
    (code,) = outer.inspect_asm().values()
    assert code.count("test_a_kernel_contains_what_it_calls") > 0
    (instructions,) = outer.inspect_llvm().values()
    assert instructions.count("define private") == 2  # not the inline one
    # Other modules cannot find them by name: here they may have lost arguments, and such a call crashed.
    library = next(iter(outer.overloads.values())).library
    sections = ObjectFileRef.from_data(library._get_compiled_object()).sections()
    (names,) = (section.data() for section in sections if section.name() == b".strtab")
    (form,) = called.overloads.values()
    assert form.fndesc.mangled_name.encode() not in names


@pytest.mark.parametrize("collecting", [True, False])
def test_no_garbage_is_collected_during_a_compilation(collecting, tmp_path, monkeypatch):
    """Before and after it the program's own setting holds."""
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    seen, listener = [], event.RecordingListener()
    listener.on_start = lambda event: seen.append(gc.isenabled())
    (gc.enable if collecting else gc.disable)()
    try:
        with event.install_listener("numba:run_pass", listener):
            assert _jit.kernel(lambda x: 3 * x)(2.0) == 6.0
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
    assert seen
    assert not any(seen)


@pytest.mark.parametrize("damage", ["half", "empty", "zeros", "bytes", "gone", "full"])
def test_a_damaged_kernel_cache_is_repaired(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    assert [cached(), cached()] == [(4.0, 0), (4.0, 1)]
    (victim,) = tmp_path.glob("*/*twice*.nbc")
    content = victim.read_bytes()
    if damage in ("gone", "full"):
        victim.unlink()
    else:
        torn = {"half": content[: len(content) // 2], "empty": b"", "zeros": content[:-99] + bytes(99)}
        victim.write_bytes(torn.get(damage, random.Random(4).randbytes(len(content))))
    if damage == "full":
        with largest_file(0):
            assert cached() == (4.0, 0)
    assert [cached(), cached()] == [(4.0, 0), (4.0, 1)]


@pytest.mark.parametrize("other", ["argument", "processor", "version"])
def test_code_compiled_for_other_inputs_is_not_run(other, tmp_path, monkeypatch):
    """Whatever its name says: a shared folder is filled by other machines, and by other versions."""
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    assert cached() == (4.0, 0)
    (right,) = tmp_path.glob("*/*twice*.nbc")
    with monkeypatch.context() as elsewhere:
        if other == "version":
            elsewhere.setattr("numba.__version__", "0.1")
        elif other == "processor":
            elsewhere.setattr(JITCPUCodegen, "magic_tuple", lambda self: ("another", "one", ""))
        kernel = _jit.kernel(twice)
        kernel(2 if other == "argument" else 2.0)
        assert not kernel.stats.cache_hits
    wrong = [path for path in tmp_path.glob("*/*twice*.nbc") if path != right] or [right]
    right.write_bytes(wrong[0].read_bytes())
    assert [cached(), cached()] == [(4.0, 0), (4.0, 1)]


def test_processes_that_compile_different_things_at_once_share_a_folder(tmp_path, monkeypatch):
    """Each sees what was there before the other has saved its code."""
    monkeypatch.setattr(_jit, "CACHE_FOLDER", str(tmp_path))
    kernels = [_jit.kernel(twice) for _ in range(2)]
    with monkeypatch.context() as before:
        before.setattr(IndexDataCacheFile, "_load_index", lambda self: {})
        assert [kernel(x) for kernel, x in zip(kernels, (2, 2.0), strict=True)] == [4, 4.0]
    again = _jit.kernel(twice)
    assert [again(2.0), again(2)] == [4.0, 4]
    assert sum(again.stats.cache_hits.values()) == 2


def test_a_full_cache_can_be_read_only(tmp_path, monkeypatch):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    folder = _jit._cache_folder()
    assert folder.startswith(str(tmp_path))
    with monkeypatch.context() as read_only:
        read_only.setattr("os.access", lambda path, mode: False)
        assert not _jit._cache_folder().startswith(str(tmp_path))  # nobody has filled it
    monkeypatch.setattr(_jit, "CACHE_FOLDER", folder)
    monkeypatch.setattr(compiled, "_noted", set())
    assert cached() == (4.0, 0)  # without a note, as a command fills it
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert _jit._cache_folder() == folder
    assert compiled.cache_base() is None
    assert cached() == (4.0, 1)


def test_kernels_need_no_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (None, str(tmp_path / "file" / "folder")):
        monkeypatch.setattr(_jit, "CACHE_FOLDER", folder)
        assert [cached(), cached()] == [(4.0, 0), (4.0, 0)]


BERNOULLI = """
from rbmviz import rng
from rbmviz.kernels.random import bernoulli, np
bits = np.zeros(100, np.uint8)
bernoulli(rng.kernel_state(3, "chain", 0), np.linspace(0, 1, 100, dtype=np.float32), bits)
"""


@pytest.mark.parametrize("change", ["caching.IndexDataCacheFile._dump", "codegen.JITCodeLibrary"])
def test_kernels_run_if_the_inside_of_numba_has_changed(change, tmp_path):
    """Compiled by numba's documented options, without a cache, and with one line in the log."""
    script = f"from numba.core import caching, codegen\ndel {change}\n{BERNOULLI}\nprint(bits.tolist())"
    environment = {"RBMVIZ_CACHE_DIR": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=environment)
    assert done.stderr.count(b"\n") == done.stderr.count(b"has changed inside") == 1
    assert not list(tmp_path.rglob("*.nbc"))
    names = {}
    exec(BERNOULLI, names)
    assert eval(done.stdout) == names["bits"].tolist()


def test_no_type_is_registered_after_the_import():
    """A thread that looks up the type of an argument fails while another one registers a type."""
    code = """
import rbmviz, rbmviz.kernels._jit
from numba.core.typing.typeof import typeof_impl
known = set(typeof_impl.registry)
rbmviz.sample("bas_pcd", "rates_fpcd", n=1)
rbmviz.couple(rbmviz.load_model("bas_pcd").rbm, rbmviz.load_dataset("bas").train[:1], seed=0)
print(sorted(kind.__name__ for kind in set(typeof_impl.registry) - known))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
