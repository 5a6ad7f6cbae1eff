"""Write on: a decoder that continues a text token by token (GPT-2, Radford et al., 2019)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from models.decoding.beam_search import BeamStep, Hypothesis, beam_search, best_first
from models.decoding.generate import Chooser, DecoderState, Step, byte_rule, generated_tokens, placed, reread, write
from models.decoding.sampling import LOOP_GUARD, Sampling
from models.engine import Ids
from models.errors import InputError
from models.outputs import Attentions, CompletionOutput, GeneratedToken, Prediction, Token
from models.tasks.base import Loaded, TaskModel, batch_of_one
from models.tasks.translation import MAX_BEAMS
from models.text.tokenizer import read_tokens

_LAST_SPACES = re.compile(r"[^\S\n]+\Z")
STRATEGIES = ("greedy", "beam", "sample")
MAX_NEW_TOKENS = 200
MAX_SEED = 2**32 - 1
MAX_LOOP_GUARD = 20


@dataclass(frozen=True)
class TextGenerationInput:
    """A prompt (empty: the start token) and how to choose each next token; only "sample" uses the last five settings.

    `kept` are the ids of a first part of the text that is given and not chosen, counted in `max_new_tokens`: with them
    a text goes on from another token than the one that was written. The seed counts from where the choice begins.
    `loop_guard` tokens in a row are drawn no third time, with 0 as often as it comes.
    """

    prompt: str
    max_new_tokens: int = 40
    strategy: str = "sample"
    num_beams: int = 4
    temperature: float = 0.8
    top_k: int = 50
    top_p: float = 0.95
    seed: int = 0
    loop_guard: int = LOOP_GUARD
    kept: tuple[int, ...] = ()


@dataclass(frozen=True)
class EncodedPrompt:
    """`ids` is `[1, token]`; `tokens` are the prompt's, or the start token that stands for an empty one."""

    ids: Ids
    tokens: tuple[Token, ...]
    inputs: TextGenerationInput


@dataclass(frozen=True)
class Written:
    """The written text: its steps, and for beam search every hypothesis, best first."""

    steps: tuple[Step, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    finished: bool = True


class TextGeneration(TaskModel[TextGenerationInput, EncodedPrompt, Written, CompletionOutput]):
    """A causal language model that can be read while it writes."""

    inputs_type = TextGenerationInput

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self.characters = byte_rule(self.tokenizer, self.settings.vocabulary)

    def preprocess(self, inputs: TextGenerationInput) -> EncodedPrompt:
        """Raises `InputError` for settings out of range and for a prompt that leaves no room to write."""
        check_settings(inputs)
        # A word brings its space along: after a space no word that models have learnt can begin.
        prompt = _LAST_SPACES.sub("", inputs.prompt)
        ids = self.tokenizer.encode(prompt).ids if prompt.strip() else []
        if not ids:
            start = self.tokenizer.bos_token_id
            if start is None:
                raise InputError("This model has no start token: please give it a word to begin with.", "prompt")
            ids = [start]
        if self.window - len(ids) < inputs.max_new_tokens:
            raise InputError(
                f"The prompt has {len(ids):,} tokens; {inputs.max_new_tokens} more would pass the {self.window:,} "
                "that this model reads at once. Please shorten it or ask for less.",
                "prompt",
            )
        if not all(0 <= token_id < len(self.tokenizer) for token_id in inputs.kept):
            raise InputError("This model does not know one of the tokens to go on from.", "kept")
        return EncodedPrompt(batch_of_one(ids), read_tokens(self.tokenizer, ids), inputs)

    def forward(self, encoded: EncodedPrompt) -> Written:
        """Write to the end by the strategy that was asked for."""
        kept, is_over = self._kept(encoded)
        if is_over:
            return Written(kept)
        if encoded.inputs.strategy == "beam":
            *_, last = self.search(encoded)
            return _found(last.finished, kept)
        return Written((*kept, *self._writing(encoded)))

    def postprocess(self, inputs: TextGenerationInput, encoded: EncodedPrompt, raw: Written) -> CompletionOutput:
        """The text after the prompt, with each token's probability and alternatives."""
        generated = generated_tokens(self.tokenizer, raw.steps)
        return self._output(encoded, raw, placed(generated, lambda ids: self.text_after(encoded, ids)))

    def stream(self, inputs: TextGenerationInput) -> Iterator[CompletionOutput]:
        """The output after each token; the last one is `finished`. Closing the iterator stops the writing.

        While beam search goes on, the output is its likeliest draft, which may still give way to another.
        """
        encoded = self.preprocess(inputs)
        # By the step's identity, which is quicker to look up than all its numbers; the step is held so that it stays.
        read: dict[int, tuple[Step, GeneratedToken]] = {}
        for written in self._growing(encoded):
            # Drafts share their first steps, so that what is new is always the end.
            new = [step for step in written.steps if id(step) not in read]
            old = written.steps[: len(written.steps) - len(new)]
            start = read[id(old[-1])][1].token.end if old else 0
            tokens = generated_tokens(self.tokenizer, new)
            tokens = placed(tokens, lambda ids: self.text_after(encoded, ids), [step.id for step in old], start)
            for step, token in zip(new, tokens, strict=True):
                read[id(step)] = (step, token)
            yield self._output(encoded, written, tuple(read[id(step)][1] for step in written.steps))

    def attend(self, inputs: TextGenerationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The masked self-attention over the prompt and what was `written`, from one forward pass."""
        encoded = self.preprocess(inputs)
        ids = [*encoded.ids[0].tolist(), *written]
        network, read = self.network, self.tensor(batch_of_one(ids))
        from models.tasks.attention import capture_decoder

        with self.lock:
            return capture_decoder(network, read, encoded.tokens + read_tokens(self.tokenizer, written))

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self.generation.end_ids

    def search(self, encoded: EncodedPrompt) -> Iterator[BeamStep]:
        """Beam search behind the prompt and what is kept, step by step; there is at least one step."""
        state = DecoderState(self.engine, self._given(encoded))
        beams, room = encoded.inputs.num_beams, self._room(encoded.inputs)
        return beam_search(state, self.generation, beams, room, characters=self.characters)

    def _growing(self, encoded: EncodedPrompt) -> Iterator[Written]:
        """The output after each token; the last one is finished."""
        steps, is_over = self._kept(encoded)
        if is_over:
            yield Written(steps)
            return
        if encoded.inputs.strategy == "beam":
            for searched in self.search(encoded):
                yield _draft(searched, steps) if searched.drafts else _found(searched.finished, steps)
            return
        for step in self._writing(encoded):
            steps = (*steps, step)
            finished = step.id in self.end_ids or len(steps) == encoded.inputs.max_new_tokens
            yield Written(steps, finished=finished)

    def _kept(self, encoded: EncodedPrompt) -> tuple[tuple[Step, ...], bool]:
        """The steps of what is kept as if they were written now, and whether the text is over with them."""
        inputs = encoded.inputs
        if not inputs.kept:
            return (), False
        ids = self._given(encoded)
        logits = self.logits(ids)
        steps = tuple(reread(self._chooser(encoded), ids, logits, encoded.ids.shape[1]))
        return steps, not self._room(inputs) or inputs.kept[-1] in self.end_ids

    def _writing(self, encoded: EncodedPrompt) -> Iterator[Step]:
        state = DecoderState(self.engine, self._given(encoded))
        return write(state, self._chooser(encoded), self._room(encoded.inputs))

    def _room(self, inputs: TextGenerationInput) -> int:
        """How many tokens are still to be chosen."""
        return inputs.max_new_tokens - len(inputs.kept)

    def _given(self, encoded: EncodedPrompt) -> Ids:
        """The ids of the prompt and of what is kept, `[1, token]`."""
        return np.concatenate([encoded.ids, batch_of_one(encoded.inputs.kept)], axis=1)

    def _chooser(self, encoded: EncodedPrompt) -> Chooser:
        """How each token is chosen, or judged where a beam search chooses."""
        inputs = encoded.inputs
        max_length = encoded.ids.shape[1] + inputs.max_new_tokens
        if inputs.strategy != "sample":
            return Chooser(self.generation, max_length, characters=self.characters)
        sampling = Sampling(inputs.temperature, inputs.top_k, inputs.top_p, inputs.seed)
        return Chooser(self.generation, max_length, sampling, inputs.loop_guard, self.characters)

    def _output(self, encoded: EncodedPrompt, raw: Written, generated: tuple[GeneratedToken, ...]) -> CompletionOutput:
        return CompletionOutput(
            self.identity,
            encoded.tokens,
            self.text_after(encoded, [step.id for step in raw.steps]),
            generated,
            tuple(Prediction(self.text_after(encoded, each.ids), each.score) for each in raw.hypotheses),
            raw.finished,
        )

    def text_after(self, encoded: EncodedPrompt, ids: Sequence[int]) -> str:
        """The text of `ids` as it follows the prompt: a tokenizer may treat a first token differently."""
        prompt = encoded.ids[0].tolist()
        before = self._decode(prompt)
        return self._decode([*prompt, *ids])[len(before) :]

    def _decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=True)


def _draft(searched: BeamStep, kept: tuple[Step, ...]) -> Written:
    """The likeliest draft of a step of beam search behind the `kept` tokens."""
    return Written(kept + searched.drafts[0], finished=False)


def _found(finished: Sequence[Hypothesis], kept: tuple[Step, ...]) -> Written:
    """The texts that beam search has `finished`, best first, after the `kept` tokens."""
    hypotheses = best_first(each.behind(kept) for each in finished)
    return Written(hypotheses[0].steps, hypotheses)


def check_settings(inputs: TextGenerationInput) -> None:
    """Raise `InputError`, with the range, for the first setting that is out of it."""
    if not isinstance(inputs.prompt, str):
        raise InputError("The prompt must be text.", "prompt")
    if inputs.strategy not in STRATEGIES:
        raise InputError(f"The strategy must be one of {', '.join(STRATEGIES)}.", "strategy")
    ranges: tuple[tuple[str, str, float, float], ...] = (
        ("max_new_tokens", "number of new tokens", 1, MAX_NEW_TOKENS),
        ("num_beams", "number of beams", 1, MAX_BEAMS),
        ("temperature", "temperature", 0.05, 5),
        ("top_k", "top-k", 0, 1000),
        ("top_p", "top-p", 0.01, 1),
        ("seed", "seed", 0, MAX_SEED),
        ("loop_guard", "loop guard", 0, MAX_LOOP_GUARD),
    )
    for field, name, least, most in ranges:
        if not least <= getattr(inputs, field) <= most:
            raise InputError(f"The {name} must be from {least:,} to {most:,}.", field)
    if len(inputs.kept) > inputs.max_new_tokens:
        raise InputError("The part to go on from is longer than the text may become.", "kept")
