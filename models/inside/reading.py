"""A visitor's text as each kind of model reads it: one text, a pair of sentences, or a source and its translation."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from models.errors import InputError
from models.inside.anatomy import kinds_inside
from models.inside.texts import FROM_THE_MODEL, place_to_follow, texts_of
from models.outputs import Token
from models.registry import Task
from models.tasks.base import AnyTaskModel, batch_of_one, require_text
from models.tasks.fill_mask import FillMask
from models.tasks.question_answering import QuestionAnswering
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration, TextGenerationInput
from models.tasks.translation import EncodedSentence, EncodedSource, Translation
from models.text.tokens import read_tokens

_BEAMS = 4


@dataclass(frozen=True, eq=False)
class Reading:
    """What the network reads: `network_inputs` are tensors `[1, token]`, `tokens` those of the side called `kind`.

    `segments` says to which text of a pair each token belongs, 0 or 1. `guess_at` is where the model makes its guess:
    the first blank, the start token of a classifier, the last token of a writer; else the last word.
    """

    kind: str
    kinds: tuple[str, ...]
    network_inputs: Mapping[str, Tensor]
    tokens: tuple[Token, ...]
    segments: tuple[int, ...]
    guess_at: int

    def place(self, position: int) -> int:
        """The token at `position`, counted from 0; `FROM_THE_MODEL` is the guess's. Raises `InputError`."""
        if position == FROM_THE_MODEL:
            return self.guess_at
        if not 0 <= position < len(self.tokens):
            raise InputError(
                f"Token {position} is not there: this text has tokens 0 to {len(self.tokens) - 1}.", "position"
            )
        return position


def read(model: AnyTaskModel, text: str, kind: str = "") -> Reading:
    """`text` as `model` reads it, seen from the side called `kind` (the model's first where it is empty).

    Encoders read "[CLS] one [SEP] another [SEP]" or "one [SEP] another" as a pair. A translator reads
    the text in one go, and its decoder what it writes for it. Raises `InputError`.
    """
    kinds = kinds_inside(model)
    kind = kind or kinds[0]
    if kind not in kinds:
        raise InputError(f"This model has no such attention; it has: {', '.join(kinds)}.", "kind")
    text = require_text(text, "text", "The text")
    match model:
        case FillMask() | TextClassification() | QuestionAnswering():
            return _encoded(model, text, kinds)
        case TextGeneration():
            return _prompt(model, text, kinds)
        case Translation():
            return _translated(model, text, kind, kinds)
        case _:
            raise TypeError(f"no reading for {type(model).__name__}")


def _encoded(model: AnyTaskModel, text: str, kinds: tuple[str, ...]) -> Reading:
    tokenizer = model.tokenizer
    parts = texts_of(text)
    if not parts:
        raise InputError("The text is empty. Please type something first.", "text")
    if tokenizer.mask_token:
        parts = [part.replace("[MASK]", str(tokenizer.mask_token)) for part in parts]
    encoded = tokenizer.encode(*parts)
    model.require_window(len(encoded.ids), "text")
    inputs = {"input_ids": model.tensor(batch_of_one(encoded.ids))}
    if tokenizer.settings.has_types:
        inputs["token_type_ids"] = model.tensor(batch_of_one(encoded.types))
    # The mark that ends a sentence belongs to it.
    segments, current = [], 0
    for side in encoded.parts:
        current = current if side is None else side
        segments.append(current)
    tokens = read_tokens(tokenizer, encoded.ids)
    guess_at = place_to_follow(model.checkpoint.task, tokens, str(tokenizer.mask_token))
    return Reading("encoder", kinds, inputs, tokens, tuple(segments), guess_at)


def _prompt(model: TextGeneration, text: str, kinds: tuple[str, ...]) -> Reading:
    encoded = model.preprocess(TextGenerationInput(text, max_new_tokens=1))
    last = len(encoded.tokens) - 1
    return Reading("decoder", kinds, {"input_ids": model.tensor(encoded.ids)}, encoded.tokens, (0,) * (last + 1), last)


def _translated(model: Translation, text: str, kind: str, kinds: tuple[str, ...]) -> Reading:
    ids = model.tokenizer.encode(text).ids
    model.require_window(len(ids), "text")
    source = EncodedSentence(batch_of_one(ids), read_tokens(model.tokenizer, ids))
    (hypotheses,) = model.forward(EncodedSource((source,), _BEAMS))
    # The last token that is written is never read.
    read_back = np.concatenate([model.start, batch_of_one(hypotheses[0].ids[:-1])], axis=1)
    tokens = source.tokens if kind == "encoder" else read_tokens(model.tokenizer, read_back[0].tolist())
    inputs = {"input_ids": model.tensor(source.ids), "decoder_input_ids": model.tensor(read_back)}
    guess_at = place_to_follow(Task.TRANSLATION, tokens) if kind == "encoder" else len(tokens) - 1
    return Reading(kind, kinds, inputs, tokens, (0,) * len(tokens), guess_at)
