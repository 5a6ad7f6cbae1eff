"""Fill the blank: the likeliest tokens at each mask (BERT's masked language model, Devlin et al., 2019)."""

import math
from dataclasses import dataclass

from models.decoding.sampling import best, best_choices
from models.engine import Ids, Logits
from models.errors import InputError
from models.outputs import Attentions, FillMaskOutput, Prediction, Token, WordStanding, softmax
from models.tasks.base import TaskModel, batch_of_one, require_text
from models.text.characters import over_marks
from models.text.tokenizer import read_tokens, readable

MAX_TOP_K = 20
# The logarithm of a probability that rounds to zero.
_SMALLEST = 1e-45


@dataclass(frozen=True)
class FillMaskInput:
    """A text with one mask or more (`[MASK]` or the checkpoint's own), how many candidates to show, and "my word"."""

    text: str
    top_k: int = 5
    word: str = ""


@dataclass(frozen=True)
class EncodedMasks:
    """`ids` is `[1, token]`; `positions` are the masks' places in it; `text` has the checkpoint's own mask token."""

    ids: Ids
    positions: list[int]
    text: str
    tokens: tuple[Token, ...]


class FillMask(TaskModel[FillMaskInput, EncodedMasks, Logits, FillMaskOutput]):
    """A masked language model with the words it would put in each blank."""

    inputs_type = FillMaskInput

    def preprocess(self, inputs: FillMaskInput) -> EncodedMasks:
        """Raises `InputError` for a text without a mask and for one longer than the window."""
        text = require_text(inputs.text, "text", "The text")
        if not 1 <= inputs.top_k <= MAX_TOP_K:
            raise InputError(f"The number of candidates must be from 1 to {MAX_TOP_K}.", "top_k")
        mask = str(self.tokenizer.mask_token)
        text = with_masks(text, mask)
        encoded = self.tokenizer.encode(text)
        self.require_window(len(encoded.ids), "text")
        mask_id = self.tokenizer.mask_token_id
        positions = [position for position, token_id in enumerate(encoded.ids) if token_id == mask_id]
        if not positions:
            raise InputError(f"There is no blank to fill: write {mask} where a word is missing.", "text")
        tokens = read_tokens(self.tokenizer, encoded.ids, over_marks(text, encoded.offsets))
        return EncodedMasks(batch_of_one(encoded.ids), positions, text, tokens)

    def forward(self, encoded: EncodedMasks) -> Logits:
        """The logits `[mask, vocabulary]`."""
        (logits,) = self.engine.encode({"input_ids": encoded.ids}, encoded.positions)
        return logits

    def postprocess(self, inputs: FillMaskInput, encoded: EncodedMasks, raw: Logits) -> FillMaskOutput:
        """The likeliest tokens of each mask and the likeliest fillings of them all."""
        probabilities = softmax(raw)
        candidates = [
            [(int(token_id), float(row[token_id])) for token_id in best(row, inputs.top_k)] for row in probabilities
        ]
        predictions = tuple(
            tuple(Prediction(readable(self.tokenizer, token_id).strip(), score) for token_id, score in each)
            for each in candidates
        )
        return FillMaskOutput(
            self.identity,
            encoded.tokens,
            predictions,
            tuple(self._filled(encoded, filling) for filling in _best_fillings(candidates, inputs.top_k)),
            self._standing(inputs.word, probabilities) if inputs.word.strip() else (),
        )

    def attend(self, inputs: FillMaskInput, written: tuple[int, ...] = ()) -> Attentions:
        """The encoder's attention over the text with its masks."""
        encoded = self.preprocess(inputs)
        return self.attention_over(encoded.tokens, input_ids=encoded.ids)

    def _filled(self, encoded: EncodedMasks, filling: tuple[tuple[int, float], ...]) -> Prediction:
        """The text with each mask replaced, and the product of the probabilities."""
        mask = str(self.tokenizer.mask_token)
        parts = encoded.text.split(mask)
        text = parts[0]
        for (token_id, _), after in zip(filling, parts[1:], strict=True):
            piece = readable(self.tokenizer, token_id)
            if piece.startswith("##"):
                text = text.rstrip() + piece.removeprefix("##") + after
            else:
                if self.tokenizer.is_word_piece and _joins(text[-1:], piece[:1]):
                    # Only a piece with ## goes on with a word.
                    text += " "
                text += (piece.lstrip() if not text or text[-1].isspace() else piece) + after
        return Prediction(text, math.prod(score for _, score in filling))

    def _standing(self, word: str, probabilities: Logits) -> tuple[WordStanding, ...]:
        """Where `word` stands at each mask: `probabilities` is `[mask, vocabulary]`."""
        word = word.strip()
        # Byte-level vocabularies spell a word in the middle of a sentence with its space in front.
        ids = self.tokenizer.encode(" " + word, special=False).ids
        pieces = tuple(readable(self.tokenizer, token_id) for token_id in ids)
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            return tuple(WordStanding(word, pieces, None, None) for _ in probabilities)
        own = probabilities[:, ids[0]]
        ranks = (probabilities > own[:, None]).sum(axis=-1) + 1
        return tuple(
            WordStanding(word, pieces, float(score), int(rank)) for score, rank in zip(own, ranks, strict=True)
        )


def with_masks(text: str, mask: str) -> str:
    """`text` with the checkpoint's own `mask` for each blank, which visitors write as `[MASK]` or as `<mask>`."""
    return text.replace("[MASK]", mask).replace("<mask>", mask)


def _joins(before: str, after: str) -> bool:
    """Whether two characters beside each other would read as parts of one word."""
    return before.isalnum() and after.isalnum()


def _best_fillings(candidates: list[list[tuple[int, float]]], count: int) -> list[tuple[tuple[int, float], ...]]:
    """The `count` likeliest ways to choose one candidate per mask, best first; each mask's candidates come so, too."""
    logs = [[math.log(max(score, _SMALLEST)) for _, score in each] for each in candidates]
    return [
        tuple(each[rank] for each, rank in zip(candidates, choice, strict=True)) for choice in best_choices(logs, count)
    ]
