"""The metrics that checkpoints are compared by, as their papers define them."""

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence

ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalised_answer(answer: str) -> str:
    """SQuAD's normalisation: lower case, no punctuation, no articles, single spaces."""
    bare = "".join(character for character in answer.lower() if character not in string.punctuation)
    return " ".join(ARTICLE.sub(" ", bare).split())


def exact_match(predicted: str, answers: Sequence[str]) -> float:
    """1 if the normalised prediction equals one of the answers, else 0; without answers, only an empty one is right."""
    return float(any(normalised_answer(predicted) == normalised_answer(answer) for answer in answers or [""]))


def f1(predicted: str, answers: Sequence[str]) -> float:
    """The best harmonic mean of precision and recall, over words, against any of the answers."""
    return max(
        _f1(normalised_answer(predicted).split(), normalised_answer(answer).split()) for answer in answers or [""]
    )


def calibration_error(scores: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """The expected calibration error in percent: how far probabilities are from the share of right answers.

    Answers are put into `bins` of equal width by probability; the gaps are weighted by size (Guo et al., 2017).
    """
    gaps = [0.0] * bins
    for score, is_right in zip(scores, right, strict=True):
        gaps[min(bins - 1, int(score * bins))] += score - is_right
    return 100 * sum(abs(gap) for gap in gaps) / len(scores)


def _f1(predicted: list[str], answer: list[str]) -> float:
    if not predicted or not answer:
        return float(predicted == answer)
    shared = sum((Counter(predicted) & Counter(answer)).values())
    return 2 * shared / (len(predicted) + len(answer))


def names_f1(predicted: Sequence[Collection[object]], given: Sequence[Collection[object]]) -> float:
    """The F1 of whole names in percent, over all texts: a name counts if its place and its kind are right."""
    right = sum(len(set(ours) & set(theirs)) for ours, theirs in zip(predicted, given, strict=True))
    named = sum(map(len, predicted)) + sum(map(len, given))
    return 200 * right / named if named else 0.0
