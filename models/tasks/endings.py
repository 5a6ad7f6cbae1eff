"""Multiple choice: a beginning and a few endings, ranked by two models (the task of SWAG; Zellers et al., 2018).

Next sentence prediction gives the probability that an ending comes next (Devlin et al., 2019, section 3.1); a
completion model gives the likelihood of its words after the beginning.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from models.decoding.sampling import log_softmax
from models.engine import Ids, Logits
from models.outputs.attention import Attentions
from models.outputs.base import Token
from models.outputs.encoders import Ending, EndingsOutput
from models.registry import Task
from models.tasks.base import TaskModel, padded, require, require_text
from models.tasks.sentence_pair import read_pair, shares
from models.tasks.text_generation import TextGeneration
from models.text.tokenizer import Encoding
from models.wording import Sentence

LEAST_ENDINGS, MOST_ENDINGS = 2, 4
_NOT_SO_MANY = Sentence("There must be {fewest} to {most} endings.")
_TOO_LONG = Sentence(
    "For the completion model a text of both is {length:,} tokens, and this model reads at most {window:,} at once "
    "here. Please shorten it."
)


@dataclass(frozen=True)
class EndingsInput:
    """A beginning and the endings to choose among."""

    beginning: str
    endings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class EncodedEndings:
    """The pairs of the beginning and each ending, `[ending, token]`, and their tokens without padding.

    `written` holds for each ending the completion model's ids `[1, token]` of both, and how many of them are the
    ending's.
    """

    pairs: dict[str, Ids]
    tokens: tuple[tuple[Token, ...], ...]
    written: tuple[tuple[Ids, int], ...]


class Endings(TaskModel[EndingsInput, EncodedEndings, tuple[Logits, NDArray[np.float64]], EndingsOutput]):
    """A checkpoint for sentence pairs, together with a completion model, the `writer`."""

    inputs_type = EndingsInput
    asks: ClassVar = {"writer": Task.COMPLETION}
    writer: TextGeneration

    def preprocess(self, inputs: EndingsInput) -> EncodedEndings:
        """Encode for both models; raises `InputError` for a wrong number of endings and an empty or too long text."""
        beginning, endings = require_text(inputs.beginning, "beginning", Sentence("The beginning")), inputs.endings
        fewest, most = LEAST_ENDINGS, MOST_ENDINGS
        require(fewest <= len(endings) <= most, "endings", _NOT_SO_MANY, fewest=fewest, most=most)
        read = [self._pair(beginning, ending, number) for number, ending in enumerate(endings, start=1)]
        return EncodedEndings(
            padded([pair for pair, _ in read], self.tokenizer.settings),
            tuple(tokens for _, tokens in read),
            tuple(self._written(beginning, ending) for ending in endings),
        )

    def _pair(self, beginning: str, ending: str, number: int) -> tuple[Encoding, tuple[Token, ...]]:
        require_text(ending, "endings", Sentence("Ending {number}", number=number))
        return read_pair(self, (beginning, ending), ("beginning", "endings"))

    def _written(self, beginning: str, ending: str) -> tuple[Ids, int]:
        """The completion model's ids `[1, token]` of both texts, and how many of them are the ending's."""
        writer = self.writer
        first = writer.preprocess(writer.inputs_type(beginning.rstrip(), max_new_tokens=1)).ids[0].tolist()
        # Pieces that begin a word include the space before it.
        own = writer.tokenizer.encode(f" {ending.strip()}", special=False).ids
        writer.require_window(len(first) + len(own), "endings", _TOO_LONG)
        return np.array([first + own], np.int64), len(own)

    def forward(self, encoded: EncodedEndings) -> tuple[Logits, NDArray[np.float64]]:
        """The pair model's logits `[ending, label]`, and each ending's mean log-probability by the completion model."""
        logits, _ = self.engine.encode(encoded.pairs)
        return logits, np.array([self._log_probability(ids, own) for ids, own in encoded.written])

    def _log_probability(self, ids: Ids, own: int) -> float:
        """The mean natural log-probability of the last `own` of `ids`, each given those before it."""
        logs = log_softmax(self.writer.logits(ids[:, :-1])[-own:].astype(np.float64))
        return float(np.take_along_axis(logs, ids[0, -own:, None], axis=-1).mean())

    def postprocess(
        self, inputs: EndingsInput, encoded: EncodedEndings, raw: tuple[Logits, NDArray[np.float64]]
    ) -> EndingsOutput:
        """Rank the endings by both models; of equal endings the first comes first."""
        logits, likely = raw
        follows = np.array([shares(row, self.settings)[0][0] for row in logits])
        order, other = ((-each).argsort(kind="stable").tolist() for each in (follows, likely))
        endings = tuple(map(Ending, inputs.endings, follows.tolist(), likely.tolist()))
        writer = self.writer.identity
        return EndingsOutput(self.identity, encoded.tokens[order[0]], endings, tuple(order), tuple(other), writer)

    def attend(self, inputs: EndingsInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the beginning and the ending that is likeliest to come next."""
        pair, tokens = self._pair(inputs.beginning, self.likeliest(inputs), 1)
        return self.attend_encoder(tokens, padded([pair], self.tokenizer.settings))

    def likeliest(self, inputs: EndingsInput) -> str:
        """The ending that is likeliest to come next."""
        return inputs.endings[self.answer(inputs).by_follows[0]]
