"""Names: an encoder that labels every token (BERT fine-tuned for CoNLL-2003; Devlin et al., 2019, section 5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.engine import Ids, Logits
from models.outputs.attention import Attentions
from models.outputs.base import Token, softmax
from models.outputs.encoders import OUTSIDE, Name, NamesOutput, TokenLabel
from models.tasks.base import TaskModel
from models.text.characters import without_spaces
from models.text.words import words_of
from models.wording import Sentence

PERSON, ORGANISATION, PLACE, OTHER = Sentence("person"), Sentence("organisation"), Sentence("place"), Sentence("other")
KINDS = {
    "per": PERSON, "person": PERSON,
    "org": ORGANISATION, "organization": ORGANISATION, "organisation": ORGANISATION,
    "loc": PLACE, "location": PLACE, "gpe": PLACE, "place": PLACE,
}  # fmt: skip
"""The kinds of names by what checkpoints call them; every other kind is `other`."""

CONTINUES = "X"
"""The label of a token that continues a word: its first piece alone is judged."""

_WINDOW_TOKENS = 512
_OVERLAP_TOKENS = 128
# The decimals of probabilities: the likeliest classes differ in the first ones, and a long text has thousands.
_DECIMALS = 6


def class_of(label: str) -> str:
    """A checkpoint's `label` (`B-PER`, `i-org`, `O`) in the names used here: `B-person`, `I-organisation`, `O`.

    A label without a prefix counts as `I-`; of the scheme BIOES, `S-` begins a name and `E-` continues one.
    """
    prefix, _, kind = label.lower().rpartition("-")
    if kind == OUTSIDE.lower():
        return OUTSIDE
    return f"{'B' if prefix in ('b', 's') else 'I'}-{KINDS.get(kind, OTHER)}"


def spans_of(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The names in the labels of words: the kind, first place and end (exclusive) of each.

    This is seqeval's definition: an `I-` after `O` or after another kind opens a name, as `B-` always does.
    """
    spans, kind, first = [], "", 0
    for place, label in enumerate([*labels, OUTSIDE]):
        prefix, _, own = label.partition("-")
        if kind and (prefix != "I" or own != kind):
            spans.append((kind, first, place))
            kind = ""
        if not kind and prefix != OUTSIDE:
            kind, first = own, place
    return spans


@dataclass(frozen=True)
class TokenClassificationInput:
    """A text with names in it."""

    text: str


@dataclass(frozen=True, eq=False)
class EncodedText:
    """A text in windows of the same length: `ids` is `[window, token]`; `tokens` are those of the whole text.

    `starts` are the places in `tokens` where each window's own tokens begin; `before` and `after` are the numbers of
    special tokens around the text, which every window has.
    """

    ids: Ids
    tokens: tuple[Token, ...]
    starts: NDArray[np.int64]
    before: int
    after: int

    @property
    def read_in(self) -> NDArray[np.int64]:
        """For each token but the special ones around the text, the window where it stands furthest from an edge."""
        places = np.arange(self.before, len(self.tokens) - self.after)
        starts = self.starts[:, None]
        ends = starts + self.ids.shape[1] - self.before - self.after
        # The beginning and end of the text itself are no edges: nothing is cut off there.
        left = np.where(starts == self.before, len(self.tokens), places - starts)
        right = np.where(ends == places[-1] + 1, len(self.tokens), ends - 1 - places)
        inside = (places >= starts) & (places < ends)
        return np.asarray(np.where(inside, np.minimum(left, right), -1).argmax(axis=0))

    def tokens_of(self, window: int) -> tuple[Token, ...]:
        """The tokens of a window, its special ones included."""
        start, own = int(self.starts[window]), self.ids.shape[1] - self.before - self.after
        return (*self.tokens[: self.before], *self.tokens[start : start + own], *self.tokens[len(self) :])

    def __len__(self) -> int:
        """The number of tokens before the special ones at the end."""
        return len(self.tokens) - self.after

    def window_of(self, character: int) -> int:
        """The window that the token at this character of the text is read in."""
        own = self.tokens[self.before : len(self)]
        found = (place for place, token in enumerate(own) if token.start <= character < token.end)
        return int(self.read_in[next(found, 0)])


class TokenClassification(TaskModel[TokenClassificationInput, EncodedText, Logits, NamesOutput]):
    """A token classifier that finds names, and reads a long text in overlapping windows."""

    inputs_type = TokenClassificationInput

    def preprocess(self, inputs: TokenClassificationInput) -> EncodedText:
        """Tokenize the text and split it into windows; raises `InputError` if it is empty."""
        encoded, tokens = self.read_text(inputs.text)
        own = [place for place, part in enumerate(encoded.parts) if part is not None]
        before, end = own[0], own[-1] + 1
        after = len(tokens) - end
        size = min(_WINDOW_TOKENS, self.settings.window) - before - after
        overlap = min(_OVERLAP_TOKENS, size // 4)
        last = max(before, end - size)
        starts = [*range(before, last, size - overlap), last]
        ids = encoded.ids
        rows = [[*ids[:before], *ids[start : min(end, start + size)], *ids[end:]] for start in starts]
        return EncodedText(np.array(rows, np.int64), tokens, np.array(starts), before, after)

    def forward(self, encoded: EncodedText) -> Logits:
        """The logits `[token, label]` of the tokens but the special ones around the text."""
        (logits,) = self.engine.encode({"input_ids": encoded.ids})
        windows = encoded.read_in
        places = np.arange(encoded.before, len(encoded)) - encoded.starts[windows] + encoded.before
        return np.asarray(logits[windows, places])

    @property
    def classes(self) -> tuple[str, ...]:
        """The different classes that `class_of` makes of the checkpoint's labels, in its order."""
        return tuple(dict.fromkeys(map(class_of, self.settings.labels)))

    def postprocess(self, inputs: TokenClassificationInput, encoded: EncodedText, raw: Logits) -> NamesOutput:
        """Label each word by its first token, and join words that `spans_of` finds to be one name."""
        classes = self.classes
        shares = np.zeros((len(raw), len(classes)))
        for number, label in enumerate(self.settings.labels):
            shares[:, classes.index(class_of(label))] += softmax(raw.astype(np.float64))[:, number]
        own = encoded.tokens[encoded.before : len(encoded)]
        words = words_of(own)
        spans = [without_spaces(inputs.text, (own[word[0]].start, own[word[-1]].end)) for word in words]
        # A token may be only a space; it has no label.
        best = [
            int(shares[word[0]].argmax()) if start < end else -1
            for word, (start, end) in zip(words, spans, strict=True)
        ]
        labels = [
            TokenLabel(
                own[place],
                inputs.text[slice(*span)],
                classes[chosen] if place == word[0] and chosen >= 0 else CONTINUES,
                tuple(shares[place].round(_DECIMALS).tolist()),
            )
            for word, span, chosen in zip(words, spans, best, strict=True)
            for place in word
        ]
        judged = [number for number, chosen in enumerate(best) if chosen >= 0]
        entities = []
        for kind, first, end in spans_of([classes[best[number]] for number in judged]):
            start, stop = spans[judged[first]][0], spans[judged[end - 1]][1]
            score = min(float(shares[words[number][0], best[number]]) for number in judged[first:end])
            entities.append(Name(inputs.text[start:stop], kind, score, start, stop))
        window = encoded.window_of(entities[0].start) if entities else 0
        return NamesOutput(
            self.identity, encoded.tokens_of(window), tuple(entities), classes, tuple(labels), len(encoded.ids)
        )

    def attend(self, inputs: TokenClassificationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the window that holds the first name."""
        encoded = self.preprocess(inputs)
        window = 0
        if len(encoded.ids) > 1:
            found = self.postprocess(inputs, encoded, self.forward(encoded)).entities
            window = encoded.window_of(found[0].start) if found else 0
        return self.attend_encoder(encoded.tokens_of(window), {"input_ids": encoded.ids[window : window + 1]})
