"""Compiling every kernel of a run before somebody waits for it."""

import time

import numpy as np

from rbmviz.coupling import PairStream
from rbmviz.datasets import Dataset
from rbmviz.kernels.batch import correlate
from rbmviz.metrics import ISL, Coverage, ais_log_z
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import list_samplers, make_sampler, sample
from rbmviz.trainers import list_trainers, make_trainer


def warm_up() -> float:
    """Run every sampler, trainer, coupling and live metric once on a toy model; return the seconds it took.

    Compiled kernels go into the cache folder, so only the first call on a machine takes long.
    """
    begin = time.perf_counter()
    rbm = RBM(np.zeros((4, 3)), np.zeros(4), np.zeros(3))
    rows = np.eye(4, dtype=np.uint8)
    model = Model(rbm, rbm.rates(rows))
    for name in list_samplers():
        v = sample(model, make_sampler(name), 2).v
    sample(model, make_sampler("rates_fpcd", statistics="mean", n_chains=2, share=True), 2)
    ISL(rows, rows).update(v).value()
    Coverage(
        Dataset("toy", rows, rows, rows, "", "", train_labels=np.arange(4), classes=tuple("abcd"))
    ).update(v)
    ais_log_z(rbm, n_chains=2, betas=3)
    correlate(np.eye(256, dtype=np.float32), np.zeros((256, 256), np.float32))  # toys are too small for it
    for name in list_trainers():
        trainer = make_trainer(name, batch_size=2)
        trainer.step(trainer.init(rbm, rows, 0), 1)
    PairStream(rbm, lambda block: rows, "rbm", 3).advance(1)
    return time.perf_counter() - begin
