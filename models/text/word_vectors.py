"""Static word vectors: one for each word, whatever its sentence (word2vec, Mikolov et al., 2013)."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from models.errors import InputError
from models.outputs.base import Prediction
from models.registry import BUNDLED
from models.wording import Sentence

FOLDER = BUNDLED.parent / "words"
VECTORS, WORDS = "vectors.safetensors", "words.txt"
"""The files of a folder: the tensor `vectors`, and the words in the same order, one a line."""

_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The `words`, the most frequent first, and their `vectors` `[word, width]`, each of length one."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.words) != len(self.vectors):
            raise ValueError(f"{len(self.words)} words and {len(self.vectors)} vectors")
        object.__setattr__(self, "_places", {word: place for place, word in enumerate(self.words)})

    def spelt(self, word: str) -> str:
        """`word` as the vocabulary spells it: in small letters, with a straight apostrophe."""
        return word.strip().lower().replace("’", "'")

    def of(self, word: str) -> NDArray[np.float32] | None:
        """The vector `[width]` of `word`; None for a word that the vocabulary does not have."""
        place = self._places.get(self.spelt(word))
        return None if place is None else np.asarray(self.vectors[place])

    def nearest(self, vector: NDArray[np.float32], count: int, without: Collection[str] = ()) -> tuple[Prediction, ...]:
        """The `count` words, except `without`, whose vectors have the greatest cosine with `vector`, best first.

        The score is the cosine, from -1 to 1.
        """
        cosines = self.vectors @ (vector / max(float(np.linalg.norm(vector)), _LEAST))
        order = np.argsort(-cosines, kind="stable")[: count + len(without)]
        found = (Prediction(self.words[place], float(cosines[place])) for place in order)
        return tuple(each for each in found if each.text not in without)[:count]

    def neighbours(self, word: str, count: int) -> tuple[Prediction, ...]:
        """Return the words nearest to `word`, without itself; none for a word that has no vector."""
        vector = self.of(word)
        return () if vector is None else self.nearest(vector, count, {self.spelt(word)})

    def combined(self, word: str, minus: str, plus: str) -> NDArray[np.float32]:
        """Return the vector `word` - `minus` + `plus`, not normalised; raises `InputError` for a word that has none."""
        found = []
        for name, each in (("word", word), ("minus", minus), ("plus", plus)):
            vector = self.of(each)
            if vector is None:
                said = Sentence("A word is missing. Please try another word.")
                if each.strip():
                    said = Sentence("“{word}” has no static vector here. Please try another word.", word=each.strip())
                raise InputError(said, name)
            found.append(vector)
        return np.asarray(found[0] - found[1] + found[2])


def load(folder: Path = FOLDER) -> WordVectors:
    """The vectors in `folder`, in float32."""
    words = tuple((folder / WORDS).read_text(encoding="utf-8").splitlines())
    return WordVectors(words, load_file(folder / VECTORS)["vectors"].astype(np.float32))


@cache
def word_vectors() -> WordVectors:
    """The bundled vectors, read once."""
    return load()
