"""Write on: a decoder that continues a text token by token (GPT-2, Radford et al., 2019)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.decoding.beam_search import BeamStep, Hypothesis, beam_search, best_first
from models.decoding.generate import Chooser, DecoderState, Step, byte_rule, generated_tokens, reread, write
from models.decoding.sampling import LOOP_GUARD, Sampling
from models.engine import Ids
from models.errors import InputError
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token
from models.outputs.writing import CompletionOutput, GeneratedToken
from models.tasks.base import MAX_BEAMS, MAX_SEED, TaskModel, batch_of_one, require, require_between
from models.text.tokenizer import read_tokens
from models.wording import Sentence

_LAST_SPACES = re.compile(r"[^\S\n]+\Z")
STRATEGIES = ("greedy", "beam", "sample")
MAX_NEW_TOKENS = 200
MAX_LOOP_GUARD = 20
_TOO_LONG = Sentence(
    "The prompt has {length:,} tokens; {more} more would pass the {window:,} that this model reads at once here. "
    "Please shorten it or ask for less."
)
_NO_START = Sentence("This model has no start token: please give it a word to begin with.")
_KEPT_TOO_LONG = Sentence("The part to go on from is longer than the text may become.")


@dataclass(frozen=True)
class TextGenerationInput:
    """A prompt (empty: the start token) and settings; `temperature` to `loop_guard` are used by "sample" alone.

    `kept` are the ids of a given first part of the text, counted in `max_new_tokens`: with them a text can continue
    from another token than the one that was written. The random draws of `seed` begin after them. A run of `loop_guard`
    tokens is not drawn a third time; 0 turns this off.
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

    @property
    def room(self) -> int:
        """The number of tokens that are still to be chosen."""
        return self.max_new_tokens - len(self.kept)


@dataclass(frozen=True)
class EncodedPrompt:
    """The `ids` `[1, token]` and `tokens` of a prompt, or of the start token that stands for an empty one."""

    ids: Ids
    tokens: tuple[Token, ...]
    inputs: TextGenerationInput

    @property
    def given(self) -> Ids:
        """The ids of the prompt and of the kept part, `[1, token]`."""
        return np.concatenate([self.ids, batch_of_one(self.inputs.kept)], axis=1)


@dataclass(frozen=True)
class Written:
    """The written text: its steps, and for beam search every hypothesis, best first."""

    steps: tuple[Step, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    finished: bool = True


class TextGeneration(TaskModel[TextGenerationInput, EncodedPrompt, Written, CompletionOutput]):
    """A causal language model whose text can be streamed while it is written."""

    inputs_type = TextGenerationInput

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.characters = byte_rule(self.tokenizer, self.settings.vocabulary)

    def preprocess(self, inputs: TextGenerationInput) -> EncodedPrompt:
        """Tokenize the prompt; raises `InputError` for settings out of range and a prompt without room to write."""
        check_settings(inputs)
        # Pieces that begin a word include the space before it: after a space no word that models have learnt can begin.
        prompt = _LAST_SPACES.sub("", inputs.prompt)
        ids = self.tokenizer.encode(prompt).ids if prompt.strip() else []
        if not ids:
            start = self.tokenizer.settings.bos_token_id
            if start is None:
                raise InputError(_NO_START, "prompt")
            ids = [start]
        window, more = self.settings.window, inputs.max_new_tokens
        require(len(ids) + more <= window, "prompt", _TOO_LONG, length=len(ids), more=more, window=window)
        self.require_known(inputs.kept)
        return EncodedPrompt(batch_of_one(ids), read_tokens(self.tokenizer, ids), inputs)

    def forward(self, encoded: EncodedPrompt) -> Written:
        """Write to the end by the strategy that was asked for."""
        *_, written = self._growing(encoded)
        return written

    def postprocess(self, inputs: TextGenerationInput, encoded: EncodedPrompt, raw: Written) -> CompletionOutput:
        """The text after the prompt, with each token's probability and alternatives."""
        generated = generated_tokens(self.tokenizer, raw.steps, lambda ids: self.text_after(encoded, ids))
        return self._output(encoded, raw, generated)

    def stream(self, inputs: TextGenerationInput) -> Iterator[CompletionOutput]:
        """The output after each token; the last one is `finished`. Closing the iterator stops the writing.

        While beam search goes on, the output is its likeliest draft, which may still give way to another.
        """
        encoded = self.preprocess(inputs)
        steps: tuple[Step, ...] = ()
        tokens: tuple[GeneratedToken, ...] = ()
        for written in self._growing(encoded):
            # Drafts share their first steps, so only the steps after these are decoded.
            same = [old is new for old, new in zip(steps, written.steps, strict=False)]
            known = same.index(False) if False in same else len(same)
            steps, tokens = written.steps, tokens[:known]
            tokens += generated_tokens(
                self.tokenizer,
                steps[known:],
                lambda ids: self.text_after(encoded, ids),
                [step.id for step in steps[:known]],
                tokens[-1].token.end if tokens else 0,
            )
            yield self._output(encoded, written, tokens)

    def attend(self, inputs: TextGenerationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The masked self-attention over the prompt and what was `written`, from one forward pass."""
        encoded = self.preprocess(inputs)
        return self.attend_decoder(encoded.tokens + read_tokens(self.tokenizer, written))

    def search(self, encoded: EncodedPrompt) -> Iterator[BeamStep]:
        """Yield the steps, one or more, of beam search after the prompt and the kept part."""
        inputs, state = encoded.inputs, DecoderState(self.engine, encoded.given)
        return beam_search(state, self.generation, inputs.num_beams, inputs.room, characters=self.characters)

    def _growing(self, encoded: EncodedPrompt) -> Iterator[Written]:
        """Yield the written text after each token, the kept part first; the last one is finished."""
        inputs, prompt_length = encoded.inputs, encoded.ids.shape[1]
        sampling, guard = None, 0
        if inputs.strategy == "sample":
            sampling = Sampling(inputs.temperature, inputs.top_k, inputs.top_p, inputs.seed)
            guard = inputs.loop_guard
        max_length = prompt_length + inputs.max_new_tokens
        chooser = Chooser(self.generation, max_length, sampling, guard, self.characters)
        steps: tuple[Step, ...] = ()
        if inputs.kept:
            steps = reread(chooser, encoded.given, self.logits(encoded.given), prompt_length)
        if not inputs.room or (inputs.kept and inputs.kept[-1] in self.generation.end_ids):
            yield Written(steps)
        elif inputs.strategy == "beam":
            for searched in self.search(encoded):
                if searched.drafts:
                    yield Written(steps + searched.drafts[0], finished=False)
                else:
                    hypotheses = best_first(each.behind(steps) for each in searched.finished)
                    yield Written(hypotheses[0].steps, hypotheses)
        else:
            for step in write(DecoderState(self.engine, encoded.given), chooser, inputs.room):
                steps = (*steps, step)
                over = step.id in self.generation.end_ids or len(steps) == inputs.max_new_tokens
                yield Written(steps, finished=over)

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
        """The text of `ids`, decoded together with the prompt: a tokenizer may treat a first token differently."""
        prompt = encoded.ids[0].tolist()
        before, whole = (self.tokenizer.decode(each, skip_special_tokens=True) for each in (prompt, [*prompt, *ids]))
        return whole[len(before) :]


def check_settings(inputs: TextGenerationInput) -> None:
    """Raise `InputError`, with the range, for the first setting that is out of it."""
    require(isinstance(inputs.prompt, str), "prompt", Sentence("The prompt must be text."))
    said = Sentence("The strategy must be one of {strategies}.", strategies=", ".join(STRATEGIES))
    require(inputs.strategy in STRATEGIES, "strategy", said)
    ranges: tuple[tuple[str, str, float, float], ...] = (
        ("max_new_tokens", Sentence("The number of new tokens"), 1, MAX_NEW_TOKENS),
        ("num_beams", Sentence("The number of beams"), 1, MAX_BEAMS),
        ("temperature", Sentence("The temperature"), 0.05, 5),
        ("top_k", Sentence("The top-k"), 0, 1000),
        ("top_p", Sentence("The top-p"), 0.01, 1),
        ("seed", Sentence("The seed"), 0, MAX_SEED),
        ("loop_guard", Sentence("The loop guard"), 0, MAX_LOOP_GUARD),
    )
    for field, name, least, most in ranges:
        require_between(least, getattr(inputs, field), most, field, name)
    require(len(inputs.kept) <= inputs.max_new_tokens, "kept", _KEPT_TOO_LONG)
