"""Questions: windows of tokens, the answer to learn of several people's, and questions without an answer."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from evaluation.metrics import f1, normalised_answer
from training.loop import Batch
from training.text import Question, normalised

SURROUNDINGS = 90
"""Characters before and behind an answer that are compared with the question."""


def agreed(question: Question) -> Question:
    """The question with the one answer that most people gave, or that has most in common with the others'.

    SQuAD's files say where an answer stands first; of several places the one is taken around which most of the
    question's words stand.
    """
    if not question.answers:
        return question
    given = Counter(map(normalised_answer, question.answers))

    def liked(number: int) -> tuple[int, float, int]:
        answer = question.answers[number]
        shared = sum(f1(answer, [other]) for other in question.answers)
        return given[normalised_answer(answer)], shared, -len(answer)

    best = max(range(len(question.answers)), key=liked)
    answer = question.answers[best]
    places = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", question.context)]
    asked = set(normalised_answer(question.question).split())

    def near(place: int) -> int:
        around = question.context[max(0, place - SURROUNDINGS) : place + len(answer) + SURROUNDINGS]
        return len(asked & set(normalised_answer(around).split()))

    return replace(question, answers=(answer,), starts=(max(places or [question.starts[best]], key=near),))


ELSEWHERE_SHARE = 0.25
OPPOSITES = {
    one: other
    for pair in (
        "first last", "largest smallest", "most least", "more fewer", "before after", "highest lowest", "north south",
        "east west", "northern southern", "eastern western", "increase decrease", "increased decreased", "early late",
        "earliest latest", "oldest youngest", "began ended", "begin end", "start stop", "started stopped", "won lost",
        "win lose", "above below", "higher lower", "larger smaller", "greater lesser", "male female", "allowed banned",
        "longest shortest", "best worst", "near far", "inside outside", "positive negative", "primary secondary",
        "majority minority", "maximum minimum", "major minor", "old new", "common rare", "created destroyed",
    )
    for one, other in (pair.split(), pair.split()[::-1])
}  # fmt: skip
NAME = re.compile(r"(?<=[a-z,'’] )(?:[A-Z][\w.'’-]*\w)(?: (?:of |the )*[A-Z][\w.'’-]*\w)*")
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")


def unanswerable(questions: Iterable[Question], seed: int) -> list[Question]:
    """One for each of the answerable `questions` that can be turned; their ids end in `-none`."""
    chance = random.Random(seed)
    by_title: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_title[question.title].append(question)
    made = []
    for article in by_title.values():
        contexts = list(dict.fromkeys(question.context for question in article))
        for question in article:
            turned = asked_elsewhere(question, contexts, chance) if chance.random() < ELSEWHERE_SHARE else None
            turned = turned or changed(question, contexts, chance)
            if question.answers and turned:
                made.append(replace(turned, id=f"{question.id}-none", answers=(), starts=()))
    return made


def asked_elsewhere(question: Question, contexts: list[str], chance: random.Random) -> Question | None:
    """The question with another of the article's `contexts`, one that holds none of its answers."""
    others = [
        context
        for context in contexts
        if context != question.context and not any(answer.lower() in context.lower() for answer in question.answers)
    ]
    return replace(question, context=chance.choice(others)) if others else None


def changed(question: Question, contexts: list[str], chance: random.Random) -> Question | None:
    """The question with one name or number exchanged for another of its text or article, or a word for its opposite."""
    ways = [*_exchanges(question, contexts, chance), *_opposites(question.question)]
    return replace(question, question=chance.choice(ways)) if ways else None


def _exchanges(question: Question, contexts: list[str], chance: random.Random) -> list[str]:
    asked = question.question
    ways = []
    for pattern in (NAME, NUMBER):
        for found in pattern.finditer(asked):
            here = _others(pattern, [question.context], asked, question.answers)
            # A name that stands in the very text is the harder one to tell from the right one.
            pool = here if here and chance.random() < 0.6 else _others(pattern, contexts, asked, question.answers)
            if pool:
                ways.append(asked[: found.start()] + chance.choice(pool) + asked[found.end() :])
    return ways


def _others(pattern: re.Pattern[str], contexts: list[str], asked: str, answers: tuple[str, ...]) -> list[str]:
    """What `pattern` finds in the contexts that shares no word with the question or its answers."""
    taken = set(normalised(" ".join((asked, *answers))).split())
    found = dict.fromkeys(each for context in contexts for each in pattern.findall(context))
    return [each for each in found if taken.isdisjoint(normalised(each).split())]


def _opposites(asked: str) -> list[str]:
    words = asked.split(" ")
    return [
        " ".join([*words[:place], OPPOSITES[word], *words[place + 1 :]])
        for place, word in enumerate(words)
        if word in OPPOSITES
    ]


WINDOW, OVERLAP = 320, 96


@dataclass(frozen=True)
class Feature:
    """One window as token ids and segment ids, with the first and the last token of its answer; 0, `[CLS]`, if none."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    start: int
    end: int


def answer_tokens(offsets: list[tuple[int, int]], sides: list[int | None], first: int, last: int) -> tuple[int, int]:
    """The tokens of the context that hold the characters `first` to `last` (exclusive); 0, 0 if not all are there."""
    inside = [index for index, side in enumerate(sides) if side == 1]
    starts = [index for index in inside if offsets[index][0] <= first < offsets[index][1]]
    ends = [index for index in inside if offsets[index][0] < last <= offsets[index][1]]
    return (starts[0], ends[-1]) if starts and ends else (0, 0)


def encode(questions: list[Question], tokenizer: PreTrainedTokenizerBase) -> list[Feature]:
    """The windows of every question; where there are several, each counts as unanswered but those with the answer."""
    encoded = tokenizer(
        [question.question for question in questions],
        [question.context for question in questions],
        truncation="only_second",
        max_length=WINDOW,
        stride=OVERLAP,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    features = []
    for row, number in enumerate(encoded["overflow_to_sample_mapping"]):
        question, start, end = questions[number], 0, 0
        if question.answers:
            first = question.starts[0]
            last = first + len(question.answers[0])
            start, end = answer_tokens(encoded["offset_mapping"][row], encoded.sequence_ids(row), first, last)
        features.append(Feature(tuple(encoded["input_ids"][row]), tuple(encoded["token_type_ids"][row]), start, end))
    return features


def collate(features: list[Feature]) -> Batch:
    """Padded ids and segments [row, token], their mask, and the answers' first and last tokens [row]."""

    def padded(rows: list[list[int]]) -> Tensor:
        return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    return {
        "input_ids": padded([list(feature.ids) for feature in features]),
        "token_type_ids": padded([list(feature.segments) for feature in features]),
        "attention_mask": padded([[1] * len(feature.ids) for feature in features]),
        "starts": torch.tensor([feature.start for feature in features]),
        "ends": torch.tensor([feature.end for feature in features]),
    }
