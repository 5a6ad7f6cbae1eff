"""From the steps of a decoder to tokens that a reader can read."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from models.decoding import Step
from models.outputs import Alternative, GeneratedToken
from models.tokens import read_tokens


def generated_tokens(tokenizer: PreTrainedTokenizerBase, steps: Sequence[Step]) -> tuple[GeneratedToken, ...]:
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
            generated.append(GeneratedToken(token, step.probability, alternatives))
        else:
            own = step.drawn
            generated.append(
                GeneratedToken(token, step.probability, alternatives, own.probability, own.left, own.barred)
            )
    return tuple(generated)
