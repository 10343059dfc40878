"""Runs that live while somebody watches: commands in, immutable snapshots out, as few threads as will do.

Between the algorithms and any face (page, command line, notebook); knows no Streamlit. A setup says what the
panels of a comparison share, and gives each run its plan: ``SamplingSetup`` of a model, ``LandscapeSetup`` of
a small one, ``TrainingSetup`` on data, ``CouplingSetup`` of two chains, ``WeightSetup`` of the samples of
pop-CD, ``StudySetup`` of models that estimators are measured on. What all runs have in common stands in
``run``.
"""

from rbmviz.session.again import RunLog
from rbmviz.session.comparison import Comparison, Panel
from rbmviz.session.coupling import (
    Coupling,
    CouplingRun,
    CouplingSetup,
    CouplingSnapshot,
    Results,
    random_rbm,
)
from rbmviz.session.estimator_study import StudiedModel, StudyRun, StudySetup, StudySnapshot
from rbmviz.session.history import RunHistory
from rbmviz.session.importance_weights import WeightRun, WeightSetup, WeightSnapshot
from rbmviz.session.landscape import LandscapePlan, LandscapeRun, LandscapeSetup, LandscapeSnapshot
from rbmviz.session.limits import Limits, VisitorUsage, limits
from rbmviz.session.recorder import Allowance, write_array
from rbmviz.session.release import janitor
from rbmviz.session.sampling import (
    SamplingPlan,
    SamplingRun,
    SamplingSetup,
    SamplingSnapshot,
    Start,
    replay,
)
from rbmviz.session.snapshot import NewestSamples, Point, Snapshot
from rbmviz.session.training import Origin, TrainingPlan, TrainingRun, TrainingSetup, TrainingSnapshot
from rbmviz.session.warm import warm_up
from rbmviz.session.worker import Worker

__all__ = [
    "Allowance",
    "Comparison",
    "Coupling",
    "CouplingRun",
    "CouplingSetup",
    "CouplingSnapshot",
    "LandscapePlan",
    "LandscapeRun",
    "LandscapeSetup",
    "LandscapeSnapshot",
    "Limits",
    "NewestSamples",
    "Origin",
    "Panel",
    "Point",
    "Results",
    "RunHistory",
    "RunLog",
    "SamplingPlan",
    "SamplingRun",
    "SamplingSetup",
    "SamplingSnapshot",
    "Snapshot",
    "Start",
    "StudiedModel",
    "StudyRun",
    "StudySetup",
    "StudySnapshot",
    "TrainingPlan",
    "TrainingRun",
    "TrainingSetup",
    "TrainingSnapshot",
    "VisitorUsage",
    "WeightRun",
    "WeightSetup",
    "WeightSnapshot",
    "Worker",
    "janitor",
    "limits",
    "random_rbm",
    "replay",
    "warm_up",
    "write_array",
]
