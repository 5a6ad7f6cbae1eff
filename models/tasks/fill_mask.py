"""Fill the blank: the likeliest tokens at each mask (BERT's masked language model, Devlin et al., 2019)."""

import math
from dataclasses import dataclass, replace

from models.decoding.sampling import LEAST, best, best_choices
from models.engine import Ids, Logits
from models.outputs.attention import Attentions
from models.outputs.base import Prediction, Token, softmax
from models.outputs.encoders import FillMaskOutput, WordStanding
from models.tasks.base import TaskModel, batch_of_one, require, require_between, require_text
from models.text.tokenizer import readable
from models.wording import Sentence

MAX_TOP_K = 20


@dataclass(frozen=True)
class FillMaskInput:
    """A text with masks (`[MASK]` or the checkpoint's own), the number of candidates, and perhaps a `word` to rank."""

    text: str
    top_k: int = 5
    word: str = ""


@dataclass(frozen=True)
class EncodedMasks:
    """A tokenized text: `ids` `[1, token]`, the `positions` of its masks, and `text` with the checkpoint's own mask."""

    ids: Ids
    positions: list[int]
    text: str
    tokens: tuple[Token, ...]


class FillMask(TaskModel[FillMaskInput, EncodedMasks, Logits, FillMaskOutput]):
    """A masked language model that predicts the words in each blank."""

    inputs_type = FillMaskInput

    def preprocess(self, inputs: FillMaskInput) -> EncodedMasks:
        """Tokenize the text; raises `InputError` if it is empty, has no mask or is longer than the window."""
        mask = str(self.tokenizer.settings.mask_token)
        text = with_masks(require_text(inputs.text), mask)
        require_between(1, inputs.top_k, MAX_TOP_K, "top_k", Sentence("The number of candidates"))
        encoded, tokens = self.tokenizer.read(text)
        self.require_window(len(encoded.ids), "text")
        mask_id = self.tokenizer.settings.mask_token_id
        positions = [position for position, token_id in enumerate(encoded.ids) if token_id == mask_id]
        said = Sentence("There is no blank to fill: write {mask} where a word is missing.")
        require(bool(positions), "text", said, mask=mask)
        return EncodedMasks(batch_of_one(encoded.ids), positions, text, tokens)

    def forward(self, encoded: EncodedMasks) -> Logits:
        """The logits `[mask, vocabulary]`."""
        (logits,) = self.engine.encode({"input_ids": encoded.ids}, encoded.positions)
        return logits

    def postprocess(self, inputs: FillMaskInput, encoded: EncodedMasks, raw: Logits) -> FillMaskOutput:
        """The likeliest tokens of each mask and the likeliest fillings of them all."""
        probabilities = softmax(raw)
        predictions = tuple(
            tuple(Prediction(readable(self.tokenizer, int(each)), float(row[each])) for each in best(row, inputs.top_k))
            for row in probabilities
        )
        logs = [[math.log(max(each.score, LEAST)) for each in candidates] for candidates in predictions]
        sequences = tuple(
            self._filled(encoded, [candidates[rank] for candidates, rank in zip(predictions, choice, strict=True)])
            for choice in best_choices(logs, inputs.top_k)
        )
        return FillMaskOutput(
            self.identity,
            encoded.tokens,
            tuple(tuple(replace(each, text=each.text.strip()) for each in candidates) for candidates in predictions),
            sequences,
            self._standing(inputs.word.strip(), probabilities) if inputs.word.strip() else (),
        )

    def attend(self, inputs: FillMaskInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the text with its masks."""
        encoded = self.preprocess(inputs)
        return self.attend_encoder(encoded.tokens, {"input_ids": encoded.ids})

    def _filled(self, encoded: EncodedMasks, filling: list[Prediction]) -> Prediction:
        """The text with each mask replaced, and the product of the probabilities."""
        text, *rest = encoded.text.split(str(self.tokenizer.settings.mask_token))
        for each, after in zip(filling, rest, strict=True):
            piece = each.text
            if piece.startswith("##"):
                text = text.rstrip() + piece.removeprefix("##") + after
                continue
            if self.tokenizer.is_word_piece and text[-1:].isalnum() and piece[:1].isalnum():
                # Only a piece with ## continues a word; any other needs a space.
                text += " "
            text += (piece.lstrip() if not text or text[-1].isspace() else piece) + after
        return Prediction(text, math.prod(each.score for each in filling))

    def _standing(self, word: str, probabilities: Logits) -> tuple[WordStanding, ...]:
        """The probability and rank of `word` at each mask, from `probabilities` `[mask, vocabulary]`."""
        # Byte-level vocabularies spell a word in the middle of a sentence with its space in front.
        ids = self.tokenizer.encode(" " + word, special=False).ids
        pieces = tuple(readable(self.tokenizer, token_id) for token_id in ids)
        if len(ids) != 1 or ids[0] == self.tokenizer.settings.unk_token_id:
            return tuple(WordStanding(word, pieces, None, None) for _ in probabilities)
        own = probabilities[:, ids[0]]
        ranks = (probabilities > own[:, None]).sum(axis=-1) + 1
        return tuple(
            WordStanding(word, pieces, float(score), int(rank)) for score, rank in zip(own, ranks, strict=True)
        )


def with_masks(text: str, mask: str) -> str:
    """`text` with the checkpoint's own `mask` for each blank, which visitors write as `[MASK]` or as `<mask>`."""
    return text.replace("[MASK]", mask).replace("<mask>", mask)
