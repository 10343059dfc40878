"""Runs that live while somebody watches: one worker thread a run, immutable snapshots out, commands in.

Between the algorithms and any face (page, command line, notebook); knows no Streamlit. A plan says what a run
is made of: ``Sampling`` of a model, a walk over the ``Landscape`` of a small one, ``Training`` on data,
``Coupling`` of two chains, ``WeightSetup`` the samples of pop-CD, ``Growth`` of models to measure estimators
on.
"""

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
from rbmviz.session.importance_weights import WeightRun, WeightSetup, WeightSnapshot
from rbmviz.session.landscape import LandscapePlan, LandscapeRun, LandscapeSetup, LandscapeSnapshot
from rbmviz.session.limits import Limits, Session, limits
from rbmviz.session.recorder import Allowance, Record, replay, write_array
from rbmviz.session.release import janitor
from rbmviz.session.sampling import SamplingPlan, SamplingRun, SamplingSetup, SamplingSnapshot, Start
from rbmviz.session.snapshot import Frames, Point, Snapshot
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
    "Frames",
    "LandscapePlan",
    "LandscapeRun",
    "LandscapeSetup",
    "LandscapeSnapshot",
    "Limits",
    "Origin",
    "Panel",
    "Point",
    "Record",
    "Results",
    "SamplingPlan",
    "SamplingRun",
    "SamplingSetup",
    "SamplingSnapshot",
    "Session",
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
