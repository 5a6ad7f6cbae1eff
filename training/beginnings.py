"""What a model writes behind nothing at all, set by one vector: that of the first place, where only the start stands.

After an average of weights (`averaging.py`) a model writes as well as before, but begins as the mean of both would. All
else stays as it is.
"""

import torch
from torch.nn import functional
from transformers import GPT2LMHeadModel

from training.windows import Part, Source, windows_of

STEPS, RATE, PLACES = 60, 0.02, 48
LATER = 10.0
"""The weight of the mean loss behind the first place, for texts are to go on as well as they did."""


def learn_to_begin(model: GPT2LMHeadModel, sources: list[Source], shares: tuple[float, ...]) -> None:
    """Let `model` begin as `sources` do, each so often as its share of `shares` says; by Adam, its rate decaying."""
    part = Part("begin", shares, shares, steps=STEPS, warmup_steps=0, rates=1.0, opened=1.0)
    places = model.transformer.wpe.weight
    before = places[0].detach().clone()
    first = before.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([first], lr=RATE)
    model.eval()
    for step, batch in zip(range(STEPS), windows_of(sources, 0, part), strict=False):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        pieces = batch["pieces"][:, : PLACES + 1].to(places.device)
        words = model.transformer.wte(pieces[:, :-1]).detach().clone()
        # The model adds the old vector itself.
        words[:, 0] += first - before
        logits = model(inputs_embeds=words, use_cache=False).logits
        losses = functional.cross_entropy(logits.transpose(1, 2).float(), pieces[:, 1:], reduction="none")
        loss = losses[:, 0].mean() + LATER * losses[:, 1:].mean()
        (gradient,) = torch.autograd.grad(loss, [first])
        first.grad = gradient
        optimizer.step()
    with torch.no_grad():
        places[0] = first
