"""A checkpoint's own settings for writing, and what they make of the scores of a next token.

transformers keeps them in `generation_config.json` and applies them as logits processors
(https://huggingface.co/docs/transformers/internal/generation_utils); these give the same scores in NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.decoding.loops import barred
from models.decoding.scores import Scores, log_softmax


@dataclass(frozen=True)
class GenerationSettings:
    """What a checkpoint says of how its texts are written; ids are those of its vocabulary.

    `end_ids` end a text, and an encoder-decoder begins with `start_id`. `bad_words_ids` are never written, no run of
    `no_repeat_ngram_size` tokens is written twice, and `forced_bos_id` and `forced_eos_ids` stand first and last.
    `length_penalty` and `early_stopping` are beam search's.
    """

    start_id: int | None = None
    end_ids: tuple[int, ...] = ()
    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    no_repeat_ngram_size: int = 0
    forced_bos_id: int | None = None
    forced_eos_ids: tuple[int, ...] = ()
    renormalize_logits: bool = False
    length_penalty: float = 1.0
    early_stopping: bool | str = False

    def processed(self, written: Sequence[Sequence[int]], scores: Scores, max_length: int) -> Scores:
        """The `scores` `[row, vocabulary]` of what follows each row of `written`, a text of at most `max_length` ids.

        What may not be written is at minus infinity.
        """
        length = len(written[0])
        if self.no_repeat_ngram_size or self.bad_words_ids:
            scores = scores.copy()
            for row, ids in zip(scores, written, strict=True):
                row[self._forbidden(ids)] = -np.inf
        if self.forced_bos_id is not None and length == 1:
            scores = _only((self.forced_bos_id,), scores)
        if self.forced_eos_ids and length == max_length - 1:
            scores = _only(self.forced_eos_ids, scores)
        return log_softmax(scores) if self.renormalize_logits else scores

    def _forbidden(self, written: Sequence[int]) -> list[int]:
        """The ids that may not follow `written`."""
        found = barred(written, self.no_repeat_ngram_size, times=1) if self.no_repeat_ngram_size else []
        for *before, last in self.bad_words_ids:
            # An end token may be written even where it is forbidden, as in transformers.
            if not before and last in self.end_ids:
                continue
            if not before or (len(before) < len(written) and list(written[-len(before) :]) == before):
                found.append(last)
        return found


def _only(ids: Sequence[int], scores: Scores) -> Scores:
    forced = np.full_like(scores, -np.inf)
    forced[:, list(ids)] = 0
    return forced
