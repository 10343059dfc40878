"""The command: list recipes, run those that are named, or bring the texts of the ledger up to date."""

import argparse
import re
import sys
from pathlib import Path

from papers.recipe import Recipe, all_recipes, recipes_of
from papers.run import as_json, refreshed, run
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.files.output import write_whole
from rbmviz.ledger import PAPERS, SIZES, STORED_FOLDER, minutes_text, stored, verdict_text


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201


def seeds(text: str) -> range:
    """Return the seeds FROM, FROM + 1, ... of the text FROM:COUNT."""
    if not (found := re.fullmatch(r"(\d{1,9}):([1-9]\d{0,5})", text)):
        raise argparse.ArgumentTypeError("give FROM:COUNT, as 10:5 for the seeds 10 to 14")
    first, count = int(found[1]), int(found[2])
    return range(first, first + count)


def list_all() -> None:
    """List the recipes by paper, figure and table, with their core-minutes by size."""
    paper, width = "", max(map(len, all_recipes()))
    say(f"{'':<{width}} {'quick':>7} {'medium':>7} {'full':>8}  core-minutes")
    for name, recipe in all_recipes().items():
        if recipe.paper != paper:
            paper = recipe.paper
            say(f"\n{PAPERS[recipe.paper].title}")
        quick, medium, full = (
            minutes_text(recipe.cost[size]) if size in recipe.cost else "-" for size in SIZES
        )
        needs = f" (needs {', '.join(recipe.needs)})" if recipe.needs else ""
        say(f"{name:<{width}} {quick:>7} {medium:>7} {full:>8}  {recipe.source}: {recipe.title}{needs}")


def run_each(recipes: dict[str, Recipe], options: argparse.Namespace) -> int:
    """Run recipes and print their verdicts; return 2 if one could not run, which does not end the others."""
    sizes = {name: recipe.nearest(options.size) for name, recipe in recipes.items()}
    cost = sum(recipe.cost.get(sizes[name], 0.0) for name, recipe in recipes.items())
    say(f"About {minutes_text(cost)} core-minutes, less what is in '{options.out}' already.")
    status, further = 0, {"workers": options.workers, "say": say}
    for name, recipe in recipes.items():
        try:
            result = run(name, recipe, options.out, sizes[name], options.seeds, **further)
        except BadInput as error:
            say(f"{name}: {error}")
            status = 2
            continue
        for claim in result["claims"]:
            say(f"\n{verdict_text(claim).upper()}: {claim['text']}\n  the paper: {claim['paper']}")
            say(f"  {claim['reason']}")
        entry = options.out / f"{name}-{sizes[name]}"
        say(f"\n{result['core_minutes']:.3g} core-minutes: '{entry}.json' and '{entry}.svg'.\n")
    return status


def main(words: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser("python -m papers", description=__doc__)
    parser.add_argument("name", nargs="*", help="recipes: a name or its beginning, fig2, table1, or all")
    parser.add_argument("--size", choices=SIZES, default="full", help="of the run (default: full)")
    parser.add_argument(
        "--seeds", type=seeds, metavar="FROM:COUNT", help="further seeds, added to those in DIR"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    parser.add_argument("--workers", type=int, metavar="N", help="threads (default: one for each core)")
    parser.add_argument("--texts", action="store_true", help="give the ledger the recipes' present texts")
    options = parser.parse_args(words)
    try:
        if options.name:
            return run_each(recipes_of(options.name), options)
        for name, recipe in all_recipes().items() if options.texts else ():
            for size in SIZES:
                if result := stored(name, [size]):
                    write_whole(STORED_FOLDER / f"{name}-{size}.json", as_json(refreshed(result, recipe)))
        if not options.texts:
            list_all()
    except (BadInput, OutputFailure) as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("Interrupted: the same command computes the rest.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
