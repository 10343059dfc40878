"""No module imports another that imports it, not even for its types only."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"rbmviz": ROOT / "rbmviz", "rbmviz_app": ROOT / "app" / "rbmviz_app"}


def modules(packages):
    """Return the files of packages by the names of their modules."""
    return {
        ".".join((name, *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): file
        for name, folder in packages.items()
        for file in folder.rglob("*.py")
    }


def imports(name, file, known):
    """Yield the modules that a module imports as it is loaded, or below TYPE_CHECKING; not in functions."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in outside_of_functions(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (above, node.module) if part)
            for alias in node.names:
                yield whole if (whole := f"{source}.{alias.name}") in known else source


def outside_of_functions(node):
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner
            yield from outside_of_functions(inner)


def in_order(packages):
    """Return the modules, each after those that it imports; raise CycleError where they go round."""
    known = modules(packages)
    graph = {name: set(imports(name, file, known)) & set(known) - {name} for name, file in known.items()}
    return [*TopologicalSorter(graph).static_order()]


def test_no_import_goes_round():
    assert len(in_order(PACKAGES)) > 200


def test_a_cycle_is_found_and_an_import_in_a_function_is_none(tmp_path):
    (tmp_path / "a.py").write_text("from p import b\ndef f():\n    import p.d\n")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    from p.c import x\n")
    (tmp_path / "d.py").write_text("import p.a\n")
    assert in_order({"p": tmp_path}) == ["p.b", "p.a", "p.d"]
    (tmp_path / "c.py").write_text("import p.a\n")
    with pytest.raises(CycleError, match="cycle"):
        in_order({"p": tmp_path})
