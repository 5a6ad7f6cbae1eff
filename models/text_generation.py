"""Write on: a decoder that continues a text token by token (GPT-2, Radford et al., 2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.base import TaskModel, batch_of_one
from models.capture import capture_decoder
from models.decoder_state import DecoderState
from models.decoding import Choose, Hypothesis, Step, beam_search, end_ids, greedy, sampling, steps_of, write
from models.errors import InputError
from models.outputs import Attentions, CompletionOutput, GeneratedToken, Prediction, Token
from models.tokens import read_tokens
from models.translation import MAX_BEAMS

STRATEGIES = ("greedy", "beam", "sample")
MAX_NEW_TOKENS = 200
MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class TextGenerationInput:
    """A prompt (empty: the start token) and how to choose each next token; only "sample" uses the last four."""

    prompt: str
    max_new_tokens: int = 40
    strategy: str = "sample"
    num_beams: int = 4
    temperature: float = 0.8
    top_k: int = 50
    top_p: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class EncodedPrompt:
    """`ids` is `[1, token]`; `tokens` are the prompt's, or the start token that stands for an empty one."""

    ids: Tensor
    tokens: tuple[Token, ...]
    inputs: TextGenerationInput


@dataclass(frozen=True)
class Written:
    """What was written: its steps, and for beam search every hypothesis, best first."""

    steps: tuple[Step, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    finished: bool = True


class TextGeneration(TaskModel[TextGenerationInput, EncodedPrompt, Written, CompletionOutput]):
    """A causal language model that can be read while it writes."""

    inputs_type = TextGenerationInput

    def preprocess(self, inputs: TextGenerationInput) -> EncodedPrompt:
        """Raises `InputError` for settings out of range and for a prompt that leaves no room to write."""
        check_settings(inputs)
        ids = list(self.tokenizer(inputs.prompt)["input_ids"]) if inputs.prompt.strip() else []
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
        return EncodedPrompt(batch_of_one(ids, self.network), read_tokens(self.tokenizer, ids), inputs)

    def forward(self, encoded: EncodedPrompt) -> Written:
        """Write to the end by the strategy that was asked for."""
        if encoded.inputs.strategy == "beam":
            return self._search(encoded)
        return Written(tuple(self._steps(encoded)))

    def postprocess(self, inputs: TextGenerationInput, encoded: EncodedPrompt, raw: Written) -> CompletionOutput:
        """The text behind the prompt, with each token's probability and alternatives."""
        return self._output(encoded, raw, tuple(self._generated(step) for step in raw.steps))

    def stream(self, inputs: TextGenerationInput) -> Iterator[CompletionOutput]:
        """The output after each token; the last one is `finished`. Closing the iterator stops the writing.

        Beam search has nothing to show before its end and yields once.
        """
        encoded = self.preprocess(inputs)
        if inputs.strategy == "beam":
            yield self.postprocess(inputs, encoded, self.forward(encoded))
            return
        steps: tuple[Step, ...] = ()
        generated: tuple[GeneratedToken, ...] = ()
        for step in self._steps(encoded):
            steps, generated = (*steps, step), (*generated, self._generated(step))
            ends = step.id in end_ids(self.network.generation_config) or len(steps) == inputs.max_new_tokens
            yield self._output(encoded, Written(steps, finished=ends), generated)

    def attend(self, inputs: TextGenerationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The masked self-attention over the prompt and what was `written`, from one forward pass."""
        encoded = self.preprocess(inputs)
        ids = [*encoded.ids[0].tolist(), *written]
        with self.eager_attention():
            return capture_decoder(
                self.network, batch_of_one(ids, self.network), encoded.tokens + read_tokens(self.tokenizer, written)
            )

    def _steps(self, encoded: EncodedPrompt) -> Iterator[Step]:
        """Write token by token, greedily or by sampling."""
        inputs, config = encoded.inputs, self.network.generation_config
        max_length = encoded.ids.shape[1] + inputs.max_new_tokens
        choose: Choose
        if inputs.strategy == "greedy":
            choose = greedy(config, max_length)
        else:
            choose = sampling(
                config,
                max_length,
                temperature=inputs.temperature,
                top_k=inputs.top_k,
                top_p=inputs.top_p,
                seed=inputs.seed,
            )
        state = DecoderState(self.network, encoded.ids, self.lock)
        return write(state, choose, inputs.max_new_tokens, end_ids(config))

    def _search(self, encoded: EncodedPrompt) -> Written:
        """Beam search, then one pass over the best hypothesis for what each of its tokens was worth."""
        inputs, config = encoded.inputs, self.network.generation_config
        state = DecoderState(self.network, encoded.ids, self.lock)
        found = beam_search(state, config, inputs.num_beams, inputs.max_new_tokens, end_ids(config))
        written = batch_of_one(list(found[0].ids), self.network)
        logits = self.run(input_ids=torch.cat([encoded.ids, written], dim=1)).logits[0].float()
        return Written(steps_of(logits[encoded.ids.shape[1] - 1 : -1], found[0].ids), tuple(found))

    def _output(self, encoded: EncodedPrompt, raw: Written, generated: tuple[GeneratedToken, ...]) -> CompletionOutput:
        return CompletionOutput(
            self.identity,
            encoded.tokens,
            self._text_after(encoded, [step.id for step in raw.steps]),
            generated,
            tuple(Prediction(self._text_after(encoded, each.ids), each.score) for each in raw.hypotheses),
            raw.finished,
        )

    def _generated(self, step: Step) -> GeneratedToken:
        token, *others = read_tokens(self.tokenizer, [step.id, *(token_id for token_id, _ in step.alternatives)])
        scores = (score for _, score in step.alternatives)
        alternatives = tuple(Prediction(other.text, score) for other, score in zip(others, scores, strict=True))
        return GeneratedToken(token, step.probability, alternatives)

    def _text_after(self, encoded: EncodedPrompt, ids: Sequence[int]) -> str:
        """The text of `ids` as it follows the prompt: a decoder of text may treat a first token differently."""
        prompt = encoded.ids[0].tolist()
        before = self._decode(prompt)
        return self._decode([*prompt, *ids])[len(before) :]

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))


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
    )
    for field, name, least, most in ranges:
        if not least <= getattr(inputs, field) <= most:
            raise InputError(f"The {name} must be from {least:,} to {most:,}.", field)
