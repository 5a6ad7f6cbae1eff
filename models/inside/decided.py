"""In which layer each written token was decided: where the logit lens first makes it the likeliest next token."""

import numpy as np
import torch
from torch import Tensor, nn

from models.decoding.scores import without
from models.engine import Logits
from models.tasks.base import batch_of_one
from models.tasks.text_generation import TextGeneration, TextGenerationInput


def decided_layers(
    model: TextGeneration, inputs: TextGenerationInput, written: tuple[int, ...]
) -> tuple[int | None, ...]:
    """For each of the ids `written` after the prompt, the first layer, from 0, after which it is the likeliest.

    The vector after each layer is read by the model's own last step, its final norm and its output embedding
    (nostalgebraist, 2020). Tokens that would have broken a character are no rivals. `None` stands
    for a token that is the likeliest after no layer: chance or a search chose it. One forward pass over prompt and
    text, in float32.
    """
    if not written:
        return ()
    encoded = model.preprocess(inputs)
    prompt = encoded.ids.shape[1]
    ids = np.concatenate([encoded.ids, batch_of_one(written)], axis=1)
    trunk = model.network.base_model
    norm: nn.Module = getattr(trunk, "ln_f", nn.Identity())
    head = model.network.get_output_embeddings()
    # transformers gives the last vectors normed.
    with model.lock, torch.inference_mode():
        _, *layers, last = trunk(input_ids=model.tensor(ids), output_hidden_states=True, use_cache=False).hidden_states
        read = [*(norm(vectors[0, prompt - 1 : -1]) for vectors in layers), last[0, prompt - 1 : -1]]
        barred = [
            model.characters.barred(ids[0, : prompt + place].tolist()) if model.characters else ()
            for place in range(len(written))
        ]
        # One layer at a time: the logits of all layers would take hundreds of megabytes for a large vocabulary.
        likeliest = [
            [int(without(row, bad).argmax()) for row, bad in zip(_scores(head, vectors), barred, strict=True)]
            for vectors in read
        ]
    return tuple(
        next((layer for layer, guesses in enumerate(likeliest) if guesses[place] == token), None)
        for place, token in enumerate(written)
    )


def _scores(head: nn.Module, vectors: Tensor) -> Logits:
    """The scores `[token, vocabulary]` that the output embedding gives to `vectors` `[token, width]`."""
    return np.asarray(head(vectors).float().cpu().numpy())
