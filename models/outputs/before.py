"""Answers of models from before Transformers: sentiment and its explanation, translations, and the cells of an LSTM."""

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

    `year` and `paper` are those of the model's idea; `accuracy` is in percent on sst2's development sentences, `None`
    for a checkpoint that was not measured on them.
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
    """The answers of all generations as `rows`; `label` and `scores` are those of the Transformer, the last row.

    `unknown` are the words that the models trained on sst2 alone do not know.
    """

    rows: tuple[GenerationRow, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """The contribution of one part of a model, or of the text, to the log-odds of the answer."""

    text: str
    adds: float


@dataclass(frozen=True, eq=False)
class Strip:
    """Activations inside a model, `[word, unit]`; those of a whole text are one row."""

    name: str
    rows: NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """The explanation of one model's answer: the log-odds are the `bias` plus the contributions of the `parts`.

    `key` names the model, and `strips` are its activations.
    """

    key: str
    bias: float
    parts: tuple[Part, ...]
    strips: tuple[Strip, ...]

    @property
    def log_odds(self) -> float:
        """The natural logarithm of the odds that the text is positive."""
        return self.bias + sum(part.adds for part in self.parts)

    @property
    def course(self) -> tuple[float, ...]:
        """The log-odds after each of the parts."""
        return tuple(accumulate((part.adds for part in self.parts), initial=self.bias))[1:]


@dataclass(frozen=True)
class Reach:
    """For each word of a text, the L2 norm of the gradient of a model's log-odds with respect to the word's vector."""

    key: str
    lengths: tuple[float, ...]


@dataclass(frozen=True)
class GenerationsReading:
    """The explanation of each earlier model's answer to a text of `words`, and the gradients' reach in some models.

    `untrained` is the reach in the recurrent models before training, with random weights.
    """

    words: tuple[str, ...]
    readings: tuple[Reading, ...]
    reaches: tuple[Reach, ...]
    untrained: tuple[Reach, ...]


@dataclass(frozen=True)
class EarlyTranslation:
    """The translation by one translator, with its `key`, its name, and when and where its idea was published.

    `bleu` was measured on captions. `alignment` `[target, source]` holds each written token's attention weights over
    the source, and no rows for the translator without attention. `repeated` are the spans `(start, end)` of `text` that
    repeat the words just before them.
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
    """The translations of a sentence by translators from before Transformers and, in the last row, by the Transformer.

    The weights in the last row are the cross-attention of one `head` of one `layer`, both counted from 0.
    """

    rows: tuple[EarlyTranslation, ...]
    layer: int
    head: int


@dataclass(frozen=True)
class WatchedCell:
    """One cell of an LSTM and its `states`, tanh of the cell from -1 to 1, after each character of a text.

    `watches` names a property of the text, and `correlation` is the cell's with it over text kept out of training; a
    cell without a name has neither.
    """

    cell: int
    watches: str
    correlation: float | None
    states: tuple[float, ...]


@dataclass(frozen=True)
class CellsOutput(TaskOutput):
    """The states of a character model's cells over a text, which the model saw as `read`, and its guesses.

    `unknown` are the characters that the model does not know; `guesses` are the likeliest next characters after each
    one.
    """

    model: str
    read: str
    unknown: tuple[str, ...]
    cells: tuple[WatchedCell, ...]
    guesses: tuple[tuple[Prediction, ...], ...]
