"""Cases for the tests of the tab Inside: bundled checkpoints, and architectures that it can take apart."""

from typing import Any

import pytest

from models.registry import Task

SECOND_LAW = (
    "A robot must obey the orders given it by human beings except where such orders would conflict with the First Law."
)
ANIMAL = "The animal didn't cross the street because it was too tired."
PAIR = "[CLS] the man [MASK] to the store [SEP] penguin [MASK] are flightless birds [SEP]"

BUNDLED: list[tuple[str, str, str]] = [
    ("clearhead-minilm", "encoder", "She turned the [MASK] and opened the door."),
    ("clearhead-minilm", "encoder", PAIR),
    ("clearhead-sentiment", "encoder", "Not bad at all, though I would not see it twice."),
    ("clearhead-qa", "encoder", "Where does Maria live? [SEP] Maria is a baker. She lives in Lisbon with two cats."),
    ("clearhead-names", "encoder", "Jim Henson was a puppeteer."),
    ("clearhead-en-fr", "decoder", "A dog is sleeping on the sofa."),
    ("clearhead-en-fr", "encoder", "A dog is sleeping on the sofa."),
    ("clearhead-stories", "decoder", "Once upon a time there was a little"),
]
"""Every bundled checkpoint with each of its kinds of self-attention, and a text."""

TAKEN_APART: list[tuple[Task, str, str]] = [
    *((Task.FILL_MASK, name, "encoder") for name in ("bert", "distilbert", "roberta", "electra", "modernbert")),
    *((Task.SENTIMENT, name, "encoder") for name in ("bert", "distilbert", "roberta", "electra")),
    *((Task.QUESTION_ANSWERING, name, "encoder") for name in ("bert", "distilbert", "roberta", "electra")),
    *((Task.NAMES, name, "encoder") for name in ("bert", "distilbert", "roberta", "electra")),
    *((Task.TRANSLATION, name, kind) for name in ("marian", "bart") for kind in ("decoder", "encoder")),
    *((Task.COMPLETION, name, "decoder") for name in ("gpt2", "llama")),
]
"""Every task, architecture and kind of self-attention that a tiny random model is taken apart for."""

TEXTS: dict[Task, str] = {
    Task.FILL_MASK: "The keeper [MASK] the old lamp.",
    Task.SENTIMENT: "She reads a quiet book.",
    Task.QUESTION_ANSWERING: "Who lit the lamp? [SEP] The old keeper lit the lamp.",
    Task.NAMES: "Ada lit the old lamp.",
    Task.TRANSLATION: "The rain falls on the garden.",
    Task.COMPLETION: "The boats turned home",
}


def over_cases(*cases: tuple[str, str, str] | tuple[Task, str, str]) -> pytest.MarkDecorator:
    """Parametrise a test over cases of `BUNDLED` and `TAKEN_APART`, for its fixture `looked_at`."""
    return pytest.mark.parametrize("looked_at", cases, ids=str, indirect=True)


def fields_of(task: Task, text: str) -> dict[str, Any]:
    """The input fields of a task for the text of a case."""
    match task:
        case Task.QUESTION_ANSWERING:
            question, context = text.split(" [SEP] ")
            return {"question": question, "context": context}
        case Task.COMPLETION:
            return {"prompt": text, "max_new_tokens": 1, "strategy": "greedy"}
        case _:
            return {"text": text}
