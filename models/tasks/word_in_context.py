"""One word in several sentences: its vectors after every layer (Peters et al., 2018), beside its one static vector."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.decoding.sampling import best
from models.engine import Logits
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token, softmax
from models.outputs.vectors import Occurrence, Plane, WordInContextOutput
from models.tasks.base import TaskModel, batch_of_one, padded_ids, require, require_text
from models.text.characters import inside_words
from models.text.tokenizer import readable
from models.text.word_vectors import word_vectors
from models.wording import Sentence

FEWEST, MOST = 2, 6
"""The fewest and the most sentences."""
NEIGHBOURS, FITTING = 8, 5
_QUOTED = 80

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class WordInContextInput:
    """A word and the sentences that it stands in, one a line."""

    word: str
    sentences: str


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence with the word at characters `start` to `end` (exclusive) and tokens `places`, the first of `times`.

    `masked_ids` are the ids of the sentence with one mask, at place `mask`, instead of the word.
    """

    text: str
    start: int
    end: int
    times: int
    ids: list[int]
    tokens: tuple[Token, ...]
    places: tuple[int, ...]
    masked_ids: list[int]
    mask: int


@dataclass(frozen=True)
class Read:
    """The network's output: the word's `vectors` `[layer, sentence, width]`, and the `logits` `[sentence, vocabulary]`.

    Layer 0 is the input of the first layer; `static` `[width]` is that of the word alone, between special tokens. The
    logits are those at the masks.
    """

    vectors: Vectors
    static: Vectors
    logits: Logits


_ONE_SENTENCE = Sentence("There is 1 sentence: please give {fewest} to {most}, one a line.")
_NOT_SO_MANY = Sentence("There are {count} sentences: please give {fewest} to {most}, one a line.")
_TWICE = Sentence("Sentence {number} is the same as sentence {other}: {sentence}.")
_NOT_THERE = Sentence("The word “{word}” does not stand in sentence {number}: {sentence}.")
_NOT_READ = Sentence("This model reads nothing of the word in sentence {number}: {sentence}.")
_NO_STATIC_VECTOR = Sentence("“{word}” is not among the {count:,} words that have a static vector here.")
_TOO_LONG = Sentence(
    "Sentence {number} has {length:,} tokens, and this model reads at most {window:,} at once here. Please shorten it."
)


class WordInContext(TaskModel[WordInContextInput, tuple[EncodedSentence, ...], Read, WordInContextOutput]):
    """A masked language model that gives its vectors of one word.

    The exact network computes them all, since engines return only logits.
    """

    inputs_type = WordInContextInput

    def preprocess(self, inputs: WordInContextInput) -> tuple[EncodedSentence, ...]:
        """Encode the sentences; raises `InputError` for too few or too many, and one repeated or without the word."""
        word = require_text(inputs.word, "word", Sentence("The word")).strip()
        lines = lines_of(require_text(inputs.sentences, "sentences", Sentence("The list of sentences")))
        count, said = len(lines), _ONE_SENTENCE if len(lines) == 1 else _NOT_SO_MANY
        require(FEWEST <= count <= MOST, "sentences", said, count=count, fewest=FEWEST, most=MOST)
        seen: dict[str, int] = {}
        for number, (sentence, _) in enumerate(lines, start=1):
            other = seen.setdefault(sentence, number)
            require(other == number, "sentences", _TWICE, number=number, other=other, sentence=_quoted(sentence))
        return tuple(self._encode(number, sentence, word) for number, (sentence, _) in enumerate(lines, start=1))

    def forward(self, encoded: tuple[EncodedSentence, ...]) -> Read:
        """Run one pass over the sentences and the word alone, and one over the sentences with the word masked."""
        alone = self.tokenizer.encode(encoded[0].text[encoded[0].start : encoded[0].end]).ids
        content = [place for place, token_id in enumerate(alone) if token_id not in self.tokenizer.all_special_ids]
        settings = self.tokenizer.settings
        output = self.look(padded_ids([*(each.ids for each in encoded), alone], settings), "hidden_states")
        layers = np.stack([each.float().cpu().numpy() for each in output.hidden_states])
        vectors = [layers[:, row, list(each.places)].mean(axis=1) for row, each in enumerate(encoded)]
        static = layers[0, len(encoded), content or [0]].mean(axis=0)
        blanked = padded_ids([each.masked_ids for each in encoded], settings)
        masks = [row * blanked["input_ids"].shape[1] + each.mask for row, each in enumerate(encoded)]
        (logits,) = self.exact.engine.encode(blanked, masks)
        return Read(np.stack(vectors, axis=1), static, logits)

    def postprocess(
        self, inputs: WordInContextInput, encoded: tuple[EncodedSentence, ...], raw: Read
    ) -> WordInContextOutput:
        """Compute the cosines, the planes, and the words that fit."""
        word, occurrences = inputs.word.strip(), []
        for each, probabilities in zip(encoded, softmax(raw.logits), strict=True):
            fitting = tuple(
                Prediction(readable(self.tokenizer, int(place)).strip(), float(probabilities[place]))
                for place in best(probabilities, FITTING)
            )
            occurrences.append(Occurrence(each.text, each.start, each.end, each.times, fitting))
        known = word_vectors()
        neighbours = known.neighbours(word, NEIGHBOURS)
        none = Sentence(_NO_STATIC_VECTOR, word=word, count=len(known.words))
        return WordInContextOutput(
            self.looked_into,
            encoded[0].tokens,
            word,
            tuple(occurrences),
            tuple(tuple(map(tuple, cosines(layer).tolist())) for layer in raw.vectors),
            planes(raw.vectors, raw.static),
            neighbours,
            "" if neighbours else none,
        )

    def attend(self, inputs: WordInContextInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the first sentence."""
        first = self.preprocess(inputs)[0]
        return self.attend_encoder(first.tokens, {"input_ids": batch_of_one(first.ids)})

    def _encode(self, number: int, sentence: str, word: str) -> EncodedSentence:
        """Encode the `number`th of the visitor's sentences; raises `InputError` if it lacks the word or is too long."""
        found, named = find_word(word, sentence), {"number": number, "sentence": _quoted(sentence)}
        require(bool(found), "sentences", _NOT_THERE, word=word, **named)
        start, end = found[0]
        encoded, tokens = self.tokenizer.read(sentence)
        self.require_window(len(encoded.ids), "sentences", _TOO_LONG, number=number)
        places = tuple(place for place, token in enumerate(tokens) if token.start < end and start < token.end)
        mask = str(self.tokenizer.settings.mask_token)
        blanked = self.tokenizer.encode(sentence[:start] + mask + sentence[end:])
        self.require_window(len(blanked.ids), "sentences", _TOO_LONG, number=number)
        masks = [place for place, each in enumerate(blanked.ids) if each == self.tokenizer.settings.mask_token_id]
        before = sentence[:start].count(mask)
        require(bool(places) and len(masks) > before, "sentences", _NOT_READ, **named)
        return EncodedSentence(
            sentence, start, end, len(found), encoded.ids, tokens, places,
            blanked.ids, masks[before],
        )  # fmt: skip


def _quoted(sentence: str) -> str:
    return f"“{sentence}”" if len(sentence) <= _QUOTED else f"“{sentence[:_QUOTED].rstrip()}…”"


def lines_of(text: str) -> list[tuple[str, int]]:
    """The lines that are not empty, without the spaces around them, each with its first character's place in `text`."""
    lines, place = [], 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((line.strip(), place + len(line) - len(line.lstrip())))
        place += len(line) + 1
    return lines


def find_word(word: str, sentence: str) -> list[tuple[int, int]]:
    """The characters of each place where `word` stands in `sentence` as a whole word, whatever its case."""
    inside = inside_words(sentence)
    found = (match.span() for match in re.finditer(re.escape(word), sentence, re.IGNORECASE))
    return [(start, end) for start, end in found if not inside[start] and not inside[end]]


def cosines(vectors: Vectors) -> Vectors:
    """The cosine of each pair of `vectors` `[place, width]`: `[place, place]`, ones on the diagonal."""
    exact = vectors.astype(np.float64)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    found = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2, dtype=np.float32)


def planes(vectors: Vectors, static: Vectors) -> tuple[Plane, ...]:
    """For each layer of `vectors` `[layer, place, width]`, its first two principal components, with `static` `[width]`.

    All vectors are scaled to length one, because a cosine compares only directions. The sign of an axis means nothing,
    so each axis points the way that it did in the layer before.
    """
    found: list[Plane] = []
    before = np.ones((vectors.shape[1] + 1, 2))
    for layer in vectors:
        rows = np.vstack([layer, static]).astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        flat = left[:, :2] * sizes[:2]
        flat *= np.where((flat * before).sum(axis=0) < 0, -1, 1)
        before = flat
        shares = sizes[:2] ** 2 / max(float((sizes**2).sum()), 1e-12)
        *points, alone = ((float(across), float(up)) for across, up in flat)
        found.append(Plane(tuple(points), alone, (float(shares[0]), float(shares[1]))))
    return tuple(found)
