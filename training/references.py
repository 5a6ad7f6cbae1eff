"""Which of several people's answers to a question to learn from, and where in the text it stands."""

import re
from collections import Counter
from dataclasses import replace

from evaluation.metrics import f1, normalised_answer
from training.text import Question

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
