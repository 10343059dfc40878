"""Further seeds of a recipe: a claim is run on towards its verdict.

They have the settings and the size of the result that ships, and are kept in a folder like
``run.reproduce``'s. If this folder has the recipe's own seeds, all are evaluated together. Otherwise they are
merged with the numbers that ship. Nearly all are means over seeds: value, error and number of seeds of two
means determine the mean and error over all seeds.
"""

import itertools
import math
import time
from collections import ChainMap, Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.reproduce.claims import Size
from rbmviz.reproduce.ledger import measured_texts, numbers_of, stored
from rbmviz.reproduce.recipe import Job, Recipe, SweepRun, Work, minutes_text
from rbmviz.reproduce.run import folder_of, is_measured, judged, measure, result_of, write_result
from rbmviz.sweeps.cell import forget

JsonObject = Mapping[str, Any]


def _family(job: Job) -> str:
    return job.name.removesuffix(f"-{job.arguments['seed']}")


def _own_seeds(work: Sequence[Work]) -> dict[str, int]:
    """Return the number of seeds, 0, 1, ..., of each sweep and of each family of jobs."""
    own = Counter(_family(item) for item in work if isinstance(item, Job) and "seed" in item.arguments)
    return own | {item.name: len(item.plan.seeds) for item in work if isinstance(item, SweepRun)}


def further(work: Sequence[Work], begin: int, end: int, own: bool = False) -> list[Work]:
    """Return this work at further seeds, and with ``own`` also at its own; jobs without a seed stay.

    begin, end : if a job has seeds 0 to 3, the further ones are 4 + begin, ..., 3 + end
    """
    numbers = _own_seeds(work)
    result: list[Work] = []
    for item in work:
        if isinstance(item, SweepRun):
            n = numbers[item.name]
            seeds = (*item.plan.seeds * own, *range(n + begin, n + end))
            result.append(replace(item, plan=replace(item.plan, seeds=seeds)))
            continue
        seed = item.arguments.get("seed")
        result += [item] * (own or seed is None)
        if seed is not None and seed == (n := numbers[_family(item)]) - 1:
            result += [
                replace(item, name=f"{_family(item)}-{other}", arguments={**item.arguments, "seed": other})
                for other in range(n + begin, n + end)
            ]
    return result


def minutes_of_seed(recipe: Recipe, size: Size) -> float:
    """Return the expected core-minutes of one further seed; infinity if there is none at this size."""
    own = _own_seeds(recipe.work(size)) if recipe.work and recipe.is_run(size) else {}
    return recipe.cost[size] / max(own.values()) if own else math.inf


def run_further(
    name: str,
    recipe: Recipe,
    folder: str | Path,
    size: Size,
    minutes: float,
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run further seeds of a recipe for some minutes; arguments and errors otherwise as ``reproduce``.

    A seed begins only if it is expected to end in time: by the recipe's cost, and the longest seed so far.

    Returns
    -------
    dict
        ``added`` (number of seeds), ``minutes``, ``result`` of all seeds, and the result ``before``, or None.
        After Ctrl-C, which loses only the unfinished seed, also ``interrupted``.

    Raises
    ------
    BadInput
        Also if one seed is expected to take longer.
    """
    longest = minutes_of_seed(recipe, size)
    if math.isinf(longest):
        raise BadInput(f"'{name}' has no {size} run that further seeds could add to.")
    if longest > minutes:
        raise BadInput(
            f"One seed of '{name}' takes about {minutes_text(longest)} minutes ({size} run), and it has "
            f"{minutes:g}: give --more {math.ceil(longest)}."
        )
    assert recipe.work is not None
    for data in recipe.needs:
        load_dataset(data)  # fails here if data are missing
    place, say, work = folder_of(name, Path(folder), size), on_progress or (lambda _: None), recipe.work(size)
    shipped, own = stored(name, [size]), is_measured(work, place)
    first = next(n for n in itertools.count() if not is_measured(further(work, n, n + 1), place))

    def collected(n: int) -> dict[str, Any] | None:
        """Return the result of n further seeds, merged with the stored ones."""
        if not n and not own:
            return shipped
        every = further(work, 0, n, own) if n else list(work)
        measured, spent = measure(name, every, place, workers, lambda _: None)
        result = result_of(name, replace(recipe, work=lambda _: every), size, measured, spent)
        return result if own or not shipped else _merged(recipe, shipped, result, n)

    before, n, interrupted, begin = collected(first), first, False, time.monotonic()
    try:
        while n == first or time.monotonic() - begin + longest * 60 <= minutes * 60:
            began = time.monotonic()
            measure(name, further(work, n, n + 1), place, workers, say)
            n, longest = n + 1, max(longest, (time.monotonic() - began) / 60)
    except KeyboardInterrupt:
        if not n and not own:
            raise
        interrupted = True
    if result := collected(n):
        option = f" --{size}" * (size != "full")
        result["command"] = f"rbmviz reproduce {name}{option} --more {minutes:g}"
        if without := write_result(result, place):
            say(f"{name} has no picture: {without}")
    forget()
    outcome = {"added": n - first, "minutes": (time.monotonic() - begin) / 60, "before": before}
    return {**outcome, "result": result} | ({"interrupted": True} if interrupted else {})


def _merged(recipe: Recipe, shipped: JsonObject, result: JsonObject, n: int) -> dict[str, Any]:
    """Return the result of n further seeds with the claims of all; what is no mean stays as it ships."""
    assert recipe.work is not None
    size: Size = result["size"]
    own = set(_own_seeds(recipe.work(size)).values())
    old, new = (ChainMap(*map(numbers_of, each["claims"])) for each in (shipped, result))
    numbers = {
        key: old[key].merged(e) if key in old and old[key].n in own and e.n == n else old.get(key, e)
        for key, e in new.items()
    }
    claims = judged(recipe, size, {**old, **numbers})
    origin = {key: shipped[key] for key in ("version", "commit", "machine", "seeds", "core_minutes")}
    return {**result, "claims": claims, "merged_with": origin}


def changes(outcome: JsonObject) -> list[str]:
    """Return what ``run_further`` adds as lines of text: how many seeds, and what each claim was and is."""
    n, before = outcome["added"], outcome["before"]
    then = {claim["claim"]: claim for claim in before["claims"]} if before else {}
    lines = [f"{n} seed{'s' * (n != 1)} added in {outcome['minutes']:.2g} minutes."]
    for claim in outcome["result"]["claims"]:
        was = then.get(claim["claim"], claim)
        if claim["measured"]:
            verdicts = dict.fromkeys((was["verdict"], claim["verdict"]))
            lines.append(f"{' → '.join(verdicts)}: {claim['text']}")
            for old, new in itertools.zip_longest(measured_texts(was), measured_texts(claim)):
                lines.append(f"  {new}" + f" (before: {old.rpartition(': ')[2]})" * (old not in (None, new)))
    return lines
