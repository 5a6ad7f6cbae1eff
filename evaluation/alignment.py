"""Which cross-attention head aligns words best: `python -m evaluation.alignment --train TSV --data TSV [--json]`.

Each head's choice of a source word for every target word, over the model's own translations, against IBM model 1
(Brown et al., 1993, as NLTK fits it on the pairs of `--train`), which knows nothing of the network. The diagonal, the
word at the same relative place, is the line to beat. Agreement is a share of the target words that hold letters.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from models import load_model
from models.outputs import Attention, TranslationOutput
from models.registry import Task, find
from models.tasks.base import AnyTaskModel
from models.text.words import merge_words, word_text, words_of
from training import text

ITERATIONS = 5
_WORD = re.compile(r"\w+|[^\w\s]")

Alignment = list[int | None]
"""For each target word the place of its source word; `None` where there is none."""


@dataclass(frozen=True)
class HeadAgreement:
    """How many percent of the target words a head (both counted from 0) sends where IBM model 1 does."""

    layer: int
    head: int
    agreement: float


@dataclass(frozen=True)
class Measured:
    """What was found on `sentences`: every head, the best first, and the diagonal; both in percent."""

    checkpoint: str
    sentences: int
    diagonal: float
    heads: tuple[HeadAgreement, ...]


@dataclass(frozen=True, eq=False)
class WordAttention:
    """Cross-attention between words, special tokens left out: `weights` is `[layer, head, target, source]`."""

    target: list[str]
    source: list[str]
    weights: NDArray[np.float32]


def word_attention(cross: Attention) -> WordAttention:
    """The attention from words of the translation to words of the source."""
    queries = [word for word in words_of(cross.query_tokens) if not cross.query_tokens[word[0]].special]
    keys = [word for word in words_of(cross.key_tokens) if not cross.key_tokens[word[0]].special]
    weights = [[merge_words(head, queries, keys) for head in layer] for layer in cross.weights]
    return WordAttention(
        [word_text(cross.query_tokens, word).lower() for word in queries],
        [word_text(cross.key_tokens, word).lower() for word in keys],
        np.array(weights),
    )


def diagonal(targets: int, sources: int) -> list[int]:
    """The source word at the same relative place as each target word."""
    return [min(sources - 1, int((place + 0.5) * sources / targets)) for place in range(targets)]


def agreement(found: Sequence[Sequence[int]], expected: Sequence[Alignment], words: Sequence[Sequence[str]]) -> float:
    """The share in percent of the words with letters, among those that `expected` aligns, that `found` aligns so."""
    pairs = [
        (chosen, right)
        for row, references, spelt in zip(found, expected, words, strict=True)
        for chosen, right, word in zip(row, references, spelt, strict=True)
        if right is not None and any(character.isalpha() for character in word)
    ]
    return 100 * sum(chosen == right for chosen, right in pairs) / len(pairs)


def by_ibm_model_1(pairs: Sequence[tuple[list[str], list[str]]], wanted: Sequence[WordAttention]) -> list[Alignment]:
    """The alignment of each translation in `wanted`; fitted on `pairs` of source and target words and on them."""
    from nltk.translate import AlignedSent, IBMModel1

    own = [AlignedSent(each.target, each.source) for each in wanted]
    IBMModel1([AlignedSent(target, source) for source, target in pairs] + own, ITERATIONS)
    # Fitting writes the best alignment into every sentence.
    return [[dict(each.alignment).get(place) for place in range(len(each.words))] for each in own]


def measure(checkpoint: str, train: Path, data: Path, limit: int) -> Measured:
    """The agreement of every head and of the diagonal on the first `limit` sentences of `data`."""
    model = load_model(find(checkpoint, Task.TRANSLATION).name)
    sources = [line.split("\t")[0] for line in text.read_text(data).splitlines()[:limit]]
    attended = [word_attention(_cross(model, source)) for source in sources]
    rows = (line.lower().split("\t") for line in text.read_text(train).splitlines())
    pairs = [(_WORD.findall(row[0]), _WORD.findall(row[1])) for row in rows]
    expected = by_ibm_model_1(pairs, attended)
    words = [each.target for each in attended]
    layers, heads = attended[0].weights.shape[:2]
    found = [
        HeadAgreement(layer, head, agreement([_choices(each, layer, head) for each in attended], expected, words))
        for layer in range(layers)
        for head in range(heads)
    ]
    by_diagonal = agreement([diagonal(len(each.target), len(each.source)) for each in attended], expected, words)
    best = tuple(sorted(found, key=lambda each: -each.agreement))
    return Measured(model.identity.name, len(sources), by_diagonal, best)


def _cross(model: AnyTaskModel, source: str) -> Attention:
    inputs = model.inputs_type(text=source)
    output = cast(TranslationOutput, model.answer(inputs))
    return model.attend(inputs, tuple(token.id for token in output.target_tokens))["cross"]


def _choices(attended: WordAttention, layer: int, head: int) -> list[int]:
    return [int(place) for place in attended.weights[layer, head].argmax(axis=-1)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True, type=Path, help="source<TAB>target, to fit IBM model 1 on")
    parser.add_argument("--data", required=True, type=Path, help="source<TAB>target, whose sources are translated")
    parser.add_argument("--checkpoint", default="", help="a name of the registry; the bundled checkpoint by default")
    parser.add_argument("--limit", type=int, default=200, help="how many sentences; 200 by default")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    given = parser.parse_args()
    figures = measure(given.checkpoint, given.train, given.data, given.limit)
    if given.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"{figures.checkpoint}, {figures.sentences} sentences; the diagonal agrees in {figures.diagonal:.1f} %")
    for each in figures.heads:
        print(f"layer {each.layer} head {each.head}: {each.agreement:.1f} %")


if __name__ == "__main__":
    main()
