"""The command line: JSON, files and exit status of every command, and its messages for bad input."""

import csv
import dataclasses
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from command_line import refused, run

import rbmviz
import rbmviz.cli.train
from rbmviz import load_dataset, make_sampler, metrics, registry, sample, save_model
from rbmviz.cli import main
from rbmviz.files.output import write_whole
from rbmviz.gradient import gradient_quality
from rbmviz.knobs import values_of
from rbmviz.models import load_model


def instead(words, option, value) -> list:
    """Return a command with another value of one of its options."""
    at = words.index(option) + 1
    return [*words[:at], value, *words[at + 1 :]]


@pytest.fixture
def model_file(model, tmp_path):
    save_model(model, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def test_list(capsys):
    everything = run(capsys, "list")
    assert {entry["name"] for entry in everything["samplers"]} == set(rbmviz.list_samplers())
    assert {entry["name"] for entry in everything["datasets"]} == set(rbmviz.list_datasets())
    eps = {
        knob["name"]: knob for s in everything["samplers"] if s["name"] == "rates_fpcd" for knob in s["knobs"]
    }["eps"]
    assert (eps["lo"], eps["hi"], eps["default"]) == (1e-4, 1.0, make_sampler("rates_fpcd").eps)
    assert set(run(capsys, "list", "models")) == {"models"}
    assert "did you mean 'samplers'" in refused(capsys, "list", "sampler")
    assert main(["list"]) == 0
    assert "rates_fpcd" in capsys.readouterr().out


def test_sample_writes_what_python_samples(capsys, model_file, model, tmp_path):
    out = tmp_path / "s.npz"
    result = run(
        capsys, "sample", "--model", model_file, "--sampler", "rates_fpcd", "--eps", "0.1", "--alpha=0.9",
        "-n", 500, "--seed", 3, "--out", out,
    )  # fmt: skip
    assert {"n", "seconds", "samples_per_second", "sweeps"} <= set(result)
    want = sample(model, make_sampler("rates_fpcd", eps=0.1, alpha=0.9), 500, seed=3)
    with np.load(out) as got:
        np.testing.assert_array_equal(got["v"], want.v)
        np.testing.assert_array_equal(got["p"], want.p)
        meta = json.loads(str(got["meta"]))
    assert meta["knobs"] == values_of(make_sampler("rates_fpcd", eps=0.1, alpha=0.9))
    assert result["sweeps"] == meta["sweeps"] == 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "s.npz"]


@pytest.mark.parametrize("n_chains", [1, 3])
def test_sample_takes_turns_and_thins_each_chain(n_chains, capsys, model_file, model, tmp_path):
    """Row t of the file is chain t % n_chains, and every fourth of each chain's samples is there."""
    out, words = tmp_path / "s.npz", "sample --sampler rates_fpcd -n 40 --thin 4".split()
    words += ["--n-chains", n_chains, *([] if n_chains > 1 else ["--no-means"])]
    run(capsys, *words, "--model", model_file, "--out", out)
    sampler, rounds = make_sampler("rates_fpcd", n_chains=n_chains), -(-40 // n_chains)
    want = sample(model, sampler, rounds * 4 * n_chains).v.reshape(rounds, 4, n_chains, 5)[:, 3]
    with np.load(out) as got:
        np.testing.assert_array_equal(got["v"], want.reshape(-1, 5)[:40])
        assert ("p" in got) == (n_chains > 1)
        assert json.loads(str(got["meta"]))["knobs"]["n_chains"] == n_chains


def test_sample_refuses(capsys, model_file, tmp_path):
    usual = ["sample", "--model", model_file, "--sampler", "gibbs", "-n", "10", "--out", tmp_path / "s.npz"]
    assert "did you mean 'gibbs'" in refused(capsys, *instead(usual, "--sampler", "gibs"))
    assert "did you mean 'temperature'" in refused(capsys, *usual, "--temprature", "2")
    assert "needs a value" in refused(capsys, *usual, "--k")
    assert "There is no model file" in refused(capsys, *instead(usual, "--model", tmp_path / "x.npz"))
    assert "GB of memory" in refused(capsys, *instead(usual, "-n", "1e9"))
    assert "must end in .npz or .nc" in refused(capsys, *instead(usual, "--out", tmp_path / "x.txt"))
    model_file.write_bytes(model_file.read_bytes()[:-3])
    assert "not a readable model file" in refused(capsys, *usual)
    assert not (tmp_path / "s.npz").exists()


def test_interrupted_samples_are_kept(model_file, tmp_path):
    out = tmp_path / "s.npz"
    words = ["sample", "--model", model_file, "--sampler", "gibbs", "-n", 10**8, "--no-means", "--out", out]
    code = (
        "import sys, tqdm; sys.stderr.isatty = lambda: True\n"  # so that there is a bar
        "from rbmviz.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, *map(str, words), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shown = ""
    while not re.search(r"[1-9]\d{4}/100000000", shown):
        assert process.poll() is None, shown
        shown += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "made so far are kept" in stderr
    result = json.loads(stdout)
    assert result["interrupted"]
    with np.load(out) as got:
        assert len(got["v"]) == result["n"] > 1000
        assert "p" not in got
        want = sample(load_model(model_file), make_sampler("gibbs"), 1000).v
        np.testing.assert_array_equal(got["v"][:1000], want)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "s.npz"]


def test_an_interrupt_does_not_wait_for_compression(capsys, tmp_path, monkeypatch):
    """What is there is then written as it is."""
    calls, words = [], ["sample", "--model", "bas_pcd", "-n", 40, "--out", tmp_path / "s.npz"]

    def write(path, content):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        write_whole(path, content)

    monkeypatch.setattr("rbmviz.cli.sample.write_whole", write)
    assert main([*map(str, words)]) == 130
    assert "the 40 samples made so far are kept, uncompressed" in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "s.npz") as archive:
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
    with np.load(tmp_path / "s.npz") as got:
        np.testing.assert_array_equal(got["p"], sample("bas_pcd", "rates_fpcd", 40).p)


@pytest.mark.parametrize("whole_chunks", [0, 3])
def test_a_chunk_half_written_is_not_kept(whole_chunks, capsys, model_file, model, tmp_path, monkeypatch):
    """The interrupt comes when its samples are in the files and not yet counted."""

    class Interrupting(dict):
        def __getitem__(self, name):
            raise KeyboardInterrupt

    sizes, gibbs = [], registry.samplers["gibbs"]

    def step(self, state, n, real=gibbs.step):
        made = real(self, state, n)
        sizes.append(n)
        return made if len(sizes) <= whole_chunks else dataclasses.replace(made, info=Interrupting())

    monkeypatch.setattr(gibbs, "step", step)
    out = tmp_path / "s.npz"
    words = ["sample", "--model", model_file, "--sampler", "gibbs", "-n", 10**6, "--out", out, "--json"]
    assert main([str(word) for word in words]) == 130
    output = capsys.readouterr()
    monkeypatch.undo()
    if not whole_chunks:
        assert "kept" not in output.err
        assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]
        return
    kept = sum(sizes[:-1])
    assert json.loads(output.out)["n"] == kept > 0
    with np.load(out) as got:
        want = sample(model, make_sampler("gibbs"), kept)
        np.testing.assert_array_equal(got["v"], want.v)
        np.testing.assert_array_equal(got["p"], want.p)
        assert got.zip.getinfo("v.npy").file_size == 128 + kept * 5  # after the header nothing but them


def test_score(capsys, tmp_path):
    data = rbmviz.load_dataset("digits")
    v = data.train[:300]
    np.savez(tmp_path / "s.npz", v=v, p=v.astype(np.float32))
    result = run(capsys, "score", tmp_path / "s.npz", "--dataset", "digits", "--curve")
    want = rbmviz.metrics.isl(v, data.test, data.validation)
    assert (result["isl"], result["beta"], result["n"]) == pytest.approx((want.isl, want.beta, 300))
    reference = rbmviz.metrics.reference(data.train, data.test, data.validation)
    assert result["reference"] == pytest.approx(reference.isl)
    assert result["curve"][0][0] == 1
    assert (result["classes_visited"], result["classes"], result["blank"]) == (10, 10, 0)
    assert 0 < result["ink"] < 1
    assert result["spurious"] == 0 < result["class_switches"]
    assert 0.9 < result["class_coverage"] < 1
    mean = run(capsys, "score", tmp_path / "s.npz", "--dataset", "digits", "--kernel", "mean")
    assert mean["isl"] == pytest.approx(rbmviz.metrics.isl(v, data.test, beta=mean["beta"]).isl, rel=1e-4)
    assert "give --dataset" in refused(capsys, "score", tmp_path / "s.npz")
    assert "64 units and bas 16" in refused(capsys, "score", tmp_path / "s.npz", "--dataset", "bas")
    assert "There is no sample file" in refused(capsys, "score", tmp_path / "t.npz", "--dataset", "bas")


def test_two_files_are_compared_on_the_same_test_examples(capsys, tmp_path):
    files, groups, data = [tmp_path / "a.npz", tmp_path / "b.npz"], [], load_dataset("bas")
    for file, sampler in zip(files, ("gibbs", "rates_fpcd"), strict=True):
        run(capsys, "sample", "--model", "bas_pcd", "--sampler", sampler, "-n", 300, "--out", file)
        v = np.load(file)["v"]
        groups.append(metrics.ISL(data.test, data.validation).update(v).value_by_group()[1])
    result, apart = run(capsys, "score", *files), groups[0] - groups[1]
    assert result["difference"] == result["isl"] - result["other"]["isl"] == pytest.approx(apart.mean())
    assert len(apart) == len(data.test)  # one example a group: paired one by one
    assert result["difference_error"] == pytest.approx(apart.std(ddof=1) / np.sqrt(len(apart)))


def test_a_model_and_data_of_ones_own_are_found_beside_the_samples(capsys, tmp_path, monkeypatch):
    np.save(tmp_path / "mine.npy", np.tile(load_dataset("bas").train, (20, 1)))
    monkeypatch.chdir(tmp_path)
    run(capsys, *"train --dataset mine.npy --n-hidden 4 --iterations 5 --out m.safetensors".split())
    run(capsys, *"sample --model m.safetensors --sampler gibbs -n 100 --out s.npz".split())
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    assert run(capsys, "score", "../s.npz")["ess_free_energy"] > 0
    shutil.copy("../s.npz", "s.npz")
    assert "'mine.npy' is not the name of a data set" in refused(capsys, "score", "s.npz")
    shutil.copy("../mine.npy", "mine.npy")
    for said in ("Unknown model 'm.safetensors'", "'m.safetensors' is not the model"):
        assert main(["score", "s.npz", "--json"]) == 0
        printed = capsys.readouterr()
        assert said in printed.err
        assert "ess_free_energy" not in json.loads(printed.out)
        save_model(load_model("bas_pcd"), "m.safetensors")


def test_score_says_how_many_samples_a_chain_is_worth(capsys, tmp_path):
    path = tmp_path / "s.npz"
    run(capsys, "sample", "--model", "bas_pcd", "--sampler", "gibbs", "-n", 2000, "--out", path)
    result = run(capsys, "score", path)
    with np.load(path) as file:
        v = file["v"]
    energy, activity = load_model("bas_pcd").rbm.free_energy(v), v.sum(axis=1)
    mean, data = run(capsys, "score", path, "--kernel", "mean"), rbmviz.load_dataset("bas")
    parts = (data.train, data.test, data.validation)
    means = rbmviz.metrics.reference(*parts, kernel="mean", rbm=load_model("bas_pcd").rbm)
    assert (mean["reference_of"], mean["reference"]) == ("means", means.isl)
    assert (result["reference_of"], result["reference"]) == ("bits", rbmviz.metrics.reference(*parts).isl)
    assert result["ess_free_energy"] == rbmviz.metrics.chain_diagnostics(energy).ess
    assert result["ess_activity"] == rbmviz.metrics.chain_diagnostics(activity).ess
    assert result["ess_activity"] != result["ess_free_energy"]
    found = rbmviz.metrics.findings(v, "bas_pcd", "bas")
    assert {name: result[name] for name in ("verdict", "findings", "looked_at")} == found.as_data()
    assert main(["score", str(path)]) == 0
    assert f"- {found[0].sentence}" in capsys.readouterr().out
    np.savez(tmp_path / "v.npz", v=v)
    plain = ["score", tmp_path / "v.npz", "--dataset", "bas"]
    assert "ess_activity" not in run(capsys, *plain)
    assert run(capsys, *plain, "--model", "bas_pcd")["ess_free_energy"] == result["ess_free_energy"]
    assert "16 units and the model 256" in refused(capsys, *plain, "--model", "usps_cd1")
    np.savez(tmp_path / "v.npz", v=v, meta=json.dumps({"model": "gone.npz"}))
    gone = run(capsys, *plain)
    assert gone["ess_activity"] == result["ess_activity"]
    assert "ess_free_energy" not in gone
    assert "verdict" not in gone
    assert "rhat_activity" not in result
    np.savez(tmp_path / "v.npz", v=np.repeat(v[:1], 20, 0))
    assert run(capsys, *plain, "--model", "bas_pcd")["ess_free_energy"] is None


def test_score_of_several_chains_takes_them_apart(capsys, tmp_path):
    """ESS over all chains, and R-hat; the six rows of an unfinished round are left out."""
    path = tmp_path / "s.npz"
    run(capsys, *"sample --model bas_pcd --sampler gibbs --n-chains 7 -n 706 --out".split(), path)
    result = run(capsys, "score", path)
    with np.load(path) as file:
        v, meta = file["v"], file["meta"]
    energy = load_model("bas_pcd").rbm.free_energy(v[:700].reshape(100, 7, 16)).T
    want = rbmviz.metrics.chain_diagnostics(energy)
    assert (result["ess_free_energy"], result["rhat_free_energy"]) == (want.ess, want.rhat)
    assert result["n_chains"] == 7
    assert result["ess_free_energy"] != rbmviz.metrics.chain_diagnostics(energy.T.reshape(-1)).ess
    np.savez(path, v=np.tile(v[:7], (20, 1)), meta=meta)
    assert main(["score", str(path)]) == 0
    out = capsys.readouterr().out
    assert "R-hat of 7 chains, above 1.01 while they disagree: over 100 by" in out
    assert "- Chains disagree about the" in out
    np.savez(path, v=v[:55], meta=meta)
    assert "ess_activity" not in run(capsys, "score", path)
    np.savez(path, v=v, meta=json.dumps({"model": "bas_pcd", "knobs": {"n_chains": True}}))
    assert "one chain or more" in refused(capsys, "score", path, "--dataset", "bas")


def test_the_history_of_a_larger_model_is_estimated(capsys, tmp_path):
    """More than 16 units: annealed importance sampling, within its error of the enumeration."""
    words = "train --dataset digits --trainer cd --n-hidden 18 --iterations 40 --every 20".split()
    run(capsys, *words, "--out", tmp_path / "d.safetensors", "--history", tmp_path / "h.csv")
    last, rbm = csv_of(tmp_path / "h.csv")[-1], load_model(tmp_path / "d.safetensors").rbm
    exact = rbmviz.metrics.log_likelihood(rbm, rbmviz.load_dataset("digits").train)
    error = float(last["log_likelihood_error"])
    assert 0 < error < 0.2
    assert float(last["log_likelihood"]) == pytest.approx(exact, abs=5 * error)
    assert 1 < float(last["ais_ess"]) <= 64


def test_train_writes_a_model_with_rates_and_a_history(capsys, tmp_path):
    result = run(
        capsys, "train", "--dataset", "bas", "--trainer", "pcd", "--n-hidden", 7, "--iterations", 300,
        "--learning-rate", 0.05, "--out", tmp_path / "b.safetensors", "--history", tmp_path / "h.csv",
    )  # fmt: skip
    model, data = load_model(tmp_path / "b.safetensors"), rbmviz.load_dataset("bas")
    assert (model.rbm.n_visible, model.rbm.n_hidden) == (16, 7)
    np.testing.assert_array_equal(model.rates.W, model.rbm.rates(data.train).W)
    assert result["updates"] == 300
    assert result["log_likelihood"] == pytest.approx(rbmviz.metrics.log_likelihood(model.rbm, data.train))
    assert model.meta["knobs"]["learning_rate"] == 0.05
    rows = csv_of(tmp_path / "h.csv")
    assert int(rows[-1]["update"]) == 300
    assert float(rows[-1]["log_likelihood"]) == pytest.approx(result["log_likelihood"])
    assert (rows[-1]["log_likelihood_error"], rows[-1]["ais_ess"]) == ("0.0", "")
    assert int(rows[-1]["sweeps"]) == 300 * 100  # of all 100 chains together
    # The command in the file rebuilds it, bit for bit.
    words = shlex.split(model.meta["command"])[1:]
    words[words.index("--out") + 1] = str(tmp_path / "again.safetensors")
    run(capsys, *words)
    np.testing.assert_array_equal(load_model(tmp_path / "again.safetensors").rbm.W, model.rbm.W)
    warm = ["train", *"--trainer cd --iterations 1 --learning-rate 1e-6 --dataset bas".split()]
    warm += ["--warm-start", tmp_path / "b.safetensors", "--out", tmp_path / "w.safetensors"]
    again = run(capsys, *warm)
    assert again["log_likelihood"] == pytest.approx(result["log_likelihood"], abs=1e-4)
    assert "16 visible units, the data 64" in refused(capsys, *instead(warm, "--dataset", "digits"))


def test_diverged_training_leaves_the_last_finite_model(capsys, tmp_path):
    message = refused(
        capsys, "train", "--dataset", "bas", "--trainer", "cd", "--n-hidden", 7, "--iterations", 1000,
        "--learning-rate", 10, "--weight-decay", 1, "--out", tmp_path / "b.safetensors",
    )  # fmt: skip
    model = load_model(tmp_path / "b.safetensors")
    assert model.meta["updates"] > 0
    assert f"({model.meta['updates']:,} updates) is kept" in message
    assert model.meta["knobs"]["iterations"] == 1000


def test_an_interrupted_training_resumes_to_the_same_bits(capsys, tmp_path, monkeypatch):
    """The interrupt comes in the middle of update 47; a fresh process goes on from 40."""
    words = ["train", "--dataset", "bas", "--trainer", "fpcd", "--n-hidden", 5, "--iterations", 100]
    words += ["--momentum", 0.5, "--average", "true", "--every", 10, "--seed", 3]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    files = {x: ["--out", x / "m.safetensors", "--history", x / "h.csv"] for x in (whole, cut)}
    run(capsys, *words, *files[whole])
    assert not (whole / "m.checkpoint").exists()

    fpcd, calls = registry.trainers["fpcd"], []
    negative = fpcd.negative

    def stopped(self, state, theta, data):
        calls.append(state.update)
        found = negative(self, state, theta, data)
        if len(calls) == 48:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(fpcd, "negative", stopped)
        assert main([str(word) for word in [*words, *files[cut], "--json"]]) == 130
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert (result["interrupted"], result["updates"]) == (True, 40)
    assert result["checkpoint"] == str(cut / "m.checkpoint")
    assert "model after 40 updates is kept; --resume continues" in output.err
    assert load_model(cut / "m.safetensors").meta["updates"] == 40
    message = refused(capsys, *words, *files[cut])
    assert "is the checkpoint of an interrupted training: continue it with --resume" in message
    assert "is the history up to the interrupt" in refused(capsys, *words, *files[cut], "--resume")
    rest = ["--out", cut / "m.safetensors", "--history", cut / "rest.csv", "--resume"]
    again = [sys.executable, "-m", "rbmviz", *map(str, [*words, *rest])]
    subprocess.run(again, check=True, capture_output=True)
    assert (cut / "m.safetensors").read_bytes() == (whole / "m.safetensors").read_bytes()
    histories = [csv_of(whole / "h.csv"), csv_of(cut / "h.csv") + csv_of(cut / "rest.csv")]
    assert len(histories[0]) == len(histories[1]) == 10, [len(rows) for rows in histories]
    for a, b in zip(*histories, strict=True):
        assert {**a, "seconds": 0, "origin": ""} == {**b, "seconds": 0, "origin": ""}
    seconds = [float(row["seconds"]) for row in histories[1]]
    assert seconds == sorted(seconds)
    assert not (cut / "m.checkpoint").exists()


def csv_of(path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_resume_refuses_other_runs(capsys, tmp_path):
    words = ["train", "--dataset", "bas", "--trainer", "cd", "--n-hidden", 5, "--iterations", 20]
    words += ["--out", tmp_path / "m.safetensors"]
    checkpoint = tmp_path / "m.checkpoint"
    assert f"There is no checkpoint '{checkpoint}'" in refused(capsys, *words, "--resume")
    steps = rbmviz.train(rbmviz.load_dataset("bas"), rbmviz.make_trainer("cd"), 5, 20)
    next(steps)
    checkpoint.write_bytes(steps.checkpoint()[:-1])
    assert f"'{checkpoint}': The checkpoint is damaged" in refused(capsys, *words, "--resume")
    with checkpoint.open("wb") as file:
        file.truncate(3 * 10**9)  # a hole, of which nothing may be read
    assert "needs 3.00 GB of memory" in refused(capsys, *words, "--resume")
    checkpoint.write_bytes(steps.checkpoint())
    assert "seed = 0, not 1" in refused(capsys, *words, "--resume", "--seed", 1)
    assert run(capsys, *words, "--resume")["updates"] == 20


def test_log_z_and_log_likelihood(capsys, model_file, model, tmp_path):
    result = run(capsys, "log-z", "--model", model_file)
    assert (result["log_z"], result["method"]) == (rbmviz.metrics.log_z(model.rbm), "exact")
    bits = np.random.default_rng(0).integers(0, 2, (20, 5))
    np.savez(tmp_path / "d.npz", x_train=bits, x_validation=bits, x_test=bits)
    words = ["log-likelihood", "--model", model_file, "--dataset", tmp_path / "d.npz"]
    want = rbmviz.metrics.log_likelihood(model.rbm, bits)
    assert run(capsys, *words)["log_likelihood"] == pytest.approx(want)
    assert "16 units and the model 5" in refused(capsys, *instead(words, "--dataset", "bas"))


def test_log_z_and_log_likelihood_by_ais(capsys, tmp_path):
    words = ["--model", "bas_pcd", "--method", "ais", "--chains", 40, "--temperatures", 200, "--seed", 1]
    result = run(capsys, "log-z", *words)
    model = load_model("bas_pcd")
    want = rbmviz.metrics.ais_log_z(model, n_chains=40, betas=200, seed=1)
    assert (result["log_z"], result["std_error"], result["ess"]) == (want.log_z, want.std_error, want.ess)
    assert (result["method"], result["n_chains"], result["n_temperatures"]) == ("ais", 40, 200)
    assert result["warning"] == ""
    mean = run(capsys, "log-likelihood", *words, "--dataset", "bas")
    rows = rbmviz.load_dataset("bas").train
    assert mean["train"] == pytest.approx(-model.rbm.free_energy(rows).mean() - want.log_z)
    assert mean["std_error"] == want.std_error
    assert main([*map(str, ["log-z", *instead(words, "--temperatures", 3)])]) == 0
    assert "chains are effective" in capsys.readouterr().err
    assert "a whole number from 2" in refused(capsys, "log-z", "--chains", 1)


def test_interrupted_ais_keeps_finished_chains(capsys, monkeypatch):
    def blocks(*args, **more):
        yield np.log(np.arange(1.0, 33.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(rbmviz.metrics, "ais_blocks", blocks)
    assert main("log-z --model bas_pcd --method ais --chains 64 --json".split()) == 130
    captured = capsys.readouterr()
    assert "32 chains that were done" in captured.err
    result = json.loads(captured.out)
    assert (result["n_chains"], result["interrupted"]) == (32, True)
    assert result["log_z"] == pytest.approx(np.log(16.5))


def test_a_model_too_large_to_enumerate_names_the_cost_and_the_way_out(capsys, tmp_path):
    rbm = rbmviz.RBM(np.zeros((64, 30)), np.zeros(64), np.zeros(30))
    path = tmp_path / "m.safetensors"
    save_model(rbmviz.Model(rbm), path)
    message = refused(capsys, "log-z", "--model", path, "--method", "exact")
    assert "30 units, which makes 2^30 = 1.07e+09 states and would take about 7.7 seconds" in message
    assert f"'rbmviz log-z --model {path} --method ais'" in message
    words = ["log-likelihood", "--model", path, "--dataset", "digits"]
    command = refused(capsys, *words).split("'")[1].split()[1:]
    assert command[: len(words)] == [str(word) for word in words]
    # Without weights the base is the model: every weight is Z.
    found = run(capsys, *command, "--temperatures", 3)
    assert found["log_z"] == pytest.approx(94 * np.log(2), abs=1e-9)
    assert found["std_error"] < 1e-9
    assert found["log_likelihood"] == pytest.approx(-64 * np.log(2))


def test_sampling_says_whether_it_improves_the_model(capsys, tmp_path):
    words = ["sample", "--sampler", "rates_fpcd", "--eps", 0.003, "-n", 5000, "--out", tmp_path / "s.npz"]
    found = run(capsys, *words, "--model", "bas_cd1", "--likelihood")["likelihood"]
    want = rbmviz.metrics.log_likelihood(load_model("bas_cd1").rbm, rbmviz.load_dataset("bas").train)
    assert found["model"] == [pytest.approx(want), 0.0]
    assert found["now"][0] < want < found["averaged"][0]
    assert (found["samples"], found["method"]) == (5000, "exact")
    assert "likelihood" not in run(capsys, *words, "--model", "bas_cd1")


def test_couple(capsys, model_file):
    result = run(capsys, "couple", "--model", model_file, "--replications", 200, "--lag", 2, "--seed", 1)
    assert len(result["tau"]) == 200
    assert min(result["tau"]) > 2
    assert result["share_le_10"] == np.mean(np.array(result["tau"]) <= 10)
    assert result["tv_bound"][0][1] >= result["tv_bound"][-1][1]
    assert len(result["tv_std_error"]) == len(result["tv_bound"])
    assert 0 < result["tv_std_error"][0] < result["tv_bound"][0][1]
    result = run(capsys, "couple", "--random", "20x7:0.5", "--replications", 30, "--max-sweeps", 3)
    assert result["share_cut"] == result["truncated"] / 30 > 0
    assert result["share_le_10"] == 1 - result["share_cut"]  # pairs that were cut off have not met
    result = run(capsys, "couple", "--random", "20x7:0.5", "--algorithm", "half_step", "--replications", 30)
    assert (result["algorithm"], result["share_cut"]) == ("half_step", 0)


def test_weights(capsys):
    words = ["weights", "--model", "bas_pcd", "--dataset", "bas", "--k", 2, "--seed", 3]
    result = run(capsys, *words, "--batch", 40, "--proposal", "joint")
    rbm, rows = load_model("bas_pcd").rbm, rbmviz.load_dataset("bas").train
    chosen = rows[rbmviz.rng.generator(3, "data").integers(32, size=40)]
    want = rbmviz.pop_weights(rbm, chosen, 2, 3, proposal="joint")
    assert result["log_weights"] == want.log_weights.tolist()
    assert (result["ess"], result["max_weight"]) == (want.ess, want.max_weight)
    assert result["log_z"] == rbmviz.metrics.log_z(rbm)


def test_gradient(capsys):
    words = ["gradient", "--model", "bas_pcd", "--dataset", "bas", "--replications", 45, "--seed", 2]
    result = run(capsys, *words, "--estimators", "cd, ucd", "--k", 2, "--t-max", 5, "--n-chains=7")
    rbm, rows = load_model("bas_pcd").rbm, rbmviz.load_dataset("bas").train
    for name, knobs in {"cd": {}, "ucd": {"t_max": 5}}.items():
        want = gradient_quality(rbm, rows, name, 45, seed=2, k=2, n_chains=7, **knobs)
        assert result[name] == dataclasses.asdict(want) | {"resolved": want.resolved}
    found = run(capsys, *words, "--estimators", "cd:k=1,n_chains=20,cd:k=5")
    assert {"cd:k=1,n_chains=20", "cd:k=5"} <= set(found)
    assert "did you mean 'pop_cd'" in refused(capsys, *words, "--estimators", "cd,popcd")
    assert "did you mean 't_max'" in refused(capsys, *words, "--estimators", "ucd,cd", "--t-maxx", 4)
    assert "names cd twice" in refused(capsys, *words, "--estimators", "cd,ucd,cd")


def test_gradient_against_parallel_tempering(capsys, tmp_path, monkeypatch):
    kept = tmp_path / "reference.npz"
    words = ["gradient", "--model", "bas_pcd", "--dataset", "bas", "--replications", 40, "--estimators", "cd"]
    words += ["--reference", kept, "--reference-samples", 100]
    first = run(capsys, *words)["cd"]
    assert first["reference"] == "parallel tempering"
    assert first["reference_error"] > 0
    assert kept.is_file()
    assert run(capsys, *words)["cd"] == first  # read again
    assert "another model" in refused(capsys, *instead(words, "--model", "bas_cd1"))
    monkeypatch.delattr("rbmviz.cli.gradient.tempered_ladders")  # the place is checked before them
    assert "does not exist" in refused(capsys, *instead(words, "--reference", tmp_path / "no" / "r.npz"))
    kept.write_bytes(b"PK")
    assert "is not a reference" in refused(capsys, *words)


def test_export_model(capsys, tmp_path):
    out, model = tmp_path / "bas.npz", load_model("bas_pcd")
    words = ["export-model", "--model", "bas_pcd", "--out", out]
    assert run(capsys, *words) == {"out": str(out), "n_visible": 16, "n_hidden": 16, "rates": True}
    back = load_model(out)
    assert back.meta == model.meta
    np.testing.assert_array_equal(back.rbm.W, model.rbm.W)
    np.testing.assert_array_equal(back.rates.c, model.rates.c)
    with np.load(out) as arrays:
        assert {"W", "b", "c"} < set(arrays.files)
    assert "not 'm.pkl'" in refused(capsys, *instead(words, "--out", "m.pkl"))


def test_data(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_DATA_MIRROR", "http://127.0.0.1:9")
    rows = run(capsys, "data", "list")["datasets"]
    assert {row["name"] for row in rows} == set(rbmviz.list_datasets())
    assert "'data list' takes no name" in refused(capsys, "data", "list", "bas")
    assert run(capsys, "data", "get", "bas")["path"] is None
    assert "did you mean 'usps'" in refused(capsys, "data", "get", "upsp")
    assert main(["data", "get", "usps"]) == 2
    assert "could not be downloaded" in capsys.readouterr().err
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    (tmp_path / "mnist.npz").touch()
    assert run(capsys, "data", "get", "mnist55k")["path"] == str(tmp_path / "mnist.npz")


def test_a_shell_completes_what_the_commands_declare(capsys, tmp_path):
    script = run(capsys, "completion", "bash")["script"]
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == script.rstrip() + "\n"
    words = "COMP_WORDS=(rbmviz sample --sam); COMP_CWORD=2; $(complete -p rbmviz | grep -o '[^ ]*_rbmviz')"
    (tmp_path / "script").write_text(script)
    command = f"source {tmp_path}/script; {words}; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout.split() == ["--sampler"]
    assert main(["completion", "tcsh"]) == 2


def test_replay(capsys, tmp_path):
    """One command makes a page that plays samples, and its flags count for the samplers that have them."""
    out = tmp_path / "run.html"
    usual = "play --recorded --model bas_pcd --samplers gibbs rates_fpcd:eps=0.2 -n 50".split()
    made = run(capsys, *usual, "--alpha", "0.9", "--k", 2, "--out", out)
    assert made["bytes"] == out.stat().st_size
    assert made["dataset"] == "bas"
    assert [(one["name"], one["n"], one["knobs"]["k"]) for one in made["samplers"]] == [
        ("gibbs", 50, 2),
        ("rates_fpcd", 50, 2),
    ]
    assert (made["samplers"][1]["knobs"]["eps"], made["samplers"][1]["knobs"]["alpha"]) == (0.2, 0.9)
    before = out.read_bytes()
    run(capsys, *usual, "--alpha", "0.9", "--k", 2, "--out", out)
    assert out.read_bytes() == before
    assert run(capsys, *usual, "--last", 10, "--out", tmp_path / "short.html")["kept"] == 10
    assert run(capsys, *usual, "--out", tmp_path / "run.gif")["bytes"] > 1000
    assert (tmp_path / "run.gif").read_bytes()[:6] == b"GIF89a"


def test_recording_refuses(capsys, tmp_path):
    usual = [*"play --recorded --model bas_pcd --samplers gibbs -n 50 --out".split(), tmp_path / "run.html"]
    assert ".html or .gif" in refused(capsys, *usual[:-1], tmp_path / "run.pdf")
    assert "room for 12" in refused(capsys, *usual[:5], *["gibbs"] * 13, *usual[6:])
    assert "with --last 100000 it has the last ones" in refused(capsys, *instead(usual, "-n", 10**6))
    assert "has 784 units" in refused(capsys, *usual, "--dataset", "mnist5k")
    assert not (tmp_path / "run.html").exists()
