"""Runs without a thread: made, advanced, and the same numbers computed from scratch."""

from rbmviz.metrics import Coverage, isl
from rbmviz.session import SamplingPlan


def begun(model, toy, sampler, n, seed=5):
    """Return a prepared run after n samples, with all that waits scored."""
    run = SamplingPlan(model, seed=seed, dataset=toy).run(1, sampler)
    run.prepare()
    return advance(run, n)


def advance(run, n):
    """Make n more samples, then stop."""
    end = run.n + n
    while run.n < end:
        run.record_steps(run.advance(min(run.max_steps(), end - run.n)))
    run.complete()
    return run


def from_scratch(toy, v):
    """Return the score and the coverage of these samples alone."""
    coverage = Coverage(toy)
    coverage.update(v)
    return isl(v, toy.test, toy.validation), coverage
