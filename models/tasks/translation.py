"""Translation with an encoder-decoder and beam search (Vaswani et al., 2017; Marian: Junczys-Dowmunt et al., 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from models.decoding.beam_search import Hypothesis, beam_search, best_first
from models.decoding.copying import Copy, Copying, copied_places, copies_of, is_kept
from models.decoding.generate import Chooser, DecoderState, Step, byte_rule, generated_tokens, reread
from models.decoding.sampling import best_choices
from models.engine import Ids
from models.outputs.attention import Attention, Attentions
from models.outputs.base import Prediction, Token
from models.outputs.writing import GeneratedToken, TranslationOutput
from models.tasks.base import (
    MAX_BEAMS,
    TaskModel,
    attention_of,
    batch_of_one,
    require,
    require_between,
    require_text,
    require_tokens,
)
from models.text.characters import fallback_byte, over_marks, true_cased
from models.text.sentences import sentences_of
from models.text.tokenizer import bytes_of_pieces, read_tokens
from models.wording import Sentence

# A translation is rarely twice as long as its source; the rest is room for short sources.
_TOKENS_PER_SOURCE_TOKEN = 2
_TOKENS_ALWAYS_ALLOWED = 32
_MOST_COPYING_BEAMS = 12
_TOO_LONG = Sentence(
    "A sentence has {length:,} tokens, and this model reads at most {window:,} at once here. Please shorten it."
)
_KEPT_TOO_LONG = Sentence("The part to go on from is longer than the translation may become.")
_COPIED = Sentence("Copied from your text, because the model alone lost a part of it: {copied}")


@dataclass(frozen=True)
class TranslationInput:
    """A text to translate and the number of beams.

    `kept` are the ids of a given first part of the translation.
    """

    text: str
    num_beams: int = 4
    kept: tuple[int, ...] = ()


@dataclass(frozen=True)
class EncodedSentence:
    """The `ids` `[1, token]` of a sentence; `gap` is the text between it and the sentence before.

    `kept` are the ids that its translation continues from, and `copies` the parts of the sentence that it must contain.
    `read_as` is the sentence in lower case if it was typed in capitals.
    """

    ids: Ids
    tokens: tuple[Token, ...]
    gap: str = ""
    kept: tuple[int, ...] = ()
    copies: tuple[Copy, ...] = ()
    read_as: str = ""


@dataclass(frozen=True)
class EncodedSource:
    """A text split into sentences, because translation models are trained on one sentence at a time."""

    sentences: tuple[EncodedSentence, ...]
    num_beams: int

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of all sentences."""
        return tuple(token for sentence in self.sentences for token in sentence.tokens)


class Translation(TaskModel[TranslationInput, EncodedSource, list[list[Hypothesis]], TranslationOutput]):
    """An encoder-decoder with beam search, which translates one sentence at a time."""

    inputs_type = TranslationInput

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._pieces = bytes_of_pieces(self.tokenizer, self.settings.vocabulary)
        self._characters = byte_rule(self.tokenizer, self.settings.vocabulary)

    def preprocess(self, inputs: TranslationInput) -> EncodedSource:
        """Tokenize each sentence; raises `InputError` for no text, a sentence too long or a wrong number of beams."""
        text = require_text(inputs.text)
        require_between(1, inputs.num_beams, MAX_BEAMS, "num_beams", Sentence("The number of beams"))
        self.require_known(inputs.kept)
        spans = sentences_of(text)
        ends = [0, *(end for _, end in spans)]
        sentences = [
            self.encoded_sentence(text[start:end], start, text[before:start])
            for before, (start, end) in zip(ends, spans, strict=False)
        ]
        require_tokens([token for sentence in sentences for token in sentence.tokens])
        self.require_window(max(len(sentence.tokens) for sentence in sentences), "text", _TOO_LONG)
        kept = self._split(inputs.kept, sentences)
        require(len(kept) <= len(sentences), "kept", _KEPT_TOO_LONG)
        kept += [()] * (len(sentences) - len(kept))
        sentences = [replace(each, kept=part) for each, part in zip(sentences, kept, strict=True)]
        return EncodedSource(tuple(sentences), inputs.num_beams)

    def encoded_sentence(self, sentence: str, start: int, gap: str) -> EncodedSentence:
        """Encode a sentence that begins at the character `start` of the text, after `gap`."""
        prefix = self.checkpoint.prefix
        read = true_cased(sentence, lambda word: len(self.tokenizer.encode(word, special=False).ids))
        encoded = self.tokenizer.encode(prefix + read)
        shift = start - len(prefix)
        offsets = [
            (first + shift, last + shift) if first >= len(prefix) and last > first else (-1, -1)
            for first, last in over_marks(prefix + read, encoded.offsets)
        ]
        tokens = read_tokens(self.tokenizer, encoded.ids, offsets)
        spelled = [
            (each.start - start, each.end - start)
            for each in tokens
            if each.start >= 0 and fallback_byte(each.piece) is not None
        ]
        copies = tuple(copies_of(sentence, spelled, self.tokenizer.normalise))
        read_as = read if read != sentence else ""
        return EncodedSentence(batch_of_one(encoded.ids), tokens, gap, copies=copies, read_as=read_as)

    def forward(self, encoded: EncodedSource) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first; with one beam it is greedy search."""
        return [self._search(sentence, encoded.num_beams) for sentence in encoded.sentences]

    def _search(self, sentence: EncodedSentence, num_beams: int) -> list[Hypothesis]:
        """Run beam search after the start token and the kept part, and again with `Copying` if a copy was lost."""
        copies = sentence.copies
        found = self.hypotheses(sentence, num_beams)
        if is_kept(self.text_of(found[0].ids), copies):
            return found
        beams = max(num_beams, min(4 * len(copies) + 4, _MOST_COPYING_BEAMS))
        copying = Copying(self._pieces, copies, self.generation.end_ids)
        again = self.hypotheses(sentence, beams, copying)[:num_beams]
        if not is_kept(self.text_of(again[0].ids), copies):
            return found
        return list(best_first(self._marked(each, copies) for each in again))

    def hypotheses(self, sentence: EncodedSentence, num_beams: int, copying: Copying | None = None) -> list[Hypothesis]:
        """The hypotheses that one beam search finds, best first."""
        room, ends = self.room_for(sentence), self.generation.end_ids
        given = np.concatenate([self.start, batch_of_one(sentence.kept)], axis=1)
        steps: tuple[Step, ...] = ()
        if sentence.kept:
            chooser = Chooser(self.generation, 1 + room, characters=self._characters)
            steps = reread(chooser, given, self.logits(given, sentence.ids), 1)
        if len(steps) == room or (steps and steps[-1].id in ends):
            return [Hypothesis((), 0.0).behind(steps)]
        state = DecoderState(self.engine, given, sentence.ids)
        *_, last = beam_search(
            state, self.generation, num_beams, room - len(steps), characters=self._characters, copying=copying
        )
        return list(best_first(each.behind(steps) for each in last.finished))

    def _marked(self, hypothesis: Hypothesis, copies: Sequence[Copy]) -> Hypothesis:
        """The hypothesis with its steps that write a copy marked, scored by the model's own probabilities."""
        written = [self._pieces[step.id] or b"" for step in hypothesis.steps]
        text = b"".join(written).decode(errors="replace")
        places = [(len(text[:start].encode()), len(text[:end].encode())) for start, end in copied_places(text, copies)]
        steps, end = [], 0
        for step, piece in zip(hypothesis.steps, written, strict=True):
            start, end = end, end + len(piece)
            is_copied = any(start < last and first < end for first, last in places)
            steps.append(replace(step, copied=is_copied))
        return Hypothesis((), 0.0).behind(tuple(steps))

    def postprocess(
        self, inputs: TranslationInput, encoded: EncodedSource, raw: list[list[Hypothesis]]
    ) -> TranslationOutput:
        """The candidates as text, and the tokens of the best one with probabilities and alternatives."""
        choices = best_choices([[each.score for each in hypotheses] for hypotheses in raw], inputs.num_beams)
        candidates = [[hypotheses[rank] for hypotheses, rank in zip(raw, choice, strict=True)] for choice in choices]
        text, generated = "", list[GeneratedToken]()
        for sentence, each in zip(encoded.sentences, candidates[0], strict=True):
            decode = partial(self._written, text, sentence)
            generated += generated_tokens(self.tokenizer, each.steps, decode, start=len(text))
            text = decode(each.ids)
        return TranslationOutput(
            self.identity,
            encoded.tokens,
            tuple(self._joined(encoded, each) for each in candidates),
            tuple(each.token for each in generated),
            tuple(generated),
            self._notes(encoded, candidates[0]),
        )

    def _joined(self, encoded: EncodedSource, chosen: list[Hypothesis]) -> Prediction:
        """Join one hypothesis of each sentence to one text, scored by the mean of their scores."""
        text = ""
        for sentence, each in zip(encoded.sentences, chosen, strict=True):
            text = self._written(text, sentence, each.ids)
        return Prediction(text, sum(each.score for each in chosen) / len(chosen))

    def _written(self, before: str, sentence: EncodedSentence, ids: Sequence[int]) -> str:
        """Return the text `before`, the gap and the translation of `sentence`, which `ids` spell."""
        return (before + (sentence.gap or " ") if before else "") + self.text_of(ids)

    def text_of(self, ids: Sequence[int]) -> str:
        """Decode `ids` without special tokens."""
        return self.tokenizer.decode(ids, skip_special_tokens=True).strip()

    def _notes(self, encoded: EncodedSource, best: Sequence[Hypothesis]) -> tuple[str, ...]:
        """Sentences on how the text was changed before the network read it, and on what was copied from it."""
        notes = []
        read_as = " ".join(" ".join(sentence.read_as for sentence in encoded.sentences).split())
        if read_as:
            notes.append(Sentence("The model knows few words in capitals, so it read: {read_as}", read_as=read_as))
        copied = [
            b"".join(self._pieces[step.id] or b"" for step in steps).decode(errors="replace").strip()
            for hypothesis in best
            for is_copied, steps in groupby(hypothesis.steps, key=lambda step: step.copied)
            if is_copied
        ]
        if copied:
            notes.append(Sentence(_COPIED, copied=", ".join(copied)))
        return tuple(notes)

    def attend(self, inputs: TranslationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The attention of the encoder, the decoder and between them, over the source and the ids `written`.

        A row of `cross` belongs to the token that is written from it; the decoder reads the token before it. No
        sentence attends to another: there the weights are zero and masked. Of a long text only the first sentences are
        included, as many as one window holds.
        """
        sentences: Sequence[EncodedSentence] = self.preprocess(inputs).sentences
        parts = self._split(written, sentences)
        if len(parts) != len(sentences):
            # Runs that were logged before translation went sentence by sentence translated the text as one.
            sentences, parts = [self.encoded_sentence(inputs.text, 0, "")], [written]
        lengths = accumulate(len(sentence.tokens) for sentence in sentences)
        count = max(1, sum(length <= self.settings.window for length in lengths))
        pictures = [self.attend_sentence(*each) for each in zip(sentences[:count], parts[:count], strict=True)]
        return {kind: side_by_side([each[kind] for each in pictures]) for kind in pictures[0]}

    def attend_sentence(self, sentence: EncodedSentence, written: tuple[int, ...]) -> dict[str, Attention]:
        """The attention of one sentence, from one forward pass."""
        read = np.concatenate([self.start, batch_of_one(written)], axis=1)[:, :-1]
        output = self.look({"input_ids": sentence.ids, "decoder_input_ids": read})
        source = sentence.tokens
        target, target_read = (read_tokens(self.tokenizer, ids) for ids in (written, read[0].tolist()))
        return {
            "cross": attention_of("cross", output.cross_attentions, target, source),
            "encoder": attention_of("encoder", output.encoder_attentions, source, source),
            "decoder": attention_of("decoder", output.decoder_attentions, target_read, target_read),
        }

    @property
    def start(self) -> Ids:
        """The decoder's first token, `[1, 1]`."""
        return batch_of_one([self.generation.start_id or 0])

    def room_for(self, sentence: EncodedSentence) -> int:
        """The most tokens that the translation of a sentence may have."""
        wanted = len(sentence.tokens) * _TOKENS_PER_SOURCE_TOKEN + _TOKENS_ALWAYS_ALLOWED
        return min(wanted, self.settings.window - 1)

    def _split(self, ids: tuple[int, ...], sentences: Sequence[EncodedSentence]) -> list[tuple[int, ...]]:
        """Split `ids` into the part of each sentence: up to its end token, or as many as it has room for.

        The last sentences may have no part yet; ids left after the last sentence are one part more.
        """
        parts: list[tuple[int, ...]] = []
        for sentence in sentences:
            if not ids:
                return parts
            room, ends = self.room_for(sentence), self.generation.end_ids
            length = next((place for place, each in enumerate(ids[:room], start=1) if each in ends), room)
            parts.append(ids[:length])
            ids = ids[length:]
        return [*parts, ids] if ids else parts


def side_by_side(parts: Sequence[Attention]) -> Attention:
    """Join the attention of texts read one by one into that of one text; between two of them all is masked."""
    if len(parts) == 1:
        return parts[0]
    queries = tuple(token for part in parts for token in part.query_tokens)
    keys = tuple(token for part in parts for token in part.key_tokens)
    weights = np.zeros((parts[0].layers, parts[0].heads, len(queries), len(keys)), np.float32)
    masked = np.ones((len(queries), len(keys)), bool)
    row, column = 0, 0
    for part in parts:
        rows = slice(row, row + len(part.query_tokens))
        columns = slice(column, column + len(part.key_tokens))
        weights[:, :, rows, columns], masked[rows, columns] = part.weights, part.masked
        row, column = rows.stop, columns.stop
    return Attention(parts[0].kind, weights, queries, keys, masked)
