"""Live runs: commands go in, immutable snapshots come out, and one job a page makes all steps.

This layer sits between the algorithms and a front end (page, command line, notebook); it does not import
Streamlit. A setup holds everything that the panels of a race share, and plans their runs:
``SamplingSetup`` for a model, ``LandscapeSetup`` for a small model, ``TrainingSetup`` for training on data,
``CouplingSetup`` for two coupled chains, and ``WeightSetup`` for weighted samples of pop-CD. ``run`` defines
the base class of all runs.
"""

from rbmviz.session.again import RunLog
from rbmviz.session.coupling import Coupling, CouplingRun, CouplingSetup, CouplingSnapshot, Results
from rbmviz.session.history import RunHistory
from rbmviz.session.importance_weights import WeightRun, WeightSetup, WeightSnapshot
from rbmviz.session.landscape import LandscapeRun, LandscapeSetup, LandscapeSnapshot
from rbmviz.session.limits import Limits, limits
from rbmviz.session.panel import Panel
from rbmviz.session.race import Race
from rbmviz.session.sampling import (
    SamplingPlan,
    SamplingRun,
    SamplingSetup,
    SamplingSnapshot,
    Start,
    replay,
)
from rbmviz.session.snapshot import NewestSamples, Point, Snapshot
from rbmviz.session.training import TrainingPlan, TrainingRun, TrainingSetup, TrainingSnapshot, WarmStart
from rbmviz.session.warm import warm_up
