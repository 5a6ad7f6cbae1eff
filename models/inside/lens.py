"""The guess after every layer (the "logit lens"), and the layer that decided each written token."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.decoding.sampling import without
from models.engine import Logits
from models.inside.outputs import Guess, LayerGuesses, Lens
from models.inside.reading import NetworkInput, Recording
from models.tasks.base import AnyTaskModel, batch_of_one
from models.tasks.fill_mask import FillMask
from models.tasks.question_answering import QuestionAnswering
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.text.tokenizer import readable

WORD_HERE, NEXT_WORD, LABEL, ANSWER_STARTS = "word here", "next word", "label", "first token of the answer"
_TOP = 5


def lens(model: AnyTaskModel, reading: NetworkInput, recording: Recording, position: int) -> Lens | None:
    """The guesses of `model` at `position` if it stopped after each layer; `None` for a translator's encoder.

    A classifier guesses from its start token, and where an answer begins is a choice among all tokens, so that
    `position` makes no difference to them.
    """
    vectors = torch.stack(recording.vectors)
    names: Sequence[str] | None = None
    match model:
        case TextClassification():
            about, place, names = LABEL, 0, model.settings.labels
            logits = final_logits(model, recording, vectors[:, :1])
            logits = logits / model.settings.calibration.temperature
        case QuestionAnswering():
            about, place, names = ANSWER_STARTS, 0, [token.text for token in reading.tokens]
            logits = _where_answers_start(model, reading, final_logits(model, recording, vectors))
        case _ if reading.kind == "encoder" and not isinstance(model, FillMask):
            return None
        case _:
            about, place = WORD_HERE if isinstance(model, FillMask) else NEXT_WORD, position
            logits = final_logits(model, recording, vectors[:, [position]])[:, 0]
    layers = tuple(LayerGuesses(layer, guesses) for layer, guesses in enumerate(_best(model, logits, names)))
    return Lens(about, place, logits.shape[-1], vectors[-1, place].float().cpu().numpy(), layers)


def final_logits(model: AnyTaskModel, recording: Recording, vectors: Tensor) -> Tensor:
    """The logits behind the last layer's output `vectors` `[text, token, width]`, by the network's own last step.

    They are `[text, token, vocabulary]`, of classifiers `[text, label]`, and `[text, token]` for an answer's start. The
    network reads texts of that size, whichever, and the last layer puts out `vectors` in place of its own.
    """
    ids = torch.zeros(vectors.shape[:2], dtype=torch.long, device=vectors.device)
    inputs = {"input_ids": ids}
    if model.network.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
    else:
        # Padding, which the number 0 may be, is not to be guessed at.
        inputs["attention_mask"] = torch.ones_like(ids)

    def instead(_layer: nn.Module, _inputs: tuple[Tensor, ...], _output: Tensor) -> Tensor:
        return vectors

    with model.lock, torch.inference_mode():
        hook = recording.parts[-1].layer.register_forward_hook(instead)
        try:
            output = model.network(**inputs)
        finally:
            hook.remove()
    logits: Tensor = output.start_logits if isinstance(model, QuestionAnswering) else output.logits
    return logits.float()


def _where_answers_start(model: QuestionAnswering, reading: NetworkInput, logits: Tensor) -> Tensor:
    """Calibrated as answers are; where there are two texts, an answer begins in the second or at the start token."""
    calibration = model.settings.calibration
    logits = logits / calibration.temperature
    if any(reading.segments):
        pairs = zip(reading.tokens, reading.segments, strict=True)
        barred = [token.is_mark or not segment for token, segment in pairs]
        logits[:, 1:].masked_fill_(torch.tensor(barred[1:], device=logits.device), float("-inf"))
    return logits


def _best(model: AnyTaskModel, logits: Tensor, names: Sequence[str] | None) -> Iterator[tuple[Guess, ...]]:
    """The likeliest choices by `logits` `[layer, choice]`; without `names` they are the vocabulary's."""
    best = logits.softmax(dim=-1).topk(min(_TOP, logits.shape[-1]), dim=-1)
    for row, choices, shares in zip(logits.tolist(), best.indices.tolist(), best.values.tolist(), strict=True):
        yield tuple(
            Guess(names[choice] if names else readable(model.tokenizer, choice), share, row[choice])
            for choice, share in zip(choices, shares, strict=True)
            if share > 0
        )


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
