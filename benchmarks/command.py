"""``python -m benchmarks``: kernels beside other libraries, samplers per second, the cost of a visitor."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Annotated, Any, Literal

from tqdm import tqdm

from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import NUMBER, Count, split_algorithms
from rbmviz.errors import BadInput

QUALITY = {"models": "mnist_fpcd,usps_fpcd", "samplers": "gibbs,rates_fpcd,rates_herding"}
SEEDS, DEFAULT_SAMPLES = 3, 10_000
BENCH_FLAGS = {
    "speed": ("rows", "peers", "quick"),
    "quality": ("models", "samplers", "seeds", "n", "dataset"),
    "training": ("seeds", "dataset"),
    "visitor": (),
    "browsers": (),
}
"""Flags of each benchmark."""


def bench(
    what: Literal["speed", "quality", "training", "visitor", "browsers"] = "speed",
    /,
    *,
    peers: bool = False,
    rows: str | None = None,
    quick: bool = False,
    models: str | None = None,
    samplers: str | None = None,
    seeds: Count | None = None,
    n: Annotated[Count, NUMBER] | None = None,
    dataset: str | None = None,
) -> Answer:
    """Time kernels, samplers and a visitor.

    Every kernel against other libraries, interleaved, on one thread (speed), the ISL, ESS and class switches
    of samplers per second (quality), the seconds of a training until it is as likely as other libraries'
    (training), the processor time of one visitor's panels (visitor), or a sample in browsers and natively
    (browsers). Compare ratios within a row, not times.

    Parameters
    ----------
    what
        What is measured.
    peers
        Speed: also time numpy, scikit-learn, torch, rbms, JAX and thrml, each in an environment of its own,
        which is made at first (RBMVIZ_PEERS: their folder).
    rows
        Speed: names separated by commas; a name may end in *; default all rows.
    quick
        Speed: very short rounds, to check that it runs.
    models
        Quality: names or files, separated by commas; default mnist_fpcd,usps_fpcd.
    samplers
        Quality: names, each with its knobs after a colon: gibbs,rates_fpcd:eps=0.1,k=2.
    seeds
        Quality: runs of each sampler; default 3. Training: trainings of each library; default 1.
    n
        Quality: samples of each run; default 10,000.
    dataset
        Quality: data to score against; default: the data that the model names. Training: data to learn;
        default mnist.

    Examples
    --------
    python -m benchmarks speed --peers --rows 'gibbs*'
    """
    args = SimpleNamespace(**locals())
    for other, flags in BENCH_FLAGS.items():
        for flag in flags:
            if flag not in BENCH_FLAGS[what] and getattr(args, flag):
                raise BadInput(f"benchmarks {what}: --{flag} belongs to 'benchmarks {other}'.")
    from benchmarks.machine import machine

    result: dict[str, Any] = {"what": what, "machine": machine(), "rows": []}
    args.machine = result["machine"]
    measured, total = {
        "speed": _speed,
        "quality": _quality,
        "training": _training,
        "visitor": _visitor,
        "browsers": _browsers,
    }[what](args)
    try:
        for row in tqdm(measured, total=total, unit="row", file=sys.stderr, disable=None):
            result["rows"].append(row)
    except KeyboardInterrupt:
        if not result["rows"]:
            raise
        print_message("Interrupted: the missing rows were not measured.")
        result["interrupted"] = True
    return result, text(result)


def _speed(args: SimpleNamespace) -> tuple[Any, int]:
    from benchmarks.environments import Peers
    from benchmarks.speed import chosen, speed

    names = None if args.rows is None else [name.strip() for name in args.rows.split(",")]

    def rows() -> Iterator[dict[str, Any]]:
        with Peers() if args.peers else nullcontext() as peers:
            yield from speed(names, peers, bool(args.quick))
            if peers is not None:
                args.machine["peers"] = peers.versions()

    return rows(), len(chosen(names))


def _quality(args: SimpleNamespace) -> tuple[Any, int]:
    from benchmarks.quality import quality

    models = [name.strip() for name in (args.models or QUALITY["models"]).split(",")]
    samplers = split_algorithms(args.samplers or QUALITY["samplers"])
    seeds, n = (SEEDS if args.seeds is None else args.seeds), (DEFAULT_SAMPLES if args.n is None else args.n)
    return quality(models, samplers, seeds, n, args.dataset), len(models) * len(samplers)


def _training(args: SimpleNamespace) -> tuple[Any, int]:
    from benchmarks.environments import Peers
    from benchmarks.training import to_quality
    from rbmviz.datasets import load_dataset

    dataset, seeds = load_dataset(args.dataset or "mnist"), args.seeds or 1

    def rows() -> Iterator[dict[str, Any]]:
        with Peers() as peers:
            for seed in range(seeds):
                yield {"dataset": dataset.name, **to_quality(dataset, seed, peers)}
                args.machine["peers"] = peers.versions()

    return rows(), seeds


def _visitor(args: SimpleNamespace) -> tuple[Any, int]:
    from benchmarks.visitor import PHASES, visitor

    return visitor(), len(PHASES)


def _browsers(args: SimpleNamespace) -> tuple[Any, int]:
    from benchmarks.browsers import BROWSERS_MODELS, browsers
    from benchmarks.visitor import PANELS

    return browsers(), len(BROWSERS_MODELS) * len(PANELS)


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    lines = {
        "speed": _speed_lines,
        "quality": _quality_lines,
        "training": _training_lines,
        "visitor": _visitor_lines,
        "browsers": _browsers_lines,
    }
    return "\n".join(lines[result["what"]](result))


def _machine_text(machine: dict[str, Any]) -> str:
    load = "unknown" if machine["load"] is None else f"{machine['load']:.1f}"
    return f"{machine['processor']}, {machine['cores']} cores, load {load}"


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def _wall(times: dict[str, Any]) -> str:
    """Return the time on the clock if it is not the processor's: other programs, or several threads."""
    apart = not 0.9 < times["wall"] / times["seconds"] < 1.1
    return f", {_time(times['wall'])} on the clock" if apart else ""


def _target(target: dict[str, Any]) -> str:
    """Return one line for a target: the measured value, the required value, and whether it is reached."""
    wanted = f"must {target['must']:,g}"
    if target["stretch"] is not None:
        wanted += f", stretch {target['stretch']:,g}"
    if target["measured"] is None:
        return f"against {target['against']}: not in this run ({wanted})"
    measured, who = target["measured"], target["who"] + ("*" if target["recorded"] else "")
    outcome = {
        "faster": f"{measured:.3g}x faster than {who}",
        "slower": f"{measured:.3g}x the time of {who}",
        "rate": f"{measured:,.0f} a second",
    }[target["kind"]]
    return f"{outcome} ({wanted}): {target['reached']}"


def _speed_lines(result: dict[str, Any]) -> list[str]:
    lines, machine = [], result["machine"]
    recorded = False
    for row in result["rows"]:
        lines.append(f"{row['name']}: {row['about']}")
        roofline = row["roofline"]
        lines.append(f"  {'rbmviz':<20} {_time(row['seconds']):>10} per {row['unit']}{_wall(row)}")
        for name, own in row["own"].items():
            lines.append(f"  {name:<20} {_time(own['seconds']):>10}   rbmviz takes {own['ratio']:.3g}x that")
        for peer in row["peers"]:
            recorded |= peer["recorded"]
            name = peer["name"] + ("*" if peer["recorded"] else "")
            spread = ""
            if not peer["recorded"]:
                spread = "  ({:.3g} to {:.3g})".format(*peer["quartiles"]) + _wall(peer)
            lines.append(f"  {name:<20} {_time(peer['seconds']):>10} {peer['ratio']:8.3g}x{spread}")
        lines += [f"  {name:<20} {reason}" for name, reason in row["absent"].items()]
        least = f"{_time(roofline['seconds']):>10} {roofline['share']:8.0%}"
        lines.append(f"  {'roofline':<20} {least}   {roofline['how']}")
        lines += [f"  -> {_target(target)}" for target in row["targets"]]
    every = [target["reached"] for row in result["rows"] for target in row["targets"]]
    lines.append(
        f"{sum(x in ('must', 'stretch') for x in every)} targets reached, {every.count('stretch')} of them "
        f"with their stretch value; {every.count('missed')} missed, {every.count(None)} without a peer to "
        "compare with"
    )
    if recorded:
        lines.append("* not in this run: recorded on another machine (Ice Lake, 2.8 GHz), a rough comparison")
    lines.append(
        f"{_machine_text(machine)}; one thread each (BLAS included); processor time, medians over "
        "interleaved rounds"
    )
    return lines + _versions(machine)


def _versions(machine: dict[str, Any]) -> list[str]:
    """Return a line for the environment of each peer."""
    lines = []
    for name, versions in machine.get("peers", {}).items():
        found = versions if isinstance(versions, str) else ", ".join(map(" ".join, versions.items()))
        lines.append(f"  environment {name}: {found}")
    return lines


def _with_error(mean: float | None, std_error: float | None) -> str:
    if mean is None:
        return "-"
    digits = 0 if abs(mean) >= 1000 else 1
    return f"{mean:,.{digits}f}" + ("" if std_error is None else f" +- {std_error:,.{digits}f}")


def _quality_lines(result: dict[str, Any]) -> list[str]:
    columns = {
        "isl": "ISL",
        "isl_equal_time": "at equal time",
        "nats_per_second": "nats/s",
        "ess_per_second": "ESS/s",
        "switches_per_second": "switches/s",
        "samples_per_second": "samples/s",
    }
    wide = max([len(row["sampler"]) for row in result["rows"]] + [19]) + 1
    lines = [f"{'model':<14} {'sampler':<{wide}}" + "".join(f"{name:>19}" for name in columns.values())]
    for row in result["rows"]:
        cells = [_with_error(**row[key]) for key in columns]
        lines.append(
            f"{row['model']:<14} {row['sampler']:<{wide}}" + "".join(f"{cell:>19}" for cell in cells)
        )
    if result["rows"]:
        one = result["rows"][0]
        lines.append(
            f"after {one['n']:,} samples, {one['seeds']} seeds, mean and standard error; a sampler with one "
            "chain uses one thread, a sampler with several chains uses all cores"
        )
    return lines


def _training_lines(result: dict[str, Any]) -> list[str]:
    lines, machine = [], result["machine"]
    for row in result["rows"]:
        level = row["level"]
        lines.append(f"{row['dataset']}, seed {row['seed']}: seconds to {level:.1f} nats per test example")
        for name, one in sorted(row["contestants"].items(), key=lambda each: each[1]["seconds_to_level"]):
            last = f"{one['likelihoods'][-1]:.1f} +- {one['errors'][-1]:.1f}"
            seconds = f"{one['seconds_to_level']:8.1f} s {one['ratio']:6.2f}x"
            clock, total = f"{one['wall_to_level']:.1f} s on the clock", f"{one['processor'][-1]:.1f} s"
            lines.append(f"  {name:<14} {seconds}, {clock}; {total} in all, to {last}")
        lines += [f"  {name:<14} {reason}" for name, reason in row["absent"].items()]
    lines.append(
        f"{_machine_text(machine)}; one thread each, processor time; likelihoods by AIS take no part"
    )
    return lines + _versions(machine)


def _visitor_lines(result: dict[str, Any]) -> list[str]:
    from benchmarks.visitor import PHASES

    lines = []
    for row in result["rows"]:
        each = "" if row["sample_seconds"] is None else f", {_time(row['sample_seconds'])} a sample"
        lines.append(f"{row['phase']:<18} {row['share']:>7.1%} of a core{each}: {PHASES[row['phase']]}")
    return lines


def _browsers_lines(result: dict[str, Any]) -> list[str]:
    lines = []
    for row in result["rows"]:
        lines.append(f"{row['model']}, {row['sampler']}")
        for name, seconds in row["seconds"].items():
            best = f"{_time(row['best'][name]):>10} at best"
            lines.append(f"  {name:<28} {_time(seconds):>10} a sample {row['ratios'][name]:8.3g}x {best}")
    lines.append(f"{_machine_text(result['machine'])}; medians of interleaved rounds")
    return lines
