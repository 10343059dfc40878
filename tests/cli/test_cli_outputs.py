"""Failures of the command line: outputs, numbers, streams, signals, full disks, kills."""

import contextlib
import errno
import functools
import http.server
import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import refused
from data_mirror import republish
from file_limits import largest_file
from numba.core.compiler_lock import global_compiler_lock
from waiting import wait

import rbmviz
from rbmviz import BadInput, registry, save_model
from rbmviz.cli import COMMANDS, main, options, to_json
from rbmviz.files.output import write_whole
from rbmviz.models import load_model

TRAIN = "train --dataset bas --trainer cd --n-hidden 5 --iterations 20".split()
SAMPLE = "sample --model bas_pcd --sampler gibbs -n 50".split()
PYTHON = [sys.executable, "-m", "rbmviz"]


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(words, **more) -> subprocess.Popen:
    return subprocess.Popen(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


@pytest.fixture
def bas_file(tmp_path):
    """Bars and Stripes as a data file of the user."""
    rows = rbmviz.load_dataset("bas").train
    np.savetxt(tmp_path / "bas.csv", rows, "%d", ",")
    return tmp_path / "bas.csv"


# Numbers


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_has_a_range(command, capsys):
    for argument in options.app_of(command).assemble_argument_collection():
        if not options._is_whole(argument.hint):
            continue
        assert argument.parameter.converter is not None, argument.name
        flag = max(argument.names, key=len)
        for wrong in ("-1", "nan", "1e400", "1.5", "many", "", "0x10", "1_0", "9" * 5000):
            message = refused(capsys, command, f"{flag}={wrong}")
            assert "is not a whole number" in message
            assert argument.name in message
            assert len(message) < 300


@pytest.mark.parametrize("value", ["nan", "1e400", "-inf", "0", "many", ""])
def test_knobs_beyond_their_range_are_refused(value):
    """Every knob is read by this function."""
    for knob in ("k", "temperature"):
        with pytest.raises(BadInput, match=knob):
            options.read_algorithms(registry.samplers, ["gibbs"], {knob: value})


@pytest.mark.parametrize(
    "words",
    [
        ["couple", "--random", "100000x100000:0.1"],
        ["couple", "--model", "bas_pcd", "--replications", 10**9],
        ["weights", "--model", "bas_pcd", "--dataset", "bas", "--batch", 10**9],
        "train --dataset digits --trainer cd --n-hidden 1000000 --iterations 20 --out".split(),
    ],
)
def test_commands_beyond_memory_are_refused(words, capsys, tmp_path):
    out = [tmp_path / "m.safetensors"] if words[-1] == "--out" else []
    assert "GB of memory" in refused(capsys, *words, *out)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["couple", "--model="], "Unknown model ''"),
        (["couple", "--random=0x5:1"], "500x100:0.1"),
        (["couple", "--random=2x2:nan"], "500x100:0.1"),
        (["couple", "--model", "bas_pcd", "--lag=--"], "--lag: '--' is not a whole number"),
        (["sample", "-n--"], "-n-- is no option, or needs a value"),
        (["--json"], "--json needs a command after it"),
        (["export-model", "--model", "x" * 300 + ".npz", "--out", "o.npz"], "too long for a name"),
        (["log-z", "--model", "line\nbreak\x1b[2J"], r"line\nbreak\x1b[2J"),
    ],
)
def test_meaningless_words_are_refused(words, sentence, capsys):
    assert sentence in refused(capsys, *words)


def test_play_refuses_models_too_large_for_a_page(capsys, monkeypatch, tmp_path):
    large, out = tmp_path / "large.npz", tmp_path / "live.html"
    np.savez(large, W=np.zeros((3300, 3300), np.float32), b=np.zeros(3300), c=np.zeros(3300))
    play = "play", "--out", out, "--samplers"
    said = refused(capsys, *play, "gibbs", "--model", large)
    assert "3,300 x 3,300 units" in said
    assert "44 MB, and 40 MB is the limit" in said
    assert "n_chains = 1 only, and not 2" in refused(capsys, *play, "gibbs:n_chains=2", "--model", "bas_pcd")
    monkeypatch.delattr(registry.samplers["gibbs"], "kernel")
    said = refused(capsys, *play, "rates_fpcd", "gibbs", "--model", "bas_pcd")
    assert "gibbs has no form for browsers; parallel_tempering, rates_fpcd" in said
    assert not out.exists()


# Outputs that are refused before anything is computed


@pytest.mark.parametrize(
    ("out", "history"),
    [
        ("m.safetensors", "m.safetensors"),
        ("m.safetensors", "../{here}/./m.safetensors"),
        ("m.safetensors", "M.SafeTensors"),
        ("m.safetensors", "m.checkpoint"),
        ("m.safetensors", "link"),
        ("link.safetensors", "m.safetensors"),
        ("old.safetensors", "hard"),
        ("old.safetensors", "old_link"),
    ],
)
def test_one_file_under_two_names(out, history, capsys, tmp_path, monkeypatch):
    (tmp_path / "old.safetensors").write_text("precious")
    (tmp_path / "hard").hardlink_to(tmp_path / "old.safetensors")
    (tmp_path / "old_link").symlink_to("old.safetensors")
    (tmp_path / "link").symlink_to("m.safetensors")
    (tmp_path / "link.safetensors").symlink_to(tmp_path / "m.safetensors")
    before = names(tmp_path)
    monkeypatch.setattr("rbmviz.cli.train.load_dataset", None)  # nothing is read before
    history = tmp_path / history.format(here=tmp_path.name)
    assert "same file" in refused(capsys, *TRAIN, "--out", tmp_path / out, "--history", history)
    assert names(tmp_path) == before
    assert (tmp_path / "hard").read_text() == "precious"


def test_commands_do_not_overwrite_their_inputs(capsys, tmp_path, monkeypatch, bas_file):
    model, copy = tmp_path / "m.safetensors", tmp_path / "m.npz"
    for path in (model, copy):
        save_model(load_model("bas_pcd"), path)
    (tmp_path / "link.safetensors").symlink_to(model)
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(b"also the file of mnist55k")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    new = [*TRAIN[3:], "--out", tmp_path / "x.safetensors", "--history"]
    shipped = Path(rbmviz.models.FOLDER) / "bas_pcd.safetensors"
    for words in (
        ["train", "--dataset", bas_file, *new, bas_file],
        ["train", "--dataset", f"{bas_file}@0.5", *new, bas_file],
        [*TRAIN[:5], "--iterations", 1, "--warm-start", model, "--out", tmp_path / "link.safetensors"],
        [*TRAIN[:5], "--iterations", 1, "--warm-start", "bas_pcd", "--out", shipped],
        ["train", "--dataset", "mnist55k@0.5", *new, tmp_path / "mnist.npz"],
        ["sample", "--model", copy, *SAMPLE[3:], "--out", copy],
        [*SAMPLE, "--init", "data", "--dataset", copy, "--out", copy],
        ["export-model", "--model", model, "--out", model],
        ["export-model", "--model", tmp_path / "link.safetensors", "--out", tmp_path / "." / "m.safetensors"],
    ):
        assert "would overwrite the input" in refused(capsys, *words)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_invalid_file_names_are_refused(capsys, tmp_path, monkeypatch):
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "full.npz").symlink_to("/dev/full")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    before = names(tmp_path)
    monkeypatch.chdir(tmp_path)
    for out, why in {
        "folder.npz": "is not a file",
        "none/x.npz": "'none' does not exist",
        "file/x.npz": "does not exist",
        "full.npz": "is not a file",
        "loop.npz": "is not a file",
        "pipe.npz": "is not a file",
        "x" * 256 + ".npz": "too long",
        ("y" * 200 + "/") * 25 + "x.npz": "too long",
        "": "",
        "line\nbreak\x1b[2J.txt": "",
    }.items():
        assert why in refused(capsys, *SAMPLE, "--out", out)
    assert names(tmp_path) == before
    longest = "x" * 251 + ".npz"
    assert main([*SAMPLE, "--out", longest]) == 0
    assert names(tmp_path) == sorted([*before, longest])


def test_a_write_protected_file_is_not_replaced(capsys, tmp_path, monkeypatch):
    out = tmp_path / "m.npz"
    out.write_text("precious")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != out)  # root may write everything
    message = refused(capsys, "export-model", "--model", "bas_pcd", "--out", out, status=1)
    assert "write-protected" in message
    assert out.read_text() == "precious"


# Writing


def test_a_file_has_the_permissions_of_the_umask_or_its_own(tmp_path):
    path = tmp_path / "f"
    before = os.umask(0o027)
    try:
        write_whole(path, b"1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_whole(path, b"2")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    (tmp_path / "link").symlink_to("f")
    write_whole(tmp_path / "link", b"3")
    assert (path.read_bytes(), (tmp_path / "link").is_symlink()) == (b"3", True)
    (tmp_path / "new").symlink_to("g")
    write_whole(tmp_path / "new", b"4")
    assert (tmp_path / "g").read_bytes() == b"4"
    assert names(tmp_path) == ["f", "g", "link", "new"]


def test_unwritable_checkpoint_stops_no_training(capsys, tmp_path):
    """The file may be no larger than the model, and the checkpoint, with the state beside it, is."""
    out = tmp_path / "m.safetensors"
    assert main([*TRAIN, "--out", str(out)]) == 0
    want = out.read_bytes()
    capsys.readouterr()
    with largest_file(len(want) + 10):
        status = main([*TRAIN, "--every", "5", "--checkpoint-every", "5", "--out", str(out)])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    assert "file too large. Training continues" in captured.err
    assert (out.read_bytes(), names(tmp_path)) == (want, ["m.safetensors"])
    with largest_file(1000):
        message = refused(capsys, *TRAIN, "--out", out, status=1)
    assert "file too large" in message
    assert (out.read_bytes(), names(tmp_path)) == (want, ["m.safetensors"])


def test_scores_that_fail_lose_no_model(capsys, tmp_path, monkeypatch):
    def reference(*args, **more):
        raise BadInput("The test part is too small.")

    monkeypatch.setattr("rbmviz.metrics.reference", reference)
    assert main([*TRAIN, "--score", "--out", str(tmp_path / "m.safetensors")]) == 0
    assert "no scores: The test part is too small." in capsys.readouterr().err
    assert load_model(tmp_path / "m.safetensors").meta["updates"] == 20


def test_training_that_fails_keeps_what_it_had(capsys, tmp_path, monkeypatch):
    cd, calls = registry.trainers["cd"], []

    def short(self, state, theta, data, real=cd.negative):
        calls.append(1)
        if len(calls) > 12:
            raise MemoryError("Unable to allocate 7 TB")
        return real(self, state, theta, data)

    monkeypatch.setattr(cd, "negative", short)
    monkeypatch.setattr(cd, "sweeps_from", "")  # update by update
    assert main([*TRAIN, "--every", "5", "--out", str(tmp_path / "m.safetensors")]) == 1
    err = capsys.readouterr().err
    assert "(10 updates) is kept" in err
    assert "not enough memory for this (Unable to allocate 7 TB)" in err
    assert load_model(tmp_path / "m.safetensors").meta["updates"] == 10


# What is printed


def test_json_has_no_word_for_nan(capsys, monkeypatch):
    result = {"isl": math.nan, "curve": [[1, -math.inf], [2, 0.5]], "deep": {"x": (np.float64("inf"),)}}
    assert json.loads(to_json(result)) == {
        **{"isl": None, "curve": [[1, None], [2, 0.5]], "deep": {"x": [None]}},
        "not_finite": {"isl": "not a number", "curve.0.1": "minus infinite", "deep.x.0": "infinite"},
    }
    monkeypatch.setattr("rbmviz.metrics.log_z", lambda rbm: math.inf)
    assert main(["log-z", "--model", "bas_pcd", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_finite"] == {"log_z": "infinite"}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ZeroDivisionError("float division\nby zero"), "ZeroDivisionError: float division (set RBMVIZ_TRACE"),
        (RecursionError("maximum recursion depth"), "RecursionError: too many levels of calls"),
        (MemoryError(), "There is not enough memory"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "'/x' cannot be read or written: Perm"),
    ],
)
def test_internal_errors_are_one_sentence(error, sentence, capsys, monkeypatch):
    def fails(rbm):
        raise error

    monkeypatch.delenv("RBMVIZ_TRACEBACK", raising=False)
    monkeypatch.setattr("rbmviz.metrics.log_z", fails)
    assert sentence in refused(capsys, "log-z", "--model", "bas_pcd", status=1)
    monkeypatch.setenv("RBMVIZ_TRACEBACK", "1")
    assert main(["log-z", "--model", "bas_pcd"]) == 1
    assert "Traceback" in capsys.readouterr().err


SHELL = {
    "closed output": (">&-", 1, "Standard output is closed"),
    "full output": (">/dev/full", 1, "Standard output cannot be written: no space left on device."),
    "output that nobody reads": ("| exec 0<&-; exit ${PIPESTATUS[0]}", 0, ""),
    "closed errors": ("2>&-", 0, ""),
    "full errors": ("2>/dev/full", 0, ""),
    "closed input": ("<&-", 0, ""),
    "all closed": ("<&- >&- 2>&-", 1, ""),
    "help": ("--help >/dev/full", 1, "Standard output cannot be written: no space left on device."),
    "bad input that nobody reads": ("--format x 2>/dev/full", 2, ""),
}


def test_standard_streams():
    command = f"{sys.executable} -m rbmviz list metrics"
    running = {case: start(["bash", "-c", f"{command} {rest}"]) for case, (rest, _, _) in SHELL.items()}
    for case, process in running.items():
        _, status, sentence = SHELL[case]
        _, err = process.communicate(timeout=100)
        assert (process.returncode, "Traceback" in err) == (status, False), (case, err)
        assert err.count("\n") == (1 if sentence else 0), (case, err)
        assert sentence in err


def test_a_machine_without_a_home(tmp_path):
    """No home, no temporary folder, a cache folder that is a file, a name that is no text."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    out = os.fsencode(tmp_path) + b"/m\xff.npz"
    for more in ({"HOME": ""}, {"RBMVIZ_CACHE_DIR": str(blocked), "TMPDIR": str(tmp_path / "none")}):
        environment = {"PATH": os.environ["PATH"], **more}
        words = [*PYTHON, "export-model", "--model", "bas_pcd", "--out", out]
        done = subprocess.run(words, capture_output=True, cwd=tmp_path, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        assert rb"m\udcff.npz" in done.stdout
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"file", b"m\xff.npz"]


# Signals

SIGNALLED = """
import os, signal, sys
from rbmviz.__main__ import main
number, first, again = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
sys.argv[:4] = ["rbmviz"]
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), number))
signal.setitimer(signal.ITIMER_REAL, first, again)
status = main()
signal.setitimer(signal.ITIMER_REAL, 0)
sys.exit(status)
"""


def signalled(number, first, again, words, **more) -> subprocess.Popen:
    """Start a command that sends itself a signal after ``first`` seconds, then every ``again`` seconds."""
    return start([sys.executable, "-c", SIGNALLED, int(number), first, again, *words], **more)


def test_interrupts_while_importing():
    """At any moment, once or again and again: status 130 and one word, or all that was asked for."""
    times = random.Random(1)
    running = [
        signalled(number, times.uniform(0.001, 0.5), again, ["list", "metrics"])
        for number in (signal.SIGINT, signal.SIGTERM)
        for again in (0, 0, 0.02)
    ]
    for process in running:
        out, err = process.communicate(timeout=100)
        assert process.returncode in (0, 130), err
        assert set(err.splitlines()) <= {"Interrupted."}
        assert out.startswith("metrics") or process.returncode == 130


@pytest.mark.slow
def test_interrupts_and_kills_while_compiling(tmp_path):
    """No call of LLVM is cut in two, which crashed Python; what a kill leaves in the cache is no harm."""
    times = random.Random(2)
    words = ["sample", "--model", "bas_pcd", "--sampler", "rates_fpcd", "-n", 10**7, "--no-means", "--out"]
    running = []
    for i, number in enumerate([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]):
        environment = {**os.environ, "RBMVIZ_CACHE_DIR": str(tmp_path / f"cache {i}")}
        out = tmp_path / f"{i}.npz"
        running.append(signalled(number, times.uniform(1.0, 3.0), 0, [*words, out], env=environment))
    for process, status in zip(running, (130, 130, -9), strict=True):
        _, err = process.communicate(timeout=200)
        assert (process.returncode, "Traceback" in err) == (status, False), err
    environment = {**os.environ, "RBMVIZ_CACHE_DIR": str(tmp_path / "cache 2")}
    again = [*PYTHON, *SAMPLE, "--out", tmp_path / "2.npz"]
    subprocess.run(again, env=environment, check=True, capture_output=True)


def me(number):
    os.kill(os.getpid(), number)


@pytest.fixture
def hangups():
    """Hang up signals are heard, also where the tests were started by nohup, which has them ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_waits_while_the_model_is_written(number, hangups, capsys, tmp_path, monkeypatch):
    out = tmp_path / "m.safetensors"

    def model_bytes(model, real=rbmviz.rbm.files.model_bytes):
        me(number)
        return real(model)

    with monkeypatch.context() as patch:
        patch.setattr("rbmviz.cli.train.model_bytes", model_bytes)
        assert main([*TRAIN, "--out", str(out)]) == 130
    assert "20 updates in" in capsys.readouterr().out
    assert load_model(out).meta["updates"] == 20
    assert names(tmp_path) == ["m.safetensors"]


def test_two_signals_at_once_are_one(capsys, tmp_path, monkeypatch):
    """A launcher passes on the Ctrl-C that the terminal has sent to everybody: no model is lost by that."""
    cd, calls = registry.trainers["cd"], []

    def stopped(self, state, theta, data, real=cd.negative):
        calls.append(1)
        if len(calls) == 13:
            try:
                me(signal.SIGINT)
                raise AssertionError
            finally:
                me(signal.SIGINT)
        return real(self, state, theta, data)

    monkeypatch.setattr(cd, "negative", stopped)
    monkeypatch.setattr(cd, "sweeps_from", "")  # update by update
    assert main([*TRAIN, "--every", "5", "--out", str(tmp_path / "m.safetensors")]) == 130
    assert "after 10 updates is kept" in capsys.readouterr().err
    assert names(tmp_path) == ["m.checkpoint", "m.safetensors"]


class Swallows:
    """An object whose destructor is interrupted; Python does not pass on such an interrupt."""

    def __del__(self):
        me(signal.SIGINT)


def test_interrupts_that_libraries_lose_are_interrupts(capsys, monkeypatch):
    def another_error(rbm):
        try:
            me(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy._core failed to import") from None

    def in_a_destructor(rbm):
        Swallows()
        wait(lambda: False, "the interrupt again")

    def in_llvm(rbm):
        with global_compiler_lock:
            me(signal.SIGINT)
            reached.append("the end of the compilation")
        reached.append("what comes after it")

    reached: list[str] = []
    for log_z in (another_error, in_a_destructor, in_llvm):
        monkeypatch.setattr("rbmviz.metrics.log_z", log_z)
        assert refused(capsys, "log-z", "--model", "bas_pcd", status=130) == "Interrupted.\n"
    assert reached == ["the end of the compilation"]


def test_signal_ignored_by_the_parent_stays_ignored(capsys, monkeypatch):
    """As nohup asks for."""
    monkeypatch.setattr("rbmviz.metrics.log_z", lambda rbm: me(signal.SIGHUP) or 1.0)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["log-z", "--model", "bas_pcd"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


# Killed


KILLED = {
    "m.safetensors": "train --dataset bas --trainer pcd --n-hidden 8 --iterations 4000 --out m.safetensors "
    "--history h.csv --every 50 --checkpoint-every 100",
    "s.npz": "sample --model bas_pcd --sampler gibbs -n 400000 --out s.npz",
}


def result_of(path) -> list[np.ndarray]:
    """Return the arrays of a whole model or sample file."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return [file["v"], file["p"]]
    rbm = load_model(path).rbm
    return [rbm.W, rbm.b, rbm.c]


@pytest.mark.parametrize("out", KILLED)
def test_command_killed_at_any_moment_leaves_no_half_file_and_ends_with_the_same_bits(
    out, tmp_path, monkeypatch
):
    """The last one is killed twice: its second run begins with what the first has left."""
    words, times = KILLED[out].split(), random.Random(3)

    def run(folder):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        assert main([*words, "--resume"] if (folder / "m.checkpoint").exists() else words) == 0
        return result_of(folder / out)

    begin = time.monotonic()
    want = run(tmp_path / "alone")
    took, folders = time.monotonic() - begin, [tmp_path / name for name in ("once", "late", "twice")]
    ends = set()
    for killed in (folders, folders[-1:]):
        running = []
        for folder in killed:
            folder.mkdir(exist_ok=True)
            again = ["--resume"] if (folder / "m.checkpoint").exists() else []
            after = 0.6 + times.uniform(0, 1) * took  # it imports for half a second
            running.append(signalled(9, after, 0, [*words, *again], cwd=folder))
        for folder, process in zip(killed, running, strict=True):
            _, err = process.communicate(timeout=100)
            ends.add(process.returncode)
            assert ends <= {-9, 0}, err
            visible = {name for name in names(folder) if not name.startswith((".m.", ".h.", ".s.npz."))}
            assert visible <= {out, "h.csv", "m.checkpoint"}
            assert out not in visible or len(result_of(folder / out)) == len(want)
    assert -9 in ends
    for folder in folders:
        for found, array in zip(run(folder), want, strict=True):
            np.testing.assert_array_equal(found, array)


FETCH = """
import dataclasses, sys
from rbmviz.cli import main
from rbmviz.registry import datasets
usps = datasets["usps"]
usps.published = dataclasses.replace(usps.published, files={"usps.bz2": None})
sys.exit(main(["data", "get", "usps"]))
"""


def test_a_killed_download_is_begun_anew(capsys, tmp_path, monkeypatch):
    half_sent, killed = threading.Event(), threading.Event()
    content = b"x" * 10**5

    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:50_000])
            if not killed.is_set():
                half_sent.set()
                killed.wait(60)
            with contextlib.suppress(OSError):
                self.wfile.write(content[50_000:])

        def log_message(self, *args):
            pass

    cache = tmp_path / "cache"
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(cache))
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("RBMVIZ_DATA_MIRROR", f"http://127.0.0.1:{server.server_address[1]}")
        process = start([sys.executable, "-c", FETCH])
        assert half_sent.wait(60)
        process.kill()
        process.communicate(timeout=60)
        killed.set()
        assert not (cache / "data" / "usps.npz").exists()
        assert not (cache / "downloads" / "usps" / "usps.bz2").exists()
        arrays = {"x_train": np.zeros((2, 3), np.uint8)}
        decode = functools.partial(lambda files, found: found, found=arrays)
        republish("usps", monkeypatch, files={"usps.bz2": None}, decode=decode, shapes={"x_train": (2, 3)})
        assert main(["data", "get", "usps"]) == 0
        server.shutdown()
    assert names(cache / "data") == ["usps.npz"]
    assert names(cache / "downloads") == []
