"""Errors that a visitor can mend: one exception class, carrying the sentence that the visitor reads."""

from models.wording import Sentence


class InputError(Exception):
    """The input cannot be used as it stands.

    `sentence` is what the visitor is told, a `Sentence` where it can be translated; `field` names the input it is about
    ("" when it is about none).
    """

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.field = field


_NOT_THERE = {
    "layer": Sentence("Layer {number} is not there: this model has layers 0 to {last}."),
    "head": Sentence("Head {number} is not there: this model has heads 0 to {last}."),
    "token": Sentence("Token {number} is not there: this text has tokens 0 to {last}."),
    "number": Sentence("Number {number} is not there: this query has numbers 0 to {last}."),
}


def require_there(what: str, number: int, count: int, *, field: str = "", least: int = 0) -> None:
    """Raise `InputError` unless `number` is from `least` to the last of the `count` of `what` that there are."""
    if not least <= number < count:
        raise InputError(Sentence(_NOT_THERE[what], number=number, last=count - 1), field or what)


class Stopped(InputError):
    """Nobody waits for the answer any more, so it is not computed to its end."""

    SENTENCE = Sentence("This run was stopped before it had an answer.")

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)


class Overdue(InputError):
    """Something that others hold was not free in time, so this run gives up instead of waiting for ever."""

    def __init__(self) -> None:
        super().__init__(Sentence("The model was busy for too long. Please try again."))


class CheckpointUnavailable(InputError):
    """A checkpoint is unknown, cannot be downloaded now, or offers no weights that are safe to load."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, field="checkpoint")
