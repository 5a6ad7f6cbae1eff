"""The states of single cells of a character LSTM over a text (Karpathy, Johnson and Fei-Fei, 2015)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from models.before import characters
from models.decoding.sampling import best
from models.outputs.base import LoadedCheckpoint, Prediction, softmax
from models.outputs.before import CellsOutput, WatchedCell
from models.registry import Checkpoint
from models.tasks.base import require, require_text
from models.wording import Sentence

LONGEST, GUESSES = 1_000, 3
"""The most characters of a text, and the number of guesses of each next character."""

MOST_CELLS = 20
"""The most cells that may be asked for besides the named ones."""

_TOO_LONG = Sentence("The text is {length:,} characters long, and at most {most:,} are read here. Please shorten it.")
_NO_MODEL = Sentence("The model must be {one} or {other}.")
_NO_CELLS = Sentence("The cells must be at most {most} numbers from 0 to {last}.")


@dataclass(frozen=True)
class CellsInput:
    """A text, the model that reads it, `prose` or `code`, and the numbers of cells to see besides the named ones."""

    text: str
    model: str = characters.PROSE
    cells: tuple[int, ...] = ()


class Cells:
    """Both character models. They answer like a `TaskModel`, but have no tokenizer, no attention and no torch."""

    inputs_type: ClassVar[type] = CellsInput
    held_bytes: ClassVar[int] = 0
    """Zero, because the models are small and always stay in memory."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def __call__(self, **fields: Any) -> CellsOutput:
        """The answer to one input; raises `InputError` when the visitor can mend it."""
        return self.answer(CellsInput(**fields))

    def answer(self, inputs: CellsInput) -> CellsOutput:
        """Return the states of the named cells and of the requested ones after each character; raises `InputError`."""
        text, (one, other) = require_text(inputs.text), characters.MODELS
        require(len(text) <= LONGEST, "text", _TOO_LONG, length=len(text), most=LONGEST)
        require(inputs.model in (one, other), "model", _NO_MODEL, one=one, other=other)
        model, read = characters.load(inputs.model), characters.as_read(text, inputs.model)
        there = len(inputs.cells) <= MOST_CELLS and all(0 <= each < model.cells for each in inputs.cells)
        require(there, "cells", _NO_CELLS, most=MOST_CELLS, last=model.cells - 1)
        cells, logits = model.read(characters.ids_of(read))
        found = characters.figures()[inputs.model]["named"]
        named = [(each["cell"], each["watches"], each["correlation"]) for each in found]
        known = {cell for cell, _, _ in named}
        asked = [*named, *((cell, "", None) for cell in dict.fromkeys(inputs.cells) if cell not in known)]
        watched = (WatchedCell(*each, tuple(np.round(cells[:, each[0]].astype(float), 4).tolist())) for each in asked)
        guesses = tuple(
            tuple(Prediction(_spelt(place), round(float(row[place]), 4)) for place in best(row, GUESSES))
            for row in softmax(logits)
        )
        own = self.checkpoint
        identity = LoadedCheckpoint(own.name, model.revision, own.license, engine="numpy")
        return CellsOutput(identity, (), inputs.model, read, characters.unknown_in(text), tuple(watched), guesses)


def _spelt(place: int) -> str:
    return characters.ALPHABET[place] if place < len(characters.ALPHABET) else characters.UNKNOWN
