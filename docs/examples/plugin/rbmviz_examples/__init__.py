"""A sampler and a trainer for rbmviz, which finds their modules by the entry points in pyproject.toml."""
