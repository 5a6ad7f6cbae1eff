"""Recent answers are bounded in number and in age."""

from dataclasses import replace
from datetime import timedelta

from demo.attempt import Attempt, Finished
from demo.recent import HELD_FOR, RecentAnswers, question_of
from models.tasks import Task
from tests.service.scripted import TextInput, sentiment


def _finished() -> Finished:
    return Attempt("visitor", Task.SENTIMENT, {}, "").finished(sentiment(TextInput("so so")))


def test_the_least_recently_asked_goes_first() -> None:
    held = RecentAnswers(most=2)
    one, two, three = (question_of("visitor", Task.SENTIMENT, "", {"text": text}) for text in ("1", "2", "3"))
    finished = _finished()
    held.put(one, finished)
    held.put(two, finished)
    assert held.get(one) is finished
    held.put(three, finished)
    assert (held.get(one), held.get(two), held.get(three)) == (finished, None, finished)


def test_an_old_answer_is_not_given_again() -> None:
    held = RecentAnswers()
    question = question_of("visitor", Task.SENTIMENT, "", {"text": "so so"})
    finished = _finished()
    held.put(
        question, replace(finished, run=replace(finished.run, created_utc=finished.run.created_utc - HELD_FOR * 2))
    )
    assert held.get(question) is None
    nearly = finished.run.created_utc - HELD_FOR + timedelta(minutes=1)
    held.put(question, replace(finished, run=replace(finished.run, created_utc=nearly)))
    assert held.get(question) is not None
