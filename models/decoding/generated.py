"""From the steps of a decoder to tokens that a reader can read."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from models.decoding.generate import Step
from models.outputs import Alternative, GeneratedToken
from models.text.tokenizer import Tokenizer
from models.text.tokens import read_tokens

_UNFINISHED = "\ufffd"
"""What decoders write for bytes that are no character yet."""


def generated_tokens(tokenizer: Tokenizer, steps: Sequence[Step]) -> tuple[GeneratedToken, ...]:
    """The token of each step with its likeliest alternatives, read by the tokenizer in one go."""
    ids = [token_id for step in steps for token_id in (step.id, *(other for other, _ in step.alternatives))]
    tokens = iter(read_tokens(tokenizer, ids))
    generated = []
    for step in steps:
        token = next(tokens)
        drawn = step.drawn.alternatives if step.drawn else (None,) * len(step.alternatives)
        alternatives = tuple(
            Alternative(next(tokens).text, probability, other, share)
            for (other, probability), share in zip(step.alternatives, drawn, strict=True)
        )
        if step.drawn is None:
            generated.append(GeneratedToken(token, step.probability, alternatives, copied=step.copied))
        else:
            own = step.drawn
            generated.append(
                GeneratedToken(token, step.probability, alternatives, own.probability, own.left, own.barred)
            )
    return tuple(generated)


def placed(
    generated: Sequence[GeneratedToken], decode: Callable[[list[int]], str], before: Sequence[int] = (), start: int = 0
) -> tuple[GeneratedToken, ...]:
    """`generated` with the characters that each stands for in the text, found by decoding the text up to each of them.

    `before` are the ids written before, which end at the character `start`. A character whose bytes are in several
    tokens stands with the last of them.
    """
    ids, tokens = list(before), []
    for each in generated:
        ids.append(each.token.id)
        end = max(start, len(decode(ids).rstrip(_UNFINISHED)))
        tokens.append(replace(each, token=replace(each.token, start=start, end=end)))
        start = end
    return tuple(tokens)
