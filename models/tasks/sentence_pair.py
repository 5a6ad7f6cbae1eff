"""Two sentences: whether one follows the other, implies it, says the same, and how alike they are.

BERT reads a pair as `[CLS] A [SEP] B [SEP]`, with segments 0 and 1 (Devlin et al., 2019, section 3.2), and one head
answers three of the questions. For the fourth it reads each sentence alone: siamese networks with one set of weights,
whose sentence vectors are compared (Sentence-BERT; Reimers and Gurevych, 2019).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.engine import Ids, Logits
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token, softmax
from models.outputs.encoders import SentencePairOutput
from models.tasks.base import AnyTaskModel, ModelSettings, TaskModel, padded, require_text, require_tokens
from models.text.characters import over_marks
from models.text.tokenizer import Encoding, read_tokens
from models.wording import N_, Sentence

FOLLOWS, RANDOM = N_("follows"), N_("random")
ENTAILMENT, NEUTRAL, CONTRADICTION = N_("entailment"), N_("neutral"), N_("contradiction")
PARAPHRASE, DIFFERENT = N_("paraphrase"), N_("different")
GROUPS = ((FOLLOWS, RANDOM), (ENTAILMENT, NEUTRAL, CONTRADICTION), (PARAPHRASE, DIFFERENT))
"""The labels of a checkpoint's head, in groups with a softmax over each."""

_DIGITS = 4
"""The decimals of vectors that are logged and drawn; cosines are computed before rounding."""

_NAMES = Sentence("The first text"), Sentence("The second text")
_TOO_LONG = Sentence(
    "The two texts are {length:,} tokens together, and this model reads at most {window:,} at once here. Please "
    "shorten one of them."
)


@dataclass(frozen=True)
class SentencePairInput:
    """Two texts, the first and the second."""

    a: str
    b: str


@dataclass(frozen=True, eq=False)
class EncodedPair:
    """The network's inputs of the pair `[1, token]`, and of each text alone `[2, token]`."""

    together: dict[str, Ids]
    alone: dict[str, Ids]
    tokens: tuple[Token, ...]
    segments: tuple[int, ...]


class SentencePair(TaskModel[SentencePairInput, EncodedPair, tuple[Logits, Logits], SentencePairOutput]):
    """A sequence classifier with the labels of `GROUPS`, whose engine returns sentence vectors as well."""

    inputs_type = SentencePairInput

    def preprocess(self, inputs: SentencePairInput) -> EncodedPair:
        """Encode the pair, and each text alone; raises `InputError` for an empty text and a pair beyond the window."""
        texts = require_text(inputs.a, "a", _NAMES[0]), require_text(inputs.b, "b", _NAMES[1])
        pair, tokens = read_pair(self, texts, ("a", "b"))
        alone = padded([self.tokenizer.encode(text) for text in texts], self.tokenizer.settings)
        return EncodedPair(padded([pair], self.tokenizer.settings), alone, tokens, tuple(pair.types))

    def forward(self, encoded: EncodedPair) -> tuple[Logits, Logits]:
        """The logits `[label]` of the pair, and the vectors `[2, hidden]` of the texts."""
        logits, _ = self.engine.encode(encoded.together)
        _, vectors = self.engine.encode(encoded.alone)
        return logits[0], vectors

    def postprocess(
        self, inputs: SentencePairInput, encoded: EncodedPair, raw: tuple[Logits, Logits]
    ) -> SentencePairOutput:
        """Compute a softmax over each group of labels, and the cosine of the vectors."""
        logits, vectors = raw
        follows, entailment, paraphrase = shares(logits, self.settings)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        one, other = (tuple(np.round(vector.astype(np.float64), _DIGITS).tolist()) for vector in unit)
        return SentencePairOutput(
            self.identity,
            encoded.tokens,
            float(follows[0]),
            tuple(map(Prediction, GROUPS[1], entailment.tolist())),
            float(paraphrase[0]),
            float(np.clip(unit[0] @ unit[1], -1, 1)),
            (one, other),
            encoded.segments,
        )

    def attend(self, inputs: SentencePairInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the pair."""
        encoded = self.preprocess(inputs)
        return self.attend_encoder(encoded.tokens, encoded.together)


def read_pair(
    model: AnyTaskModel, texts: tuple[str, str], fields: tuple[str, str]
) -> tuple[Encoding, tuple[Token, ...]]:
    """Encode the pair of `texts`; raises `InputError` about one of `fields` that is too long or leaves no token."""
    pair = model.tokenizer.encode(*texts)
    model.require_window(len(pair.ids), fields[len(texts[1]) > len(texts[0])], _TOO_LONG)
    tokens = read_tokens(model.tokenizer, pair.ids, characters_of(pair, texts))
    for part, (field, name) in enumerate(zip(fields, _NAMES, strict=True)):
        require_tokens([token for token, of in zip(tokens, pair.parts, strict=True) if of == part], field, name)
    return pair, tokens


def shares(logits: Logits, settings: ModelSettings) -> list[NDArray[np.float32]]:
    """The probabilities of each of `GROUPS`, from the logits `[label]` in the checkpoint's own order, calibrated."""
    calibrated = logits / np.float32(settings.calibration.temperature)
    return [softmax(calibrated[[settings.labels.index(name) for name in group]]) for group in GROUPS]


def characters_of(pair: Encoding, texts: Sequence[str]) -> list[tuple[int, int]]:
    """The characters of each token of `pair` in its own one of `texts`, (-1, -1) for special tokens."""
    places = [(-1, -1)] * len(pair.ids)
    for part, text in enumerate(texts):
        own = [span if of == part else (-1, -1) for span, of in zip(pair.offsets, pair.parts, strict=True)]
        found = over_marks(text, own)
        places = [span if of == part else place for span, of, place in zip(found, pair.parts, places, strict=True)]
    return places
