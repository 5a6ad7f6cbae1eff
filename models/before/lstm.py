"""An LSTM in NumPy, so that answers need no torch."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]


def lstm_step(mixed: Numbers, cell: Numbers) -> tuple[Numbers, Numbers]:
    """The hidden state and the cell, each `[…, cell]`, after one step (Hochreiter and Schmidhuber, 1997).

    `mixed` is W x + U h + b, `[…, 4 × cell]`, for input gate, forget gate, candidate and output gate, as torch orders
    them: c = σ(f) · c + σ(i) · tanh(g), h = σ(o) · tanh(c).
    """
    entering, forgetting, candidate, leaving = np.split(mixed, 4, axis=-1)
    cell = sigmoid(forgetting) * cell + sigmoid(entering) * np.tanh(candidate)
    return sigmoid(leaving) * np.tanh(cell), cell


def sigmoid(values: Numbers) -> Numbers:
    """The sigmoid 1 / (1 + exp(-x)), by tanh, since exp(-x) overflows for x far below zero."""
    return np.asarray((np.tanh(values / 2) + 1) / 2)
