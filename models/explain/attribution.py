"""What each token did for a decision: integrated gradients (Sundararajan, Taly and Yan, 2017), by Captum."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from captum.attr import IntegratedGradients
from torch import Tensor, nn

from models.cancellation import go_on
from models.errors import InputError
from models.explain.decisions import Decision, decision_of
from models.outputs import Attribution
from models.tasks.base import AnyTaskModel

METHOD = "integrated gradients"
MAX_TOKENS = 512
COMPLETE_WITHIN = 0.05
"""How much of the difference of the logits the scores may miss or add."""

# Points on the way from the baseline to the text. Over the bundled checkpoints 24 miss under 1 % for nearly every text;
# where they miss more, the way is measured again more finely.
_STEPS = (24, 64, 160)
# Gradients need the numbers of every layer at once: so many tokens take 350 MB in a BERT-base.
_TOKENS_AT_ONCE = 512
# Below this difference of logits, five per cent of it are less than the arithmetic of a network is good for.
_LEAST_DIFFERENCE = 0.1


def attribute(model: AnyTaskModel, inputs: Any, written: tuple[int, ...] = (), target: str = "") -> Attribution:
    """The share of each token in the decision called `target` (see `decision_of`), in units of its logit.

    The way leads from a text whose words are all blank to the text itself: the model's own mask stands for them, which
    it has learned to read as "a word, whichever"; a model without one starts from embeddings of zero. Special tokens
    and the blank that is asked about are the same at both ends, so that their scores are zero. Raises `InputError` for
    a target that is not there, for more than 512 tokens and for a text without a token that could count.
    """
    decision = decision_of(model, inputs, written, target)
    if len(decision.tokens) > MAX_TOKENS:
        raise InputError(
            f"That is {len(decision.tokens):,} tokens, and attribution is worked out for at most {MAX_TOKENS}."
        )
    text, blank = _both_ends(model, decision)
    if torch.equal(text, blank):
        raise InputError("There is no word in this text that could be left blank.")

    def logit(embeddings: Tensor) -> Tensor:
        return _logit(model, decision, embeddings)

    with torch.no_grad():
        value, baseline_value = (float(logit(each)) for each in (text, blank))
    integrated = IntegratedGradients(logit)
    rows = max(1, _TOKENS_AT_ONCE // len(decision.tokens))
    for steps in _STEPS:
        with torch.enable_grad():
            found = integrated.attribute(text, baselines=blank, n_steps=steps, internal_batch_size=rows)
        scores = found.sum(dim=-1)[0].double()
        delta = float(scores.sum()) - (value - baseline_value)
        if abs(delta) <= COMPLETE_WITHIN * max(abs(value - baseline_value), _LEAST_DIFFERENCE) / 2:
            break
    return Attribution(
        decision.tokens,
        tuple(scores.tolist()),
        decision.target,
        METHOD,
        delta,
        value,
        baseline_value,
        baseline=str(model.tokenizer.mask_token or ""),
        steps=steps,
    )


def _both_ends(model: AnyTaskModel, decision: Decision) -> tuple[Tensor, Tensor]:
    """The embeddings `[1, token, hidden]` of the text, and of the text with its words blank."""
    embed = model.network.get_input_embeddings()
    kept = torch.tensor([token.is_mark or token.is_blank for token in decision.tokens])
    kept = kept.to(decision.ids.device)
    with torch.no_grad():
        text: Tensor = embed(decision.ids)
        if model.tokenizer.mask_token_id is None:
            blank = torch.zeros_like(text)
        else:
            blank = embed(torch.full_like(decision.ids, model.tokenizer.mask_token_id))
    return text, torch.where(kept[None, :, None], text, blank)


def _logit(model: AnyTaskModel, decision: Decision, embeddings: Tensor) -> Tensor:
    """The decision's logit `[row]` over embeddings `[row, token, hidden]`."""
    others = {name: tensor.expand(len(embeddings), -1) for name, tensor in decision.other_inputs.items()}
    go_on()
    # The lock is held for one batch: between two of them, others have their turn.
    with model.lock, _scored_at(model, decision.position):
        return decision.logit(model.network(inputs_embeds=embeddings, **others)).float()


@contextmanager
def _scored_at(model: AnyTaskModel, position: int | None) -> Iterator[None]:
    """While it is open, the network scores its vocabulary at one position only; call it under the model's lock."""
    if position is None:
        yield
        return
    head: nn.Module = model.network.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _head, hidden: (hidden[0][:, [position]],))
    try:
        yield
    finally:
        hook.remove()
