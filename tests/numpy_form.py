"""The short numpy form in the docstring of a kernel's module: it is run, as the oracle of the kernel."""

import textwrap
from types import ModuleType
from typing import Any

import numpy as np
from naive import sigmoid


def numpy_form(module: ModuleType) -> dict[str, Any]:
    """Run the first indented block after a line that ends with ``::``; return the names that it defines."""
    assert module.__doc__
    lines = module.__doc__.partition("::\n\n")[2].splitlines()
    inside = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    names = {"np": np, "sigmoid": sigmoid}
    exec(textwrap.dedent("\n".join(lines[:inside])), names)
    return names
