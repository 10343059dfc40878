"""Runs that live while somebody watches: one worker thread a run, immutable snapshots out, commands in.

Between the algorithms and any face (page, command line, notebook); knows no Streamlit. A plan says what a
run is made of: ``Sampling`` of a model, a walk over the ``Landscape`` of a small one, ``Training`` on data,
``Coupling`` of two chains, ``Weighing`` the samples of pop-CD, ``Growth`` of models to measure estimators on.
"""

from rbmviz.session.coupling import Coupling, CouplingPlan, CouplingRun, CouplingSnapshot, Results, random_rbm
from rbmviz.session.growth import Grown, Growth, GrowthRun, GrowthSnapshot
from rbmviz.session.landscape import LandscapePlan, LandscapeRun, LandscapeSnapshot, Terrain
from rbmviz.session.limits import Limits, Session, limits
from rbmviz.session.race import Panel, Race
from rbmviz.session.recorder import Allowance, Record, replay, write_array
from rbmviz.session.release import janitor
from rbmviz.session.sampling import SamplingPlan, SamplingRun, SamplingSnapshot, Setting, Start
from rbmviz.session.snapshot import Frames, Point, Snapshot
from rbmviz.session.training import Lesson, Origin, TrainingPlan, TrainingRun, TrainingSnapshot
from rbmviz.session.warm import warm_up
from rbmviz.session.weighing import Weighing, WeighingRun, WeighingSnapshot
from rbmviz.session.worker import Worker

__all__ = [
    "Allowance",
    "Coupling",
    "CouplingPlan",
    "CouplingRun",
    "CouplingSnapshot",
    "Frames",
    "Grown",
    "Growth",
    "GrowthRun",
    "GrowthSnapshot",
    "LandscapePlan",
    "LandscapeRun",
    "LandscapeSnapshot",
    "Lesson",
    "Limits",
    "Origin",
    "Panel",
    "Point",
    "Race",
    "Record",
    "Results",
    "SamplingPlan",
    "SamplingRun",
    "SamplingSnapshot",
    "Session",
    "Setting",
    "Snapshot",
    "Start",
    "Terrain",
    "TrainingPlan",
    "TrainingRun",
    "TrainingSnapshot",
    "Weighing",
    "WeighingRun",
    "WeighingSnapshot",
    "Worker",
    "janitor",
    "limits",
    "random_rbm",
    "replay",
    "warm_up",
    "write_array",
]
