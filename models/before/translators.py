"""Translators from before Transformers: LSTM encoder-decoders without attention and with three kinds of it.

They run in NumPy, so that torch is not imported. Their vocabulary is that of the bundled translator.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from models.before.lstm import Numbers, lstm_step
from models.outputs.base import softmax
from models.wording import Sentence

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "translators"
FIGURES = "figures.json"
ONE_VECTOR, ADDITIVE, DOT, BILINEAR = "one_vector", "additive", "dot", "bilinear"


@dataclass(frozen=True)
class TranslatorKind:
    """A kind of translator: its `key` in files and its name, and when and where its idea was published."""

    key: str
    name: str
    year: int
    paper: str


KINDS = (
    TranslatorKind(ONE_VECTOR, Sentence("LSTM, one vector"), 2014, "Sutskever, Vinyals and Le, 2014"),
    TranslatorKind(ADDITIVE, Sentence("LSTM, additive attention"), 2015, "Bahdanau, Cho and Bengio, 2015"),
    TranslatorKind(DOT, Sentence("LSTM, dot attention"), 2015, "Luong, Pham and Manning, 2015"),
    TranslatorKind(BILINEAR, Sentence("LSTM, bilinear attention"), 2015, "Luong, Pham and Manning, 2015"),
)
"""The translators before the Transformer by year of publication, the one without attention first."""

THE_TRANSFORMER = TranslatorKind("transformer", Sentence("Transformer"), 2017, "Vaswani et al., 2017")


@dataclass(frozen=True, eq=False)
class Translated:
    """The `ids` of a translation, and the attention weights of each over the source's tokens, `[written, source]`.

    Without attention `alignment` has no rows.
    """

    ids: tuple[int, ...]
    alignment: Numbers


@dataclass(frozen=True, eq=False)
class EarlyTranslator:
    """A bidirectional LSTM encoder and an LSTM decoder; `key` names the kind of attention between them.

    `weights` are in float32, by the names of the parameters in `training/early_translators.py`.
    """

    key: str
    weights: dict[str, Numbers]

    @property
    def parameters(self) -> int:
        """The number of learned parameters."""
        return sum(each.size for each in self.weights.values())

    def encode(self, source: Sequence[int]) -> tuple[Numbers, Numbers, Numbers]:
        """The states `[token, 2 × half]` of both directions, concatenated, and likewise their last states and cells.

        The decoder starts from the last ones: without attention they are all that it knows of the source.
        """
        vectors = self.weights["vectors.weight"][list(source)]
        ahead, back = (self._run("encoder", suffix, vectors[::way]) for suffix, way in (("", 1), ("_reverse", -1)))
        states = np.concatenate([ahead[0], back[0][::-1]], axis=1)
        state, cell = (np.concatenate([one, other]) for one, other in zip(ahead[1:], back[1:], strict=True))
        return states, state, cell

    def _run(self, layer: str, suffix: str, vectors: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Run one direction over `vectors` `[token, width]`; return every state, and the last state and cell."""
        into, again, bias = self._lstm(layer, suffix)
        state = cell = np.zeros(again.shape[1], np.float32)
        states = []
        for mixed in vectors @ into.T + bias:
            state, cell = lstm_step(mixed + again @ state, cell)
            states.append(state)
        return np.stack(states), state, cell

    def _lstm(self, layer: str, suffix: str = "") -> tuple[Numbers, Numbers, Numbers]:
        into, again, one, other = (
            self.weights[f"{layer}.{name}_l0{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        return into, again, one + other

    def translate(self, source: Sequence[int], start: int, end: int, most: int) -> Translated:
        """Translate `source` by greedy search into at most `most` ids, `end` included; `start` is never written."""
        encoded, state, cell = self.encode(source)
        into, again, bias = self._lstm("decoder")
        vectors, written = self.weights["vectors.weight"], [start]
        rows = []
        while len(written) <= most and (len(written) == 1 or written[-1] != end):
            state, cell = lstm_step(into @ vectors[written[-1]] + again @ state + bias, cell)
            features = state
            if self.key != ONE_VECTOR:
                rows.append(softmax(self.scores(state, encoded)))
                features = np.concatenate([rows[-1] @ encoded, state])
            mixed = np.tanh(self.weights["mix.weight"] @ features + self.weights["mix.bias"])
            logits = vectors @ mixed + self.weights["bias"]
            logits[start] = -np.inf
            written.append(int(logits.argmax()))
        alignment = np.array(rows, np.float32).reshape(-1, len(source))
        return Translated(tuple(written[1:]), alignment)

    def scores(self, state: Numbers, encoded: Numbers) -> Numbers:
        """The attention score of each token of the source for the decoder's `state`, `[token]`.

        Additive: v · tanh(W s + U h) (Bahdanau et al., 2015, appendix A.1.2); dot: s · h; bilinear: s W h (Luong et
        al., 2015, section 3.1).
        """
        weights = self.weights
        if self.key == ADDITIVE:
            query = weights["of_query.weight"] @ state + weights["of_query.bias"]
            return np.asarray(np.tanh(query + encoded @ weights["of_key.weight"].T) @ weights["of_both.weight"][0])
        return np.asarray(encoded @ (weights["of_query.weight"] @ state if self.key == BILINEAR else state))


def file_of(key: str, folder: Path = FOLDER) -> Path:
    """The file of weights of the translator called `key`."""
    return folder / f"{key}.safetensors"


@cache
def load(key: str, folder: Path = FOLDER) -> EarlyTranslator:
    """Load the translator called `key`."""
    weights = load_file(file_of(key, folder))
    return EarlyTranslator(key, {name: each.astype(np.float32) for name, each in weights.items()})


@cache
def figures(folder: Path = FOLDER) -> dict[str, Any]:
    """The measurements of `training/early_translators.py`: by translator BLEU, BLEU by length, and repeats in %."""
    return dict(json.loads((folder / FIGURES).read_text(encoding="utf-8")))


_WORD = re.compile(r"\w+")
_TWICE_IN_FRENCH = {"nous", "vous"}
_LONGEST_REPEAT = 4


def repeats(text: str) -> tuple[tuple[int, int], ...]:
    """The spans `(start, end)` of `text` that repeat the one to four words just before them.

    “Nous nous lavons” counts as no repetition.
    """
    words = [(each[0].casefold(), *each.span()) for each in _WORD.finditer(text)]
    again = np.zeros(len(words), bool)
    for length in range(1, _LONGEST_REPEAT + 1):
        for place in range(length, len(words) - length + 1):
            run, before = ([word for word, *_ in words[at : at + length]] for at in (place, place - length))
            if run == before and not (length == 1 and run[0] in _TWICE_IN_FRENCH):
                again[place : place + length] = True
    edges = np.flatnonzero(np.diff(again, prepend=False, append=False)).tolist()
    return tuple((words[first][1], words[end - 1][2]) for first, end in zip(edges[::2], edges[1::2], strict=True))
