"""One step of training on a text: BERT's masks (Devlin et al., 2019, section 3.1 and appendix A.1), or the next token.

Of all tokens 15 % are chosen. Of the chosen, 80 % become `[MASK]`, 10 % another token, and 10 % stay as they are; the
loss counts the chosen alone. A causal model predicts every next token instead.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from models.decoding.sampling import log_softmax
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token
from models.outputs.training import (
    BLANKED,
    EXCHANGED,
    LEFT,
    MASKED,
    NEXT,
    LearnedPlace,
    PartGradient,
    TrainingStepOutput,
)
from models.registry import Task
from models.tasks.base import MAX_SEED, AnyTaskModel, TaskModel, batch_of_one, require, require_between
from models.tasks.surprise import attend_to, read
from models.tasks.text_generation import TextGeneration
from models.text.tokenizer import read_tokens, readable
from models.wording import Sentence

if TYPE_CHECKING:
    from models.engine.gradient_step import GradientStep

CHOSEN_SHARE = 0.15
BLANKED_SHARE, EXCHANGED_SHARE = 0.8, 0.1
LONGEST = 128
"""The most tokens of a text, special ones included: gradients need the activations of every layer at once."""

RATE = 0.001
"""The learning rate of the step: small, and large enough for a change that can be seen."""

_TOO_LONG = Sentence("That is {length:,} tokens, and a step is worked out for at most {most}. Please shorten it.")
_BLANKS_ALONE = Sentence("The text has nothing but blanks. Please write words: they are blanked here.")
MOST_SEED = MAX_SEED
_UNUSED = "[unused"


@dataclass(frozen=True)
class TrainingStepInput:
    """A text, the objective, `masked` or `next`, and the seed of the choice of tokens."""

    text: str
    objective: str = MASKED
    seed: int = 0


@dataclass(frozen=True)
class Lesson:
    """The `ids` that the model reads and the `targets` to predict at `places`; `tokens` are those of the text.

    `positions` are the places of the targets in the text, and `fates` what was done to them.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]
    targets: tuple[int, ...]
    tokens: tuple[Token, ...]
    positions: tuple[int, ...]
    fates: tuple[str, ...]


class TrainingStep(TaskModel[TrainingStepInput, Lesson, "GradientStep", TrainingStepOutput]):
    """A masked language model that learns from a text, or, for the next token, the completion model `writer`.

    The shared network does not change: the step is made on copies of its parameters.
    """

    inputs_type = TrainingStepInput
    asks: ClassVar = {"writer": Task.COMPLETION}
    writer: TextGeneration

    def preprocess(self, inputs: TrainingStepInput) -> Lesson:
        """Return the lesson; raises `InputError` for empty or too long text, or a wrong objective or seed."""
        said = Sentence("The objective must be {masked} or {next}.", masked=MASKED, next=NEXT)
        require(inputs.objective in (MASKED, NEXT), "objective", said)
        require_between(0, inputs.seed, MOST_SEED, "seed", Sentence("The seed"))
        lesson = self._masked(inputs.text, inputs.seed) if inputs.objective == MASKED else self._next(inputs.text)
        length, most = len(lesson.ids), min(LONGEST, self._learner(inputs).settings.window)
        require(length <= most, "text", _TOO_LONG, length=length, most=most)
        return lesson

    def forward(self, encoded: Lesson) -> "GradientStep":
        """Take the step with the exact network, in float32."""
        learner: AnyTaskModel = self if any(encoded.fates) else self.writer
        network = learner.network
        from models.engine.gradient_step import gradient_step

        return gradient_step(network, learner.lock, batch_of_one(encoded.ids), encoded.places, encoded.targets, RATE)

    def postprocess(self, inputs: TrainingStepInput, encoded: Lesson, raw: "GradientStep") -> TrainingStepOutput:
        """The loss at each place, the token that the model found likeliest there, and the norms of the gradients."""
        from models.engine.gradient_step import shares_embeddings

        learner = self._learner(inputs)
        logs, logs_after = log_softmax(raw.before), log_softmax(raw.after)
        rows = range(len(encoded.places))
        right, right_after = (each[rows, encoded.targets].astype(float) for each in (logs, logs_after))
        likeliest = logs.argmax(axis=1).tolist()
        read_as = read_tokens(learner.tokenizer, encoded.ids)
        places = tuple(
            LearnedPlace(
                encoded.positions[row],
                encoded.fates[row],
                read_as[encoded.places[row]].text,
                float(-right[row]),
                math.exp(right[row]),
                math.exp(right_after[row]),
                Prediction(readable(learner.tokenizer, likeliest[row]), math.exp(logs[row, likeliest[row]])),
            )
            for row in rows
        )
        gradients = tuple(PartGradient(part, norm, raw.sizes[part]) for part, norm in raw.norms.items())
        loss, after = (float(-each.mean()) for each in (right, right_after))
        shared = shares_embeddings(learner.network)
        return TrainingStepOutput(
            learner.looked_into, encoded.tokens, inputs.objective, places, loss, after, RATE, gradients, shared
        )

    def attend(self, inputs: TrainingStepInput, written: tuple[int, ...] = ()) -> Attentions:
        """The attention over the text as the model reads it."""
        lesson = self.preprocess(inputs)
        if inputs.objective == NEXT:
            return attend_to(self.writer, read(self.writer, inputs.text))
        shown = tuple(replace(each, id=own) for each, own in zip(lesson.tokens, lesson.ids, strict=True))
        return self.attend_encoder(shown, {"input_ids": batch_of_one(lesson.ids)})

    def _learner(self, inputs: TrainingStepInput) -> AnyTaskModel:
        return self if inputs.objective == MASKED else self.writer

    def _masked(self, text: str, seed: int) -> Lesson:
        """The lesson for a seed: the number of chosen tokens is fixed, which ones and their fates are random."""
        encoded, tokens = self.read_text(text)
        draw = np.random.default_rng(seed)
        words = [place for place, token in enumerate(tokens) if not token.is_mark and not token.is_blank]
        require(bool(words), "text", _BLANKS_ALONE)
        count = max(1, round(CHOSEN_SHARE * len(words)))
        chosen = sorted(draw.permutation(words)[:count].tolist())
        ids, fates = list(encoded.ids), []
        for place in chosen:
            chance = draw.random()
            if chance < BLANKED_SHARE:
                ids[place], fate = self._mask_id, BLANKED
            elif chance < BLANKED_SHARE + EXCHANGED_SHARE:
                ids[place], fate = self._other_than(ids[place], draw), EXCHANGED
            else:
                fate = LEFT
            fates.append(fate)
        targets = tuple(encoded.ids[place] for place in chosen)
        return Lesson(tuple(ids), tuple(chosen), targets, tokens, tuple(chosen), tuple(fates))

    def _next(self, text: str) -> Lesson:
        tokens = read(self.writer, text).tokens
        ids = tuple(token.id for token in tokens)
        positions = tuple(range(1, len(ids)))
        return Lesson(ids, tuple(range(len(ids) - 1)), ids[1:], tokens, positions, ("",) * len(positions))

    @property
    def _mask_id(self) -> int:
        mask_id = self.tokenizer.settings.mask_token_id
        assert mask_id is not None  # noqa: S101
        return mask_id

    def _other_than(self, own: int, draw: np.random.Generator) -> int:
        """Another token at random; tokens of BERT's vocabulary that stand for nothing are passed over."""
        while True:
            other = int(draw.integers(len(self.tokenizer)))
            (token,) = read_tokens(self.tokenizer, [other])
            if other != own and not token.special and not token.piece.startswith(_UNUSED):
                return other
