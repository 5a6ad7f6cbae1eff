"""Character language models: LSTMs that predict the next character, one of prose and one of Python source.

They run in NumPy, a thousand characters in a fraction of a second, so that torch is not imported.
"""

import hashlib
import json
import string
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from models.before.lstm import lstm_step

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "characters"
FIGURES = "figures.json"
PROSE, CODE = "prose", "code"
MODELS = (PROSE, CODE)

ALPHABET = "\n" + string.digits + string.ascii_letters + string.punctuation + " "
"""The characters that the models know; `UNKNOWN` stands for every other one, and its id is the last."""

UNKNOWN = "\ufffd"
LINE = 70
"""The model of prose was trained on lines broken at this many characters, as in a printed book."""

_IDS = {character: place for place, character in enumerate(ALPHABET)}
_PLAIN = str.maketrans({
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "…": "...", "–": "-", "—": "--", "\t": "    ", "\r": None,
})  # fmt: skip


def as_read(text: str, model: str) -> str:
    """`text` as `model` reads it: ASCII quotes and dashes, `UNKNOWN` for unknown characters, prose in lines."""
    known = "".join(each if each in _IDS else UNKNOWN for each in text.translate(_PLAIN))
    return "\n".join(map(in_lines, known.split("\n"))) if model == PROSE else known


def in_lines(paragraph: str) -> str:
    """`paragraph` with a line break in place of a space wherever a line would be longer than `LINE`."""
    lines = []
    while len(paragraph) > LINE:
        end = paragraph.rfind(" ", 1, LINE + 1)
        if end < 0 and (end := paragraph.find(" ", LINE)) < 0:
            break
        lines.append(paragraph[:end])
        paragraph = paragraph[end + 1 :]
    return "\n".join([*lines, paragraph])


def unknown_in(text: str) -> tuple[str, ...]:
    """The characters of `text` that the models do not know, each once."""
    return tuple(dict.fromkeys(each for each in text.translate(_PLAIN) if each not in _IDS))


def ids_of(read: str) -> NDArray[np.int64]:
    """The id of each character of a text `as_read`."""
    return np.array([_IDS.get(each, len(ALPHABET)) for each in read], np.int64)


@dataclass(frozen=True, eq=False)
class CharacterModel:
    """An LSTM over characters: its weights in float32, by torch's names of the parameters.

    `revision` is the first 12 hexadecimal digits of the sha256 of their file.
    """

    weights: dict[str, NDArray[np.float32]]
    revision: str

    @property
    def cells(self) -> int:
        """The number of cells of the LSTM."""
        return int(self.weights["cell.weight_hh_l0"].shape[1])

    def read(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """For each of `ids` `[character, …]`, tanh of each cell `[character, …, cell]`, and the next one's logits."""
        weights, size = self.weights, self.cells
        into = weights["vectors.weight"] @ weights["cell.weight_ih_l0"].T
        into += weights["cell.bias_ih_l0"] + weights["cell.bias_hh_l0"]
        again = np.ascontiguousarray(weights["cell.weight_hh_l0"].T)
        # BLAS would share the small product of a single text among threads, which wait for each other on a busy host.
        product = np.matmul if ids.ndim > 1 else partial(np.einsum, "h,hg->g")
        cells, states = (np.zeros((*ids.shape, size), np.float32) for _ in range(2))
        cell = state = np.zeros((*ids.shape[1:], size), np.float32)
        for place, each in enumerate(ids):
            state, cell = lstm_step(into[each] + product(state, again), cell)
            states[place], cells[place] = state, np.tanh(cell)
        logits: NDArray[np.float32] = states @ weights["guess.weight"].T + weights["guess.bias"]
        return cells, logits


def file_of(model: str, folder: Path = FOLDER) -> Path:
    """The file of weights of the model called `model`."""
    return folder / f"{model}.safetensors"


@cache
def load(model: str, folder: Path = FOLDER) -> CharacterModel:
    """Load the model called `model`."""
    file = file_of(model, folder)
    weights = {name: each.astype(np.float32) for name, each in load_file(file).items()}
    return CharacterModel(weights, hashlib.sha256(file.read_bytes()).hexdigest()[:12])


@cache
def figures(folder: Path = FOLDER) -> dict[str, Any]:
    """The measurements of `training/characters.py` by model: `bits_per_character`, and the `named` cells."""
    return dict(json.loads((folder / FIGURES).read_text(encoding="utf-8")))
