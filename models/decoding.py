"""The decode loop: greedy, sampling and beam search over one text, equal to transformers' `generate`.

Written out here, rather than called, so that a token can be shown as soon as it is chosen, a visitor can stop
between two tokens, and each step's probabilities are at hand.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import (
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    GenerationConfig,
    LogitNormalization,
    LogitsProcessorList,
    NoBadWordsLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from models.decoder_state import DecoderState

NO_SCORE = -1e9
ALTERNATIVES = 10


@dataclass(frozen=True)
class Step:
    """One token that was chosen: its id, the model's own probability of it, and its likeliest alternatives."""

    id: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Hypothesis:
    """A finished beam: the ids that were written and their mean log-probability (length penalty 1)."""

    ids: tuple[int, ...]
    score: float


Choose = Callable[[Tensor, Tensor], int]
"""From the ids so far `[1, token]` and the logits `[vocabulary]` to the next id."""


def greedy(config: GenerationConfig, max_length: int) -> Choose:
    """Always the likeliest token."""
    processors = processors_of(config, max_length)

    def choose(ids: Tensor, logits: Tensor) -> int:
        return int(processors(ids, logits[None]).argmax())  # type: ignore[arg-type]

    return choose


def sampling(
    config: GenerationConfig,
    max_length: int,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
) -> Choose:
    """A token drawn after temperature, top-k and nucleus cut-offs (Holtzman et al., 2020); same seed, same draw.

    `top_k=0` and `top_p=1` cut nothing off.
    """
    processors = processors_of(config, max_length)
    processors.append(TemperatureLogitsWarper(float(temperature)))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        processors.append(TopPLogitsWarper(top_p))
    generator = torch.Generator().manual_seed(seed)

    def choose(ids: Tensor, logits: Tensor) -> int:
        probabilities = processors(ids, logits[None]).softmax(dim=-1)  # type: ignore[arg-type]
        return int(torch.multinomial(probabilities.cpu(), 1, generator=generator))

    return choose


@torch.inference_mode()
def write(state: DecoderState, choose: Choose, max_new_tokens: int, eos_ids: Sequence[int]) -> Iterator[Step]:
    """Write up to `max_new_tokens` tokens, one at a time; an end token is yielded and ends the text."""
    for _ in range(max_new_tokens):
        logits = state.next_logits()
        chosen = choose(state.ids, logits[0])
        yield from steps_of(logits, [chosen])
        if chosen in eos_ids:
            return
        state.append(torch.tensor([chosen], device=logits.device))


def steps_of(logits: Tensor, ids: Sequence[int]) -> tuple[Step, ...]:
    """What each of `ids` was worth by the `logits` `[step, vocabulary]` it was chosen from."""
    probabilities = logits.softmax(dim=-1)
    best = probabilities.topk(min(ALTERNATIVES, logits.shape[-1]), dim=-1)
    return tuple(
        Step(chosen, float(row[chosen]), tuple(zip(others, scores, strict=True)))
        for chosen, row, others, scores in zip(
            ids, probabilities, best.indices.tolist(), best.values.tolist(), strict=True
        )
    )


@torch.inference_mode()
def beam_search(
    state: DecoderState, config: GenerationConfig, num_beams: int, max_new_tokens: int, eos_ids: Sequence[int]
) -> list[Hypothesis]:
    """The `num_beams` best texts, best first, as transformers' `generate` with `num_return_sequences=num_beams`.

    `state` holds the prompt in one row. Scores are sums of log-probabilities over the number of new tokens to the power
    of the length penalty (Wu et al., 2016, without their constant).
    """
    prompt_length = state.ids.shape[1]
    max_length = prompt_length + max_new_tokens
    processors = processors_of(config, max_length)
    penalty = 1.0 if config.length_penalty is None else float(config.length_penalty)
    stop_early = config.early_stopping is True
    candidates_kept = max(2, 1 + len(eos_ids)) * num_beams
    ends = torch.tensor(list(eos_ids), device=state.ids.device)

    finished: list[Hypothesis] = []
    scores = torch.full((num_beams,), NO_SCORE, device=state.ids.device)
    scores[0] = 0.0
    logits = state.next_logits()
    state.reorder(torch.zeros(num_beams, dtype=torch.long, device=state.ids.device))
    logits = logits.expand(num_beams, -1)
    for length in range(1, max_new_tokens + 1):
        log_probabilities = logits.log_softmax(dim=-1)
        totals = processors(state.ids, log_probabilities) + scores[:, None]  # type: ignore[arg-type]
        best = totals.flatten().topk(candidates_kept)
        beams, ids = best.indices // totals.shape[1], best.indices % totals.shape[1]
        ended = torch.isin(ids, ends)
        hits = ended if length < max_new_tokens else torch.ones_like(ended)
        # A candidate that ends counts only among the first `num_beams`; the rest stand by to fill their places.
        if not (stop_early and len(finished) == num_beams):
            for rank in range(num_beams):
                if hits[rank] and best.values[rank] > NO_SCORE / 2:
                    written = (*state.ids[beams[rank], prompt_length:].tolist(), int(ids[rank]))
                    finished.append(Hypothesis(written, float(best.values[rank]) / length**penalty))
            finished = sorted(finished, key=lambda each: -each.score)[:num_beams]
        if length == max_new_tokens or (stop_early and len(finished) == num_beams):
            break
        going_on = (best.values + hits * NO_SCORE).topk(num_beams).indices
        scores = best.values[going_on]
        best_length = max_new_tokens if config.early_stopping == "never" and penalty > 0 else length
        if len(finished) == num_beams and float(scores[0]) / best_length**penalty <= finished[-1].score:
            break
        state.reorder(beams[going_on])
        state.append(ids[going_on])
        logits = state.next_logits()
    return finished


def processors_of(config: GenerationConfig, max_length: int) -> LogitsProcessorList:
    """The logits processors that a checkpoint's own generation settings ask for, in `generate`'s order."""
    processors = LogitsProcessorList()
    if config.no_repeat_ngram_size:
        processors.append(NoRepeatNGramLogitsProcessor(config.no_repeat_ngram_size))
    if config.bad_words_ids:
        processors.append(NoBadWordsLogitsProcessor(config.bad_words_ids, config.eos_token_id))
    if config.forced_bos_token_id is not None:
        processors.append(ForcedBOSTokenLogitsProcessor(config.forced_bos_token_id))
    if config.forced_eos_token_id is not None:
        processors.append(ForcedEOSTokenLogitsProcessor(max_length, config.forced_eos_token_id))
    if config.renormalize_logits:
        processors.append(LogitNormalization())
    return processors


def end_ids(config: GenerationConfig) -> tuple[int, ...]:
    """The ids that end a text, none for a checkpoint that has no end token."""
    ids = config.eos_token_id
    if ids is None:
        return ()
    return tuple(int(each) for each in ids) if isinstance(ids, list | tuple) else (int(ids),)
