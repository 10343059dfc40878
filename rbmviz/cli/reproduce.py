"""``rbmviz reproduce``: figures, tables and claims of the papers, each with a verdict."""

import argparse
from pathlib import Path
from typing import Any

from rbmviz.cli import WholeNumber, add_command, print_message
from rbmviz.cli.sweep import MAX_WORKERS
from rbmviz.errors import BadInput
from rbmviz.paths import cache_dir
from rbmviz.reproduce import PAPERS, SIZES, Recipe, Size, all_recipes, recipe_named, reproduce
from rbmviz.reproduce.further import changes, run_further
from rbmviz.reproduce.ledger import measured_texts, stored, verdict_text
from rbmviz.reproduce.recipe import minutes_text, number_text
from rbmviz.reproduce.run import result_of


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz reproduce unbiased_cd_meeting_times --out results --quick"
    command = add_command(commands, "reproduce", example, run, text)
    command.description = (
        "Repeat a figure, a table or a claim of the papers: numbers with errors, the picture, and a verdict\n"
        "on each claim. Without a name it lists the recipes by figure and table, with their costs. What is\n"
        "computed is kept in the folder, so that an interrupted run continues."
    )
    command.add_argument("name", nargs="?", default="", help="a recipe, or 'all' (default: list them)")
    command.add_argument("--out", metavar="DIR", help="folder of the results; it is made if need be")
    command.add_argument(
        "--more",
        type=WholeNumber(1, 10_000),
        metavar="MINUTES",
        help="run further seeds of one recipe for this long, at the size of the shipped result, and say what "
        "they add to it and to the seeds in the folder (default: one in the cache folder)",
    )
    sizes = command.add_mutually_exclusive_group()
    for size, meaning in (("quick", "minutes"), ("medium", "at most 30 core-minutes, or 60 of large models")):
        text_of_size = f"fewer seeds and shorter runs, {meaning}: it may leave claims undecided"
        sizes.add_argument(f"--{size}", action="store_const", const=size, dest="size", help=text_of_size)
    command.add_argument(
        "--workers",
        type=WholeNumber(1, MAX_WORKERS),
        help="threads of sweeps (default: one for each core)",
    )


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run recipes and return their claims with verdicts, or list the recipes."""
    if not args.name:
        if args.out is not None or args.size or args.more is not None:
            raise BadInput("reproduce: name a recipe, or 'all'.")
        return {"recipes": [_listed(name, recipe) for name, recipe in all_recipes().items()]}
    if args.more is not None:
        return _run_further(args)
    size: Size = args.size or "full"
    chosen = all_recipes() if args.name == "all" else {args.name: recipe_named(args.name)}
    if args.out is None:
        raise BadInput("reproduce: give the folder of the results, --out DIR.")
    cost = sum(recipe.cost.get(recipe.nearest(size), 0.0) for recipe in chosen.values() if recipe.work)
    print_message(f"About {minutes_text(cost)} core-minutes, less what is in '{args.out}' already.")
    claims: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    minutes, interrupted = 0.0, False
    for name, recipe in chosen.items():
        nearest = recipe.nearest(size)
        try:
            reproduced = reproduce(
                name, recipe, args.out, nearest, workers=args.workers, on_progress=print_message
            )
        except KeyboardInterrupt:
            if not claims:
                raise
            print_message("Interrupted: the same command computes the rest.")
            interrupted = True
            break
        except BadInput as error:
            if args.name != "all":
                raise
            failed.append({"recipe": name, "reason": str(error)})
            print_message(f"{name}: {error}")
            reproduced = result_of(name, recipe, nearest, None, 0.0)
            for claim in reproduced["claims"]:
                claim["reason"] = f"{error} {claim['reason']}"
        minutes += reproduced["core_minutes"]
        claims += [_claim(reproduced, claim) for claim in reproduced["claims"]]
    result: dict[str, Any] = {"size": size, "out": str(args.out), "claims": claims, "failed": failed}
    result |= {"core_minutes": minutes}
    return result | ({"interrupted": True} if interrupted else {})


def _run_further(args: argparse.Namespace) -> dict[str, Any]:
    """Run further seeds of one recipe, and return its claims together with the earlier claims."""
    if args.name == "all":
        raise BadInput("reproduce: --more runs one recipe: name it in place of 'all'.")
    recipe, shipped = recipe_named(args.name), stored(args.name)
    size: Size = args.size or (shipped["size"] if shipped else "full")
    out = Path(args.out or cache_dir() / "reproduce")
    outcome = run_further(
        args.name, recipe, out, size, args.more, workers=args.workers, on_progress=print_message
    )
    result = outcome["result"]
    claims = {
        key: [_claim(each, claim) for claim in each["claims"]] if each else []
        for key, each in (("claims", result), ("before", outcome["before"]))
    }
    return {
        **{"recipe": args.name, "size": size, "out": str(out), "seeds": result["seeds"], **claims},
        **{key: outcome[key] for key in outcome if key not in claims and key != "result"},
        **{"changes": changes(outcome), "core_minutes": result["core_minutes"]},
    }


def _listed(name: str, recipe: Recipe) -> dict[str, Any]:
    return {
        **{"recipe": name, "paper": PAPERS[recipe.paper].title, "title": recipe.title},
        **{"source": recipe.source, "number": number_text(recipe.source)},
        **{"core_minutes": dict(recipe.cost) if recipe.work else {}},
        **{"needs": list(recipe.needs), "claims": [claim.name for claim in recipe.claims]},
    }


def _claim(result: dict[str, Any], claim: dict[str, Any]) -> dict[str, Any]:
    """Return a claim as a JSON entry."""
    return {
        **{"recipe": result["recipe"], "claim": claim["claim"], "text": claim["text"]},
        **{"source": f"{PAPERS[result['paper']].title}, {result['source']}"},  # type: ignore[index]
        **{"paper": claim["paper"], "variant": claim["variant"], "measured": claim["measured"]},
        "holds": claim["holds"],
        **{"verdict": claim["verdict"], "reason": claim["reason"]},
    }


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    if "recipes" in result:
        rows = result["recipes"]
        width = max(len(row["recipe"]) for row in rows)
        lines, paper = [f"{'':<{width}} {'quick':>7} {'medium':>7} {'full':>8}  core-minutes"], ""
        for row in rows:
            if row["paper"] != paper:
                paper = row["paper"]
                lines += ["", paper]
            quick, medium, full = (
                minutes_text(row["core_minutes"][size]) if size in row["core_minutes"] else "-"
                for size in SIZES
            )
            needs = f" (needs {', '.join(row['needs'])})" if row["needs"] else ""
            title = f"{row['number']}: {row['title']}{needs}"
            lines.append(f"{row['recipe']:<{width}} {quick:>7} {medium:>7} {full:>8}  {title}")
        return "\n".join(lines)
    if "changes" in result:
        return "\n".join([*result["changes"], f"All of it is in '{Path(result['out'])}'."])
    lines = []
    for claim in result["claims"]:
        lines += [f"{verdict_text(claim).upper()}: {claim['text']}", f"  {claim['source']}: {claim['paper']}"]
        lines += [f"  here: {measured}" for measured in measured_texts(claim)]
        lines += [f"  {claim['reason']}", ""]
    lines.append(f"{result['core_minutes']:.3g} core-minutes; all of it is in '{Path(result['out'])}'.")
    return "\n".join(lines)
