"""Teach it: a classifier on the vectors of a frozen network, fitted to a handful of examples (transfer learning).

Only a logistic regression is fitted. The network stays as it was pre-trained (Devlin et al., 2019, section 5.3, call
this the feature-based approach). To show what pre-training is worth, two other classifiers are fitted in the same way:
one on a bag of words (tf-idf), and one on the vectors of the same network with random weights.

A sentence's vector is the mean over its tokens in the middle layer, scaled to length one: the best after few examples
of the options that were tried (`docs/experiments/encoders.md`, measured by `evaluation/sentence_vectors.py`).
"""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.cancellation import go_on
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token
from models.outputs.vectors import Judged, LearningCurve, TeachOutput
from models.tasks.base import TaskModel, batch_of_one, padded_ids, require, require_text, require_tokens
from models.wording import Sentence

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

LEAST_CLASSES, MOST_CLASSES = 2, 5
LEAST_EXAMPLES = 2
"""The fewest examples of a class: one to fit to and one to test on."""

STRENGTH = 10.0
"""scikit-learn's `C`, the inverse of the strength of L2 regularisation."""

FOLDS = 5
SEEDS = range(5)
"""The seeds of the draws of examples over which a curve is averaged."""

KEPT, CROSS_VALIDATION = "kept", "cross-validation"
BERT, BAG_OF_WORDS, RANDOM_WEIGHTS = "bert", Sentence("bag of words"), Sentence("random weights")

_WORD = r"\w+|[^\w\s]"
_ROWS = 32
_HELD_BACK = 4
"""If no example is kept out, one in this many of each class is held back to test a curve."""

_TOO_LONG = Sentence(
    "One of the texts is {length:,} tokens, and this model reads at most {window:,} at once here. Please shorten it."
)
_NO_CLASS = Sentence("Two to five classes can be taught, and there is none.")
_ONE_CLASS = Sentence("Two to five classes can be taught, and there is one.")
_MANY_CLASSES = Sentence("Two to five classes can be taught, and there are {count}.")
_ONE_EXAMPLE = Sentence("The class “{name}” has one example. Please give each class at least two.")
_NOT_TAUGHT = Sentence("The class “{name}” is tested but has no example to teach it.")
_IN_TWO_CLASSES = Sentence("“{text}” stands in two classes, “{other}” and “{name}”. Keep it in one.")
_TAUGHT_AND_TESTED = Sentence("“{text}” is taught and tested as well. Please keep it in one place.")

Labelled = tuple[str, str]
"""A text and its label."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class TeachInput:
    """Examples to fit to, texts to judge, and examples that are kept out to test on."""

    examples: tuple[Labelled, ...]
    texts: tuple[str, ...] = ()
    kept_out: tuple[Labelled, ...] = ()


@dataclass(frozen=True)
class EncodedExamples:
    """The ids of every text in `rows`: the examples, those kept out, and the texts to judge, in this order.

    `shown` is the row whose attention is shown, of the first text to judge or else of the first example, and `tokens`
    are its tokens.
    """

    examples: tuple[Labelled, ...]
    kept_out: tuple[Labelled, ...]
    texts: tuple[str, ...]
    rows: tuple[list[int], ...]
    shown: int
    tokens: tuple[Token, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, in the order in which the examples name them."""
        return tuple(dict.fromkeys(label for _, label in self.examples))


class Teach(TaskModel[TeachInput, EncodedExamples, Mapping[str, NDArray[Any]], TeachOutput]):
    """A masked language model whose sentence vectors a classifier is fitted to."""

    inputs_type = TeachInput

    def preprocess(self, inputs: TeachInput) -> EncodedExamples:
        """Tokenize all texts; raises `InputError` for examples that cannot be taught and a text beyond the window."""
        examples, kept_out = _distinct(inputs.examples, "examples"), _distinct(inputs.kept_out, "kept_out")
        texts = tuple(require_text(text, "texts", Sentence("A text to judge")) for text in inputs.texts)
        _require_classes(examples, kept_out)
        every = [*(("examples", text) for text, _ in examples), *(("kept_out", text) for text, _ in kept_out),
                 *(("texts", text) for text in texts)]  # fmt: skip
        rows = tuple(self.tokenizer.encode(text).ids for _, text in every)
        for (field, _), ids in zip(every, rows, strict=True):
            self.require_window(len(ids), field, _TOO_LONG)
        place = len(examples) + len(kept_out) if texts else 0
        field, text = every[place]
        _, tokens = self.tokenizer.read(text)
        require_tokens(tokens, field)
        return EncodedExamples(examples, kept_out, texts, rows, place, tokens)

    def forward(self, encoded: EncodedExamples) -> Mapping[str, NDArray[Any]]:
        """Each representation of the texts: vectors `[text, width]` of length one, and the texts for a bag of words."""
        network = self.network
        words = [*(text for text, _ in (*encoded.examples, *encoded.kept_out)), *encoded.texts]
        with self.lock:
            untrained = with_random_weights(network)
        return {
            BERT: self.vectors(network.base_model, encoded.rows),
            BAG_OF_WORDS: np.array(words, dtype=object),
            RANDOM_WEIGHTS: self.vectors(untrained, encoded.rows),
        }

    def vectors(self, trunk: "nn.Module", rows: Sequence[Sequence[int]]) -> Vectors:
        """The mean over each row's tokens, special ones included, in the middle layer of `trunk`, with length one."""
        import torch

        # Texts of about the same length need little padding.
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        found: dict[int, Vectors] = {}
        for start in range(0, len(order), _ROWS):
            go_on()
            batch = order[start : start + _ROWS]
            padded = padded_ids([rows[row] for row in batch], self.tokenizer.settings)
            given = {name: self.tensor(each) for name, each in padded.items()}
            with self.lock, torch.inference_mode():
                layers = trunk(**given, output_hidden_states=True).hidden_states
                middle, weights = layers[len(layers) // 2], given["attention_mask"][..., None].float()
                means = (middle * weights).sum(dim=1) / weights.sum(dim=1)
                lengths = torch.linalg.vector_norm(means, dim=1, keepdim=True)
            found |= dict(zip(batch, (means / lengths).float().cpu().numpy(), strict=True))
        return np.stack([found[row] for row in range(len(rows))])

    def postprocess(self, inputs: TeachInput, encoded: EncodedExamples, raw: Mapping[str, NDArray[Any]]) -> TeachOutput:
        """Fit the classifier, judge the texts, and measure on examples that it was not taught with."""
        from threadpoolctl import threadpool_limits

        # A second thread makes products of this size slower, and on a busy machine many times so.
        with threadpool_limits(1, "blas"):
            return self._taught(encoded, raw)

    def _taught(self, encoded: EncodedExamples, raw: Mapping[str, NDArray[Any]]) -> TeachOutput:
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        labels, vectors = encoded.labels, raw[BERT]
        classes = np.array([labels.index(label) for _, label in (*encoded.examples, *encoded.kept_out)])
        count, known = len(encoded.examples), len(classes)
        fitted = classifier(BERT).fit(vectors[:count], classes[:count])
        measured = encoded.kept_out or encoded.examples
        if encoded.kept_out:
            shares = fitted.predict_proba(vectors[count:known])
        else:
            folds = StratifiedKFold(min(FOLDS, int(np.bincount(classes).min())), shuffle=True, random_state=0)
            shares = cross_val_predict(classifier(BERT), vectors[:count], classes, cv=folds, method="predict_proba")
        judged = [_judged(text, labels, row, label) for (text, label), row in zip(measured, shares, strict=True)]
        mistakes = tuple(each for each in judged if each.label != each.expected)
        new = fitted.predict_proba(vectors[known:]) if encoded.texts else ()
        return TeachOutput(
            self.looked_into,
            encoded.tokens,
            labels=labels,
            predictions=tuple(_judged(text, labels, row) for text, row in zip(encoded.texts, new, strict=True)),
            accuracy=1 - len(mistakes) / len(measured),
            chance=1 / len(labels),
            measured_on=KEPT if encoded.kept_out else CROSS_VALIDATION,
            measured=len(measured),
            mistakes=mistakes,
            curve=learning_curves(raw, classes, count),
        )

    def attend(self, inputs: TeachInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the first text to judge, or over the first example where there is none."""
        encoded = self.preprocess(inputs)
        return self.attend_encoder(encoded.tokens, {"input_ids": batch_of_one(encoded.rows[encoded.shown])})


def classifier(representation: str) -> Any:
    """A classifier that is not fitted yet, on vectors, or on the words and punctuation marks of texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    regression = LogisticRegression(C=STRENGTH, max_iter=1000)
    if representation != BAG_OF_WORDS:
        return regression
    # Punctuation marks count as words, for BERT reads them too.
    return make_pipeline(TfidfVectorizer(token_pattern=_WORD), regression)


def with_random_weights(network: "PreTrainedModel") -> "nn.Module":
    """A copy of the trunk of `network` with weights as before training: normal, biases zero, norms one."""
    import torch

    trunk: nn.Module = copy.deepcopy(network.base_model)
    generator = torch.Generator(network.device).manual_seed(0)
    spread = getattr(network.config, "initializer_range", 0.02)
    with torch.no_grad():
        for name, parameter in trunk.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=spread, generator=generator)
            else:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
    return trunk


def learning_curves(
    features: Mapping[str, NDArray[Any]], classes: NDArray[np.int64], count: int
) -> tuple[LearningCurve, ...]:
    """Accuracy against the number of examples of each class, its mean and standard deviation over `SEEDS`.

    `classes` are those of the first rows of each of the `features`: `count` examples to fit to, then those kept out; if
    none are, one in four of each class is held back in every draw.
    """
    draws = [_draw(classes, count, seed) for seed in SEEDS]
    largest = min(len(pool) for pools, _ in draws for pool in pools)
    sizes = (*(2**power for power in range(largest.bit_length()) if 2**power < largest), largest)
    curves = []
    for representation, rows in features.items():
        right = np.zeros((len(sizes), len(draws)))
        for (place, size), (draw, (pools, tested)) in product(enumerate(sizes), enumerate(draws)):
            go_on()
            chosen = np.concatenate([pool[:size] for pool in pools])
            fitted = classifier(representation).fit(rows[chosen], classes[chosen])
            right[place, draw] = (fitted.predict(rows[tested]) == classes[tested]).mean()
        means, spreads = tuple(right.mean(axis=1).tolist()), tuple(right.std(axis=1).tolist())
        curves.append(LearningCurve(representation, sizes, means, spreads))
    return tuple(curves)


def _draw(classes: NDArray[np.int64], count: int, seed: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The rows of each class to fit to, in the order in which they are drawn, and the rows to test on."""
    random = np.random.default_rng(seed)
    pools = [random.permutation(np.flatnonzero(classes[:count] == each)) for each in range(int(classes.max()) + 1)]
    if count < len(classes):
        return pools, np.arange(count, len(classes))
    held = [max(1, len(pool) // _HELD_BACK) for pool in pools]
    tested = np.concatenate([pool[:most] for pool, most in zip(pools, held, strict=True)])
    return [pool[most:] for pool, most in zip(pools, held, strict=True)], tested


def _judged(text: str, labels: tuple[str, ...], shares: NDArray[np.float64], expected: str = "") -> Judged:
    scores = tuple(map(Prediction, labels, shares.tolist()))
    return Judged(text, labels[int(shares.argmax())], scores, expected)


def _distinct(given: Sequence[Labelled], field: str) -> tuple[Labelled, ...]:
    """The examples without repeats in a class, whatever their case and spaces; raises `InputError` for an empty one."""
    found: dict[Labelled, Labelled] = {}
    for text, label in given:
        require_text(text, field, Sentence("An example"))
        require_text(label, field, Sentence("The name of a class"))
        found.setdefault((_alike(text), label), (text, label))
    return tuple(found.values())


def _alike(text: str) -> str:
    return " ".join(text.split()).casefold()


def _require_classes(examples: Sequence[Labelled], kept_out: Sequence[Labelled]) -> None:
    """Raise `InputError` for the first reason why these examples cannot be taught or tested."""
    sizes = Counter(label for _, label in examples)
    said = _MANY_CLASSES if len(sizes) > 1 else _ONE_CLASS if sizes else _NO_CLASS
    require(LEAST_CLASSES <= len(sizes) <= MOST_CLASSES, "examples", said, count=len(sizes))
    for label, size in sizes.items():
        require(size >= LEAST_EXAMPLES, "examples", _ONE_EXAMPLE, name=label)
    class_of: dict[str, str] = {}
    for field, rows in (("examples", examples), ("kept_out", kept_out)):
        for text, label in rows:
            require(label in sizes, field, _NOT_TAUGHT, name=label)
            other = class_of.setdefault(_alike(text), label)
            require(other == label, field, _IN_TWO_CLASSES, text=text[:60], other=other, name=label)
    taught = {_alike(text) for text, _ in examples}
    for text, _ in kept_out:
        require(_alike(text) not in taught, "kept_out", _TAUGHT_AND_TESTED, text=text[:60])
