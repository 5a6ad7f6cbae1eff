"""Translation before Transformers: one sentence through four LSTM encoder-decoders and the Transformer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from models.before import translators
from models.before.lstm import Numbers
from models.before.translators import THE_TRANSFORMER, TranslatorKind
from models.decoding.beam_search import Hypothesis
from models.outputs.attention import Attentions
from models.outputs.before import EarlyTranslation, TranslatorsOutput
from models.registry import Task
from models.tasks.base import TaskModel, require, require_text, require_tokens
from models.tasks.translation import EncodedSentence, Translation
from models.text.tokenizer import read_tokens
from models.wording import Sentence

LONGEST = 64
"""The most tokens of a sentence: none of the translators has learned from a longer one."""

_TOO_LONG = Sentence(
    "That is {length:,} tokens, and these translators have learned from sentences of at most {most}. Please shorten it."
)


@dataclass(frozen=True)
class TranslatorsInput:
    """A sentence to translate."""

    text: str


class Translators(TaskModel[TranslatorsInput, EncodedSentence, Hypothesis, TranslatorsOutput]):
    """The bundled translator, the `transformer`, beside earlier ones that share its vocabulary; all write greedily."""

    inputs_type = TranslatorsInput
    asks: ClassVar = {"transformer": Task.TRANSLATION}
    transformer: Translation

    def preprocess(self, inputs: TranslatorsInput) -> EncodedSentence:
        """Tokenize the text as one sentence; raises `InputError` if it is empty or longer than `LONGEST`."""
        sentence = self.transformer.encoded_sentence(require_text(inputs.text), 0, "")
        require_tokens(sentence.tokens)
        length = len(sentence.tokens)
        require(length <= LONGEST, "text", _TOO_LONG, length=length, most=LONGEST)
        return sentence

    def forward(self, encoded: EncodedSentence) -> Hypothesis:
        """The Transformer's own translation, without the copying that mends it in `Translation`."""
        return self.transformer.hypotheses(encoded, 1)[0]

    def postprocess(self, inputs: TranslatorsInput, encoded: EncodedSentence, raw: Hypothesis) -> TranslatorsOutput:
        """A row for each translator, the Transformer last, with the weights of the head that aligns words best."""
        measured, rows = translators.figures(), []
        start, end = self.generation.start_id or 0, min(self.generation.end_ids)
        for kind in translators.KINDS:
            one = translators.load(kind.key)
            found = one.translate(encoded.ids[0].tolist(), start, end, self.transformer.room_for(encoded))
            rows.append(self._row(kind, one.parameters, found.ids, found.alignment))
        layer, head = measured["head"]
        weights = self.transformer.attend_sentence(encoded, raw.ids)["cross"].weights[layer, head]
        rows.append(self._row(THE_TRANSFORMER, self.checkpoint.parameters, raw.ids, weights))
        return TranslatorsOutput(self.identity, encoded.tokens, tuple(rows), layer, head)

    def _row(self, kind: TranslatorKind, parameters: int, ids: tuple[int, ...], alignment: Numbers) -> EarlyTranslation:
        text, bleu = self.transformer.text_of(ids), translators.figures()["figures"][kind.key]["captions"]
        weights = tuple(map(tuple, np.round(alignment.astype(float), 4).tolist()))
        return EarlyTranslation(
            kind.key, kind.name, kind.year, kind.paper, parameters, bleu,
            text, read_tokens(self.tokenizer, ids), weights, translators.repeats(text),
        )  # fmt: skip

    def attend(self, inputs: TranslatorsInput, written: tuple[int, ...] = ()) -> Attentions:
        """The Transformer's attention over the sentence and what it has `written`."""
        return self.transformer.attend_sentence(self.preprocess(inputs), written)
