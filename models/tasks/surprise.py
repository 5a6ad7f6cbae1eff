"""Surprise: the probability that language models give each token of a text.

A causal model predicts every token from those before it; the tokens are coloured by their ranks as in GLTR (Gehrmann et
al., 2019). A masked model predicts every token with only that one masked (Salazar et al., 2020).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from models.decoding.sampling import best, log_softmax
from models.engine import Ids
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token
from models.outputs.surprise import MeasuredText, PseudoPerplexity, SurpriseOutput, TokenSurprise
from models.registry import Task
from models.tasks.base import (
    THE_TEXT,
    AnyTaskModel,
    TaskModel,
    batch_of_one,
    require,
    require_text,
    require_tokens,
)
from models.tasks.fill_mask import FillMask
from models.text.tokenizer import read_tokens, readable
from models.wording import Sentence

RATHER = 3
"""The number of tokens to name that the model found likeliest."""

LONGEST_PSEUDO = 64
"""The longest text, in tokens, for the masked model, which reads the text once for each of them."""

_ONE_TOKEN = Sentence(
    "{name} is one token, which this model has nothing to foresee by: it has no start token. Please write more."
)
_ROWS_AT_ONCE = 16
# GPT-2's scores for this many tokens are 13 MB.
_TOKENS_AT_ONCE = 64


@dataclass(frozen=True)
class SurpriseInput:
    """A text, and another to compare it with, which may be empty."""

    text: str
    other: str = ""


@dataclass(frozen=True)
class ReadText:
    """A text and its tokens as the model reads them, the start token in front where it has one."""

    text: str
    tokens: tuple[Token, ...]


class Surprise(TaskModel[SurpriseInput, tuple[ReadText, ...], tuple[MeasuredText, ...], SurpriseOutput]):
    """A causal model that reads instead of writing, together with a masked one, `masked`.

    It reads one text, or two to compare the first with the second.
    """

    inputs_type = SurpriseInput
    asks: ClassVar = {"masked": Task.FILL_MASK}
    masked: FillMask

    def preprocess(self, inputs: SurpriseInput) -> tuple[ReadText, ...]:
        """Tokenize the texts; raises `InputError` for an empty text and one without a token that can be counted."""
        require(isinstance(inputs.other, str), "other", Sentence("The other text must be text."))
        text = read(self, inputs.text)
        if not inputs.other.strip():
            return (text,)
        return text, read(self, inputs.other, "other", Sentence("The other text"))

    def forward(self, encoded: tuple[ReadText, ...]) -> tuple[MeasuredText, ...]:
        """Run both models over each text."""
        return tuple(MeasuredText(foreseen(self, each.tokens), self._pseudo_perplexity(each.text)) for each in encoded)

    def postprocess(
        self, inputs: SurpriseInput, encoded: tuple[ReadText, ...], raw: tuple[MeasuredText, ...]
    ) -> SurpriseOutput:
        """Combine the measured texts with the start token, the window and the masked model that they depend on."""
        text, other, tokens = raw[0], raw[1] if len(raw) > 1 else None, encoded[0].tokens
        start = "" if self.tokenizer.settings.bos_token_id is None else tokens[0].text
        return SurpriseOutput(self.identity, tokens, text, other, start, self.settings.window, self.masked.identity)

    def attend(self, inputs: SurpriseInput, written: tuple[int, ...] = ()) -> Attentions:
        """The masked self-attention over the first window of the text."""
        return attend_to(self, read(self, inputs.text))

    def _pseudo_perplexity(self, text: str) -> PseudoPerplexity | None:
        """The pseudo-perplexity over the masked model's own tokens; None if the text has none, or too many."""
        masked, special = self.masked, self.masked.tokenizer.all_special_ids
        mask_id = masked.tokenizer.settings.mask_token_id
        assert mask_id is not None  # noqa: S101
        ids = np.array(masked.tokenizer.encode(text).ids, np.int64)
        places = [place for place, token_id in enumerate(ids.tolist()) if token_id not in special]
        if not 1 <= len(places) <= min(LONGEST_PSEUDO, masked.settings.window - 2):
            return None
        bits = 0.0
        for first in range(0, len(places), _ROWS_AT_ONCE):
            chosen = places[first : first + _ROWS_AT_ONCE]
            rows = np.tile(ids, (len(chosen), 1))
            rows[range(len(chosen)), chosen] = mask_id
            (logits,) = masked.engine.encode(
                {"input_ids": rows}, [row * len(ids) + place for row, place in enumerate(chosen)]
            )
            logs = log_softmax(logits)[range(len(chosen)), ids[chosen]]
            bits -= float(logs.sum(dtype=np.float64)) / math.log(2)
        return PseudoPerplexity(2 ** (bits / len(places)), len(places))


def read(model: AnyTaskModel, text: str, field: str = "text", name: str = THE_TEXT) -> ReadText:
    """The tokens of `text`; raises `InputError` where it is empty or none of them can be counted."""
    _, tokens = model.tokenizer.read(require_text(text, field, name), special=False)
    require_tokens(tokens, field, name)
    start = model.tokenizer.settings.bos_token_id
    require(start is not None or len(tokens) > 1, field, _ONE_TOKEN, name=name)
    return ReadText(text, tokens if start is None else (*read_tokens(model.tokenizer, [start]), *tokens))


def attend_to(model: AnyTaskModel, text: ReadText) -> Attentions:
    """The masked self-attention over the first window of the text."""
    return model.attend_decoder(text.tokens[: model.settings.window])


def foreseen(model: AnyTaskModel, tokens: tuple[Token, ...]) -> tuple[TokenSurprise, ...]:
    """The surprise of every token but the first, in windows that overlap by half.

    Each window predicts one token more than it reads. All predictions of the first window count; of the others only the
    half that is new, so that a token has at least half a window before it.
    """
    ids = batch_of_one([token.id for token in tokens])
    window, count = model.settings.window, ids.shape[1]
    half, found = window // 2, list[TokenSurprise]()
    for at in range(0, max(1, count - 1 - half), half):
        known = ids[:, at : at + window + 1]
        found += _window(model, known, tokens, at, 0 if at == 0 else half)
    return tuple(found)


def _window(model: AnyTaskModel, ids: Ids, tokens: tuple[Token, ...], at: int, skipped: int) -> list[TokenSurprise]:
    """The surprise of `ids` `[1, token]`, which begin at token `at`, without the first `skipped + 1` of them."""
    text, found = model.engine.start(), list[TokenSurprise]()
    last = ids.shape[1] - 1
    for first in range(0, last, _TOKENS_AT_ONCE):
        chunk = ids[:, first : min(first + _TOKENS_AT_ONCE, last)]
        logits = text.read(chunk, chunk.shape[1])
        for place, scores in enumerate(logits, start=first):
            if place >= skipped:
                found.append(_surprise(model, tokens[at + place + 1], scores, place + 1))
    return found


def _surprise(model: AnyTaskModel, token: Token, scores: np.ndarray, context: int) -> TokenSurprise:
    """The surprise of `token` by the `scores` `[vocabulary]` of the token after the first `context` ones."""
    logs = log_softmax(scores)
    log_probability = float(logs[token.id])
    rather = tuple(
        Prediction(readable(model.tokenizer, int(each)), math.exp(logs[each])) for each in best(logs, RATHER)
    )
    rank = int((logs > logs[token.id]).sum()) + 1
    return TokenSurprise(token, math.exp(log_probability), rank, -log_probability / math.log(2), context, rather)
