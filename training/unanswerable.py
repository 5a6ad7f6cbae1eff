"""Questions that their text does not answer, made from questions that it does.

People who wrote such questions for SQuAD 2.0 (Rajpurkar et al., 2018, section 3) changed a name, a number or a word to
its opposite; so does this. Some questions are asked of another paragraph of their article instead.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from training.text import Question, normalised

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
