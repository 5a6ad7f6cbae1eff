"""A tiny model that learns one text: a decoder over characters, made anew for each run and thrown away afterwards.

It is GPT's design (Radford et al., 2018) at a thousandth of its size, and learns the text by heart.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from models.outputs.base import LoadedCheckpoint
from models.outputs.training import TinyModelOutput
from models.registry import Checkpoint
from models.tasks.base import MAX_SEED, require, require_between, require_text
from models.wording import Sentence

if TYPE_CHECKING:
    from models.engine.tiny_decoder import Training

LEAST, LONGEST = 100, 2_000
"""The fewest and the most characters of a text."""

MOST_STEPS, MOST_S = 800, 20.0
"""Training ends after this many steps or this many seconds, whichever comes first."""

REPORTS, SAMPLES = 40, 8
_TOO_SHORT = Sentence(
    "The text has {length:,} characters, and from {least} to {most:,} can be learned here. That is too little to learn "
    "from."
)
_TOO_LONG = Sentence(
    "The text has {length:,} characters, and from {least} to {most:,} can be learned here. Please shorten it."
)


@dataclass(frozen=True)
class TinyModelInput:
    """A text to learn, the number of steps, and the seed of all random numbers."""

    text: str
    steps: int = 400
    seed: int = 0


class TinyModel:
    """A network made, trained and dropped in each run. It answers like a `TaskModel`, without file or tokenizer."""

    inputs_type: ClassVar[type] = TinyModelInput
    held_bytes: ClassVar[int] = 0

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def __call__(self, **fields: Any) -> TinyModelOutput:
        """Return the result of one run; raises `InputError` when the visitor can mend it."""
        return self.answer(TinyModelInput(**fields))

    def answer(self, inputs: TinyModelInput) -> TinyModelOutput:
        """Return the result after the last step."""
        *_, last = self.stream(inputs)
        return last

    def stream(self, inputs: TinyModelInput) -> Iterator[TinyModelOutput]:
        """Yield the progress, from before the first step on; raises `InputError` for a text that cannot be learned."""
        text = checked(inputs)
        from models.engine.tiny_decoder import Training, one_thread

        training = Training(text, inputs.seed)
        every, ends = max(1, inputs.steps // REPORTS), time.monotonic() + MOST_S
        with one_thread():
            training.report(sample=True)
        yield self._so_far(training, finished=False)
        finished = False
        while not finished:
            # Each step of this generator may run in another thread, and a caller may wait long before the next.
            with one_thread():
                training.learn(min(every, inputs.steps - training.step), ends)
                finished = training.step >= inputs.steps or time.monotonic() >= ends
                training.report(sample=finished or training.step // every % (REPORTS // SAMPLES) == 0)
            yield self._so_far(training, finished)

    def _so_far(self, training: "Training", finished: bool) -> TinyModelOutput:
        from models.engine.tiny_decoder import digest_of, longest_copy

        own, samples = self.checkpoint, tuple(training.samples)
        return TinyModelOutput(
            LoadedCheckpoint(own.name, digest_of(training.network), own.license),
            (),
            sum(each.numel() for each in training.network.parameters()),
            training.alphabet,
            training.read,
            len(training.ids) - training.read,
            training.step,
            tuple(training.course),
            samples,
            longest_copy(samples[-1].text, training.text),
            finished,
        )


def checked(inputs: TinyModelInput) -> str:
    """The text; raises `InputError` where it is too short or too long, or a setting is out of range."""
    text = require_text(inputs.text)
    said = _TOO_SHORT if len(text) < LEAST else _TOO_LONG
    require(LEAST <= len(text) <= LONGEST, "text", said, length=len(text), least=LEAST, most=LONGEST)
    require_between(1, inputs.steps, MOST_STEPS, "steps", Sentence("The number of steps"))
    require_between(0, inputs.seed, MAX_SEED, "seed", Sentence("The seed"))
    return text
