"""A row for a machine that is not ours alone: how much later answers come while another program keeps a core busy."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.inputs import INPUTS
from benchmarks.work import Sides, Work, milliseconds
from models.engine.choice import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import find

ROUNDS = 8
SETTLE_S = 1.0
"""Every visitor but the first comes while the other program has been busy for a while."""


def beside_a_busy_process() -> Sides:
    """The 95th percentile of all five tasks' times on a quiet machine, and with one core taken by another process."""
    store = ModelStore(engine=DEFAULT_SETTINGS)
    models = {task: store.load(find(task)) for task in INPUTS}

    def slowest_ms() -> float:
        """The 95th percentile; the first second is not counted."""
        settled = time.monotonic() + SETTLE_S
        while time.monotonic() < settled:
            models["sentiment"](**INPUTS["sentiment"])
        times = [
            milliseconds(lambda task=task: models[task](**INPUTS[task]))  # type: ignore[misc]
            for _ in range(ROUNDS)
            for task in models
        ]
        return float(np.quantile(times, 0.95))

    while True:
        idle = slowest_ms()
        with busy_process():
            yield idle, slowest_ms()


@contextmanager
def busy_process() -> Iterator[None]:
    """A program that keeps one core busy and wants nothing else."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


WORKS = (Work("p95 beside a busy process", "ms", 2.0, beside_a_busy_process, runs=15),)
