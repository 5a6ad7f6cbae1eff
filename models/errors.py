"""Errors that a visitor can mend: one exception class, carrying the sentence that the visitor reads."""

from models.wording import Sentence


class InputError(Exception):
    """The input cannot be used as it stands.

    `sentence` is the message to the visitor, a `Sentence` where it can be translated; `field` names the input concerned
    ("" for none).
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
    """Raise `InputError` unless `number`, that of a layer or another `what`, is at least `least` and below `count`."""
    if not least <= number < count:
        raise InputError(Sentence(_NOT_THERE[what], number=number, last=count - 1), field or what)


class Stopped(InputError):
    """The run was cancelled, since no caller waits for its answer any more."""

    SENTENCE = Sentence("This run was stopped before it had an answer.")

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)


class Overdue(InputError):
    """A lock or a download that the run needs took too long, so the run gives up instead of waiting for ever."""

    def __init__(self) -> None:
        super().__init__(Sentence("The model was busy for too long. Please try again."))


class CheckpointUnavailable(InputError):
    """A checkpoint is unknown, cannot be downloaded now, or offers no weights that are safe to load."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, field="checkpoint")
