"""The guess after every layer (the "logit lens"), and the layer that decided each written token."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.architectures import architecture
from models.decoding.sampling import without
from models.engine.pytorch import array
from models.inside.outputs import Guess, LayerGuesses, Lens
from models.inside.reading import NetworkInput, Recording
from models.tasks.base import AnyTaskModel, batch_of_one
from models.tasks.fill_mask import FillMask
from models.tasks.question_answering import QuestionAnswering
from models.tasks.sentence_pair import GROUPS, SentencePair
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.tasks.token_classification import TokenClassification, class_of
from models.text.tokenizer import readable
from models.wording import Sentence

_TOP = 5


class Choices(NamedTuple):
    """The choices of a guess: `names`, or the pieces of the vocabulary, with their `logits` `[text, choice]`.

    `about` says what is guessed, and `position` is the index of the token at which it is read.
    """

    about: str
    position: int
    names: Sequence[str] | None
    logits: Tensor

    def name(self, model: AnyTaskModel, choice: int) -> str:
        """The name of a choice as visitors read it."""
        return self.names[choice] if self.names else readable(model.tokenizer, choice)


def choices(
    model: AnyTaskModel, reading: NetworkInput, recording: Recording, vectors: Tensor, position: int
) -> Choices | None:
    """The guess of `model` at `position` from the last layer's output `vectors` `[text, token, width]`.

    Classifiers of texts guess from the start token, and question answering chooses among all tokens, so neither
    depends on `position`. The guess is `None` for a translator's encoder.
    """
    match model:
        case TextClassification():
            logits = final_logits(model, recording, vectors[:, :1]) / model.settings.calibration.temperature
            return Choices(Sentence("label"), 0, model.settings.labels, logits)
        case SentencePair():
            # Of its three groups of labels the largest.
            labels = [model.settings.labels.index(name) for name in GROUPS[1]]
            logits = final_logits(model, recording, vectors[:, :1]) / model.settings.calibration.temperature
            return Choices(Sentence("label of the pair"), 0, GROUPS[1], logits[:, labels])
        case QuestionAnswering():
            logits = final_logits(model, recording, vectors) / model.settings.calibration.temperature
            if any(reading.segments):
                # In a pair, an answer begins in the second text; the start token stands for no answer.
                pairs = zip(reading.tokens, reading.segments, strict=True)
                barred = [token.is_mark or not segment for token, segment in pairs]
                logits[:, 1:].masked_fill_(torch.tensor(barred[1:], device=logits.device), float("-inf"))
            return Choices(Sentence("first token of the answer"), 0, [token.text for token in reading.tokens], logits)
        case TokenClassification():
            logits = final_logits(model, recording, vectors[:, [position]])[:, 0]
            return Choices(
                Sentence("label here"), position, [class_of(label) for label in model.settings.labels], logits
            )
        case _ if reading.kind == "encoder" and not isinstance(model, FillMask):
            return None
        case _:
            logits = final_logits(model, recording, vectors[:, [position]])[:, 0]
            return Choices(
                Sentence("word here") if isinstance(model, FillMask) else Sentence("next word"), position, None, logits
            )


def lens(model: AnyTaskModel, reading: NetworkInput, recording: Recording, position: int) -> Lens | None:
    """The guesses of `model` at `position` if it stopped after each layer; `None` for a translator's encoder."""
    vectors = torch.stack(recording.vectors)
    guessed = choices(model, reading, recording, vectors, position)
    if guessed is None:
        return None
    logits = guessed.logits
    best = logits.softmax(dim=-1).topk(min(_TOP, logits.shape[-1]), dim=-1)
    rows = zip(logits.tolist(), best.indices.tolist(), best.values.tolist(), strict=True)
    layers = tuple(
        LayerGuesses(
            layer,
            tuple(
                Guess(guessed.name(model, choice), share, scores[choice])
                for choice, share in zip(likeliest, shares, strict=True)
                if share > 0
            ),
        )
        for layer, (scores, likeliest, shares) in enumerate(rows)
    )
    return Lens(guessed.about, guessed.position, logits.shape[-1], array(vectors[-1, guessed.position]), layers)


def final_logits(model: AnyTaskModel, recording: Recording, vectors: Tensor) -> Tensor:
    """The logits that the network's own head gives for the last layer's output `vectors` `[text, token, width]`.

    They are `[text, token, vocabulary]`, `[text, token, label]` for classifiers of tokens, `[text, label]` for those of
    texts, and `[text, token]` for an answer's start. The network reads placeholder ids of that size, and a hook puts
    `vectors` in place of its last layer's output.
    """
    ids = torch.zeros(vectors.shape[:2], dtype=torch.long, device=vectors.device)
    inputs = {"input_ids": ids}
    if model.network.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
    else:
        # Id 0 may be padding, so transformers must not infer a mask from the ids.
        inputs["attention_mask"] = torch.ones_like(ids)
    last = recording.parts[-1].layer
    with model.lock, torch.inference_mode(), last.register_forward_hook(lambda _, _in, _out: vectors):
        output = model.network(**inputs)
    logits: Tensor = output.start_logits if isinstance(model, QuestionAnswering) else output.logits
    return logits.float()


def decided_layers(
    model: TextGeneration, inputs: TextGenerationInput, written: tuple[int, ...]
) -> tuple[int | None, ...]:
    """For each of the ids `written` after the prompt, the first layer, from 0, after which it is the likeliest.

    The vector after each layer is read by the model's own final norm and output embedding (nostalgebraist, 2020).
    Tokens that would have broken a UTF-8 character do not compete. `None` stands for a token that is the likeliest
    after no layer: sampling or a search chose it.
    """
    if not written:
        return ()
    encoded = model.preprocess(inputs)
    prompt = encoded.ids.shape[1]
    ids = np.concatenate([encoded.ids, batch_of_one(written)], axis=1)
    trunk = model.network.base_model
    last_norm = architecture(model.network.config.model_type).last_norm
    norm: nn.Module = getattr(trunk, last_norm) if last_norm else nn.Identity()
    head = model.network.get_output_embeddings()
    decided: list[int | None] = [None] * len(written)
    barred = [
        model.characters.barred(ids[0, : prompt + place].tolist()) if model.characters else ()
        for place in range(len(written))
    ]
    with model.lock, torch.inference_mode():
        _, *layers = trunk(input_ids=model.tensor(ids), output_hidden_states=True, use_cache=False).hidden_states
        # One layer at a time: the logits of all layers would take hundreds of megabytes for a large vocabulary.
        for layer, vectors in enumerate(layers):
            read = vectors[0, prompt - 1 : -1]
            # transformers returns the last hidden states already normed.
            scores = array(head(read if layer == len(layers) - 1 else norm(read)))
            for place, token in enumerate(written):
                if decided[place] is None and int(without(scores[place], barred[place]).argmax()) == token:
                    decided[place] = layer
    return tuple(decided)
