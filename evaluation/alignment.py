"""Find the cross-attention head of a translator that aligns words best.

For every target word of the model's own translations, each head's choice of a source word is compared with that of IBM
model 1 (Brown et al., 1993, as NLTK fits it on sentence pairs), which knows nothing of the network. The baseline is the
diagonal, the word at the same relative place. Agreement is a share of the target words that hold letters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from models.outputs.writing import TranslationOutput
from models.tasks.base import AnyTaskModel
from models.text.words import merge_words, word_text, words_of

ITERATIONS = 5
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class HeadAgreement:
    """The percentage of target words for which a head (it and its layer counted from 0) agrees with IBM model 1."""

    layer: int
    head: int
    agreement: float


@dataclass(frozen=True, eq=False)
class WordAttention:
    """Cross-attention between words, special tokens left out: `weights` is `[layer, head, target, source]`."""

    target: list[str]
    source: list[str]
    weights: NDArray[np.float32]


def word_attention(model: AnyTaskModel, text: str) -> WordAttention:
    """The attention from the words of the model's translation of `text` to those of the text."""
    inputs = model.inputs_type(text=text)
    output = cast(TranslationOutput, model.answer(inputs))
    cross = model.attend(inputs, tuple(token.id for token in output.target_tokens))["cross"]
    queries, keys = (
        [word for word in words_of(tokens) if not tokens[word[0]].special]
        for tokens in (cross.query_tokens, cross.key_tokens)
    )
    return WordAttention(
        [word_text(cross.query_tokens, word).lower() for word in queries],
        [word_text(cross.key_tokens, word).lower() for word in keys],
        np.array([[merge_words(head, queries, keys) for head in layer] for layer in cross.weights]),
    )


def measure(
    model: AnyTaskModel, pairs: Sequence[tuple[str, str]], sources: Sequence[str]
) -> tuple[list[HeadAgreement], float]:
    """The agreement of every head, best first, and of the diagonal with IBM model 1, fitted on `pairs`."""
    attended = [word_attention(model, source) for source in sources]
    words = [(_WORD.findall(source.lower()), _WORD.findall(target.lower())) for source, target in pairs]
    expected = by_ibm_model_1(words, attended)

    def agreement(found: Sequence[Sequence[int]]) -> float:
        right = [
            chosen == reference
            for each, row, references in zip(attended, found, expected, strict=True)
            for word, chosen, reference in zip(each.target, row, references, strict=True)
            if reference is not None and any(character.isalpha() for character in word)
        ]
        return 100 * sum(right) / len(right)

    layers, heads = attended[0].weights.shape[:2]
    found = [
        HeadAgreement(layer, head, agreement([each.weights[layer, head].argmax(axis=-1).tolist() for each in attended]))
        for layer in range(layers)
        for head in range(heads)
    ]
    by_diagonal = agreement([diagonal(len(each.target), len(each.source)) for each in attended])
    return sorted(found, key=lambda each: -each.agreement), by_diagonal


def by_ibm_model_1(
    pairs: Sequence[tuple[list[str], list[str]]], wanted: Sequence[WordAttention]
) -> list[list[int | None]]:
    """For each target word in `wanted`, the index of its source word by IBM model 1, `None` if there is none."""
    from nltk.translate import AlignedSent, IBMModel1

    own = [AlignedSent(each.target, each.source) for each in wanted]
    IBMModel1([AlignedSent(target, source) for source, target in pairs] + own, ITERATIONS)
    # Fitting writes the best alignment into every sentence.
    return [[dict(each.alignment).get(place) for place in range(len(each.words))] for each in own]


def diagonal(targets: int, sources: int) -> list[int]:
    """For each target word, the index of the source word at the same relative place."""
    return [min(sources - 1, int((place + 0.5) * sources / targets)) for place in range(targets)]
