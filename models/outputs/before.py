"""Answers of models from before Transformers: judgements and how each read, translations, and the cells of an LSTM."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from models.outputs.base import Prediction, TaskOutput, Token
from models.outputs.encoders import SentimentOutput
from models.wording import Sentence

POSITIVE: str = Sentence("positive")
NEGATIVE: str = Sentence("negative")


@dataclass(frozen=True)
class GenerationRow:
    """One model's probability that a text is positive, and the same for the changed text, if one was given.

    `year` and `paper` are those of its idea, `accuracy` is in percent on sst2's development sentences, `None` for a
    checkpoint that was not measured on them.
    """

    key: str
    name: str
    year: int
    paper: str
    parameters: int
    accuracy: float | None
    positive: float
    changed_positive: float | None = None

    @property
    def label(self) -> str:
        """The likelier of the two labels."""
        return POSITIVE if self.positive > 0.5 else NEGATIVE

    @property
    def changed_label(self) -> str | None:
        """The likelier label of the changed text, where there is one."""
        return None if self.changed_positive is None else POSITIVE if self.changed_positive > 0.5 else NEGATIVE

    @property
    def changes_its_mind(self) -> bool:
        """Whether the two texts are judged differently."""
        return self.changed_label not in (None, self.label)


@dataclass(frozen=True)
class GenerationsOutput(SentimentOutput):
    """The answer of every generation in `rows`, the Transformer last, whose `label` and `scores` these are.

    `unknown` are the words that the models taught by sst2 alone do not know.
    """

    rows: tuple[GenerationRow, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """What one part of a model, or of the text, adds to the log-odds of its answer."""

    text: str
    adds: float


@dataclass(frozen=True, eq=False)
class Strip:
    """Numbers inside a model, `[word, unit]`; of a whole text they are one row."""

    name: str
    rows: NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """How the model called `key` read a text: the log-odds of its answer are `bias` and what the `parts` add."""

    key: str
    bias: float
    parts: tuple[Part, ...]
    strips: tuple[Strip, ...]

    @property
    def log_odds(self) -> float:
        """The natural logarithm of the odds that the text praises."""
        return self.bias + sum(part.adds for part in self.parts)

    @property
    def course(self) -> tuple[float, ...]:
        """The log-odds after each of the parts."""
        return tuple(accumulate((part.adds for part in self.parts), initial=self.bias))[1:]


@dataclass(frozen=True)
class Reach:
    """For each word of a text the length of the gradient of a model's log-odds with respect to the word's vector."""

    key: str
    lengths: tuple[float, ...]


@dataclass(frozen=True)
class GenerationsReading:
    """How each generation read a text of `words`, and how far back the answer's gradient reaches in some.

    `untrained` is the same for the recurrent models before training, with random weights.
    """

    words: tuple[str, ...]
    readings: tuple[Reading, ...]
    reaches: tuple[Reach, ...]
    untrained: tuple[Reach, ...]


@dataclass(frozen=True)
class EarlyTranslation:
    """What one translator wrote: its `key`, its name, when and where its idea was published, and what it wrote.

    `bleu` was measured on captions; `alignment` has for each written token the weights of the source's tokens, and no
    rows for the translator without attention; `repeated` are the spans `(start, end)` of `text` that say again what it
    has just said.
    """

    key: str
    name: str
    year: int
    paper: str
    parameters: int
    bleu: float
    text: str
    tokens: tuple[Token, ...]
    alignment: tuple[tuple[float, ...], ...]
    repeated: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TranslatorsOutput(TaskOutput):
    """A sentence through translators from before Transformers, and through the Transformer, whose row is the last.

    The weights in its row are those of cross-attention in one `head` of one `layer`, both counted from 0.
    """

    rows: tuple[EarlyTranslation, ...]
    layer: int
    head: int


@dataclass(frozen=True)
class WatchedCell:
    """One cell of an LSTM and its `states`, tanh of the cell from -1 to 1, after each character of a text.

    `watches` names what it goes along with over text kept out of training, with their `correlation`; a cell
    without a name has neither.
    """

    cell: int
    watches: str
    correlation: float | None
    states: tuple[float, ...]


@dataclass(frozen=True)
class CellsOutput(TaskOutput):
    """What cells of a character model held while it read a text, which it saw as `read`, and what it foresaw.

    `unknown` are the characters that it does not know; `guesses` are the likeliest characters after each one.
    """

    model: str
    read: str
    unknown: tuple[str, ...]
    cells: tuple[WatchedCell, ...]
    guesses: tuple[tuple[Prediction, ...], ...]
