"""The guess after every layer: each layer's vector, read by the model's own last step ("logit lens")."""

import torch
from torch import Tensor, nn

from models.base import AnyTaskModel
from models.calibration import calibration_of
from models.fill_mask import FillMask
from models.inside.head_outputs import LayerGuesses, Lens
from models.inside.reading import Reading
from models.inside.recording import Recording
from models.outputs import Prediction
from models.question_answering import QuestionAnswering
from models.text_classification import TextClassification
from models.tokens import readable

WORD_HERE, NEXT_WORD, LABEL, ANSWER_STARTS = "word here", "next word", "label", "first token of the answer"
_TOP = 5


def lens(model: AnyTaskModel, reading: Reading, recording: Recording, position: int) -> Lens | None:
    """What `model` would guess at `position` if it stopped after each layer; `None` for a translator's encoder.

    A classifier guesses from its start token, and where an answer begins is a choice among all tokens, so that
    `position` makes no difference to them.
    """
    vectors = torch.stack(recording.vectors)
    match model:
        case TextClassification():
            return Lens(LABEL, 0, _label_guesses(model, final_logits(model, recording, vectors[:, :1])))
        case QuestionAnswering():
            return Lens(ANSWER_STARTS, 0, _start_guesses(model, reading, final_logits(model, recording, vectors)))
    if reading.kind == "encoder" and not isinstance(model, FillMask):
        return None
    logits = final_logits(model, recording, vectors[:, [position]])[:, 0]
    best = logits.softmax(dim=-1).topk(min(_TOP, logits.shape[-1]), dim=-1)
    layers = tuple(
        LayerGuesses(
            layer,
            tuple(
                Prediction(readable(model.tokenizer, token_id), score)
                for token_id, score in zip(ids, scores, strict=True)
            ),
        )
        for layer, (ids, scores) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    )
    return Lens(WORD_HERE if isinstance(model, FillMask) else NEXT_WORD, position, layers)


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
            output = model.run(**inputs)
        finally:
            hook.remove()
    logits: Tensor = output.start_logits if isinstance(model, QuestionAnswering) else output.logits
    return logits.float()


def _label_guesses(model: TextClassification, logits: Tensor) -> tuple[LayerGuesses, ...]:
    names = [str(name).lower() for name in (model.network.config.id2label or {}).values()]
    probabilities = (logits / calibration_of(model.network.config).temperature).softmax(dim=-1).tolist()
    return _best(names, probabilities)


def _start_guesses(model: QuestionAnswering, reading: Reading, logits: Tensor) -> tuple[LayerGuesses, ...]:
    """Where the answer begins: in the second of two texts, or, where the text does not answer, at the start token."""
    calibration = calibration_of(model.network.config)
    logits = logits / calibration.temperature
    logits[:, 0] += calibration.no_answer_bias / calibration.temperature / 2
    if any(reading.segments):
        pairs = zip(reading.tokens, reading.segments, strict=True)
        barred = [token.special or not segment for token, segment in pairs]
        logits[:, 1:].masked_fill_(torch.tensor(barred[1:], device=logits.device), float("-inf"))
    return _best([token.text for token in reading.tokens], logits.softmax(dim=-1).tolist())


def _best(names: list[str], probabilities: list[list[float]]) -> tuple[LayerGuesses, ...]:
    """The likeliest of `names` by `probabilities` `[layer][name]`."""
    return tuple(
        LayerGuesses(
            layer,
            tuple(sorted(map(Prediction, names, row), key=lambda each: each.score, reverse=True)[:_TOP]),
        )
        for layer, row in enumerate(probabilities)
    )
