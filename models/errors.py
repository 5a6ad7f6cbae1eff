"""Errors that a visitor can mend: one exception class, carrying the sentence that the visitor reads."""


class InputError(Exception):
    """The input cannot be used as it stands.

    `sentence` is shown to the visitor as it is; `field` names the input it is about ("" when it is about none).
    """

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.field = field


def require_there(what: str, number: int, count: int, *, of: str = "model", field: str = "", least: int = 0) -> None:
    """Raise `InputError` unless `number` is from `least` to the last of the `count` of `what` that there are."""
    if not least <= number < count:
        there = f"this {of} has {what}s 0 to {count - 1}"
        raise InputError(f"{what.capitalize()} {number} is not there: {there}.", field or what)


class Stopped(InputError):
    """Nobody waits for the answer any more, so it is not computed to its end."""

    SENTENCE = "This run was stopped before it had an answer."

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)


class Overdue(InputError):
    """Something that others hold was not free in time, so this run gives up instead of waiting for ever."""

    def __init__(self) -> None:
        super().__init__("The model was busy for too long. Please try again.")


class CheckpointUnavailable(InputError):
    """A checkpoint is unknown, cannot be downloaded now, or offers no weights that are safe to load."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, field="checkpoint")
