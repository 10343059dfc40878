# Written by .ci/knob-stubs from the registry; tests/contract/test_stubs.py compares.
from collections.abc import Callable
from typing import Literal, TypedDict, Unpack, overload

from rbmviz.datasets import AnyData
from rbmviz.rbm import Model
from rbmviz.rbm.files import AnyModel
from rbmviz.rng import Seed
from rbmviz.samplers import AnySampler, Sampler
from rbmviz.trainers import AnyTrainer, Progress, Trainer

class GibbsKnobs(TypedDict, total=False):
    temperature: float  # 0.1 to 10; default 1.0
    k: int  # 1 to 100; default 1
    n_chains: int  # 1 to 1000; default 1

class ParallelTemperingKnobs(TypedDict, total=False):
    n_replicas: int  # 1 to 100; default 20
    k: int  # 1 to 100; default 1
    spacing: Literal["adapted", "linear", "geometric"]  # default adapted
    burn_in: int  # 8 to 100000; default 1000
    lowest: float  # 0 to 1; default 0.0
    reference: Literal["independent", "uniform"]  # default independent
    n_chains: int  # 1 to 1000; default 1

class RatesFPCDKnobs(TypedDict, total=False):
    eps: float  # 0, or 0.0001 to 1; default 0.03
    alpha: float  # 0 to 1; default 1.0
    k: int  # 1 to 100; default 1
    statistics: Literal["sampled", "mean"]  # default sampled
    n_chains: int  # 1 to 1000; default 1
    share: bool  # default False

class RatesHerdingKnobs(TypedDict, total=False):
    eps: float  # 0, or 0.0001 to 10; default 0.03
    alpha: float  # 0 to 1; default 1.0
    max_sweeps: int  # 1 to 1000; default 50
    n_chains: int  # 1 to 1000; default 1
    share: bool  # default False

class SamplePenalizationKnobs(TypedDict, total=False):
    eps: float  # 0, or 1e-05 to 1; default 0.0003
    alpha: float  # 0 to 1; default 0.9
    k: int  # 1 to 100; default 1
    units: Literal["binary", "symmetric"]  # default binary
    n_chains: int  # 1 to 1000; default 1
    share: bool  # default False

class _AnySamplerKnobs(TypedDict, total=False):
    n_chains: int  # 1 to 1000; default 1

class _CommonKnobs(TypedDict, total=False):
    learning_rate: float  # 1e-06 to 10; default 0.05
    schedule: Literal["constant", "linear", "inverse_sqrt"]  # default constant
    momentum: float  # 0 to 0.99; default 0.0
    weight_decay: float  # 0, or 1e-07 to 1; default 0.0
    batch_size: int  # 0, or 1 to 10000; default 0
    initial_scale: float  # 0, or 1e-06 to 10; default 0.01
    initial_law: Literal["normal", "uniform"]  # default normal
    initial_biases: Literal["data", "zero", "random"]  # default data
    average: bool  # default False
    box: float  # 0, or 0.01 to 100; default 0.0

class CDKnobs(_CommonKnobs, total=False):
    k: int  # 1 to 1000; default 1
    n_chains: int  # 0, or 1 to 10000; default 0

class ExactKnobs(_CommonKnobs, total=False):
    pass

class FPCDKnobs(_CommonKnobs, total=False):
    k: int  # 1 to 1000; default 1
    n_chains: int  # 1 to 10000; default 100
    eps: float  # 0, or 1e-05 to 1; default 0.05
    alpha: float  # 0 to 1; default 0.95

class HerdingKnobs(_CommonKnobs, total=False):
    max_sweeps: int  # 1 to 1000; default 50
    n_chains: int  # 1 to 10000; default 100

class PCDKnobs(_CommonKnobs, total=False):
    k: int  # 1 to 1000; default 1
    n_chains: int  # 1 to 10000; default 100
    start: Literal["random", "data"]  # default random

class PolishKnobs(_CommonKnobs, total=False):
    stop_at: float  # 0 to 0.9; default 0.0
    k: int  # 1 to 1000; default 1
    n_chains: int  # 1 to 10000; default 100

class PopCDKnobs(_CommonKnobs, total=False):
    proposal: Literal["visible", "joint", "mixture"]  # default visible
    mixture: int  # 1 to 1000; default 10
    leave_one_out: bool  # default False
    k: int  # 1 to 1000; default 1
    n_chains: int  # 0, or 1 to 10000; default 0

class PTKnobs(_CommonKnobs, total=False):
    n_temperatures: int  # 1 to 100; default 10
    n_chains: int  # 1 to 10000; default 100

class UCDKnobs(_CommonKnobs, total=False):
    algorithm: Literal["rbm", "general", "half_step"]  # default rbm
    t_max: int  # 2 to 1e+06; default 100
    start: Literal["data", "batch"]  # default data
    k: int  # 1 to 1000; default 1
    n_chains: int  # 1 to 10000; default 100

@overload
def make_sampler(name: Literal["gibbs"], **knobs: Unpack[GibbsKnobs]) -> Sampler: ...
@overload
def make_sampler(name: Literal["parallel_tempering"], **knobs: Unpack[ParallelTemperingKnobs]) -> Sampler: ...
@overload
def make_sampler(name: Literal["rates_fpcd"], **knobs: Unpack[RatesFPCDKnobs]) -> Sampler: ...
@overload
def make_sampler(name: Literal["rates_herding"], **knobs: Unpack[RatesHerdingKnobs]) -> Sampler: ...
@overload
def make_sampler(
    name: Literal["sample_penalization"], **knobs: Unpack[SamplePenalizationKnobs]
) -> Sampler: ...
@overload
def make_sampler(name: AnySampler, **knobs: Unpack[_AnySamplerKnobs]) -> Sampler: ...
@overload
def make_trainer(name: Literal["cd"], *, iterations: int = 1000, **knobs: Unpack[CDKnobs]) -> Trainer: ...
@overload
def make_trainer(
    name: Literal["exact"], *, iterations: int = 1000, **knobs: Unpack[ExactKnobs]
) -> Trainer: ...
@overload
def make_trainer(name: Literal["fpcd"], *, iterations: int = 1000, **knobs: Unpack[FPCDKnobs]) -> Trainer: ...
@overload
def make_trainer(
    name: Literal["herding"], *, iterations: int = 1000, **knobs: Unpack[HerdingKnobs]
) -> Trainer: ...
@overload
def make_trainer(name: Literal["pcd"], *, iterations: int = 1000, **knobs: Unpack[PCDKnobs]) -> Trainer: ...
@overload
def make_trainer(
    name: Literal["polish"], *, iterations: int = 1000, **knobs: Unpack[PolishKnobs]
) -> Trainer: ...
@overload
def make_trainer(
    name: Literal["pop_cd"], *, iterations: int = 1000, **knobs: Unpack[PopCDKnobs]
) -> Trainer: ...
@overload
def make_trainer(name: Literal["pt"], *, iterations: int = 1000, **knobs: Unpack[PTKnobs]) -> Trainer: ...
@overload
def make_trainer(name: Literal["ucd"], *, iterations: int = 1000, **knobs: Unpack[UCDKnobs]) -> Trainer: ...
@overload
def make_trainer(name: AnyTrainer, *, iterations: int = 1000, **knobs: Unpack[_CommonKnobs]) -> Trainer: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["cd"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[CDKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["exact"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[ExactKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["fpcd"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[FPCDKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["herding"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[HerdingKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["pcd"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[PCDKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["polish"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[PolishKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["pop_cd"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[PopCDKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["pt"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[PTKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: Literal["ucd"],
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[UCDKnobs],
) -> Model: ...
@overload
def fit(
    x: AnyData,
    trainer: AnyTrainer = ...,
    n_hidden: int | None = None,
    iterations: int = 5000,
    seed: Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = ...,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Unpack[_CommonKnobs],
) -> Model: ...
