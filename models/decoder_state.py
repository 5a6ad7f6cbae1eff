"""What a decoder has read and written so far: the one place that knows how to go on."""

import inspect
from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from models.guesses import Guesser
from models.layout import quickly
from models.lean import Reader, lean_reader, may_read_ahead, read_source
from models.scores import Best, Scores, best_of
from models.scripted import scripted
from models.steps import Steps, Unread
from models.stopping import go_on
from models.threads import fair_share


class DecoderState:
    """Rows of ids that grow together.

    `ids` is `[row, token]`. With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once.
    What the rows say of their next tokens is asked of whoever makes the `steps`, which is those of all texts that the
    network writes at that time.
    """

    def __init__(self, network: PreTrainedModel, ids: Tensor, steps: Steps, source: Tensor | None = None) -> None:
        self.ids = ids
        self._steps = steps
        self._unread = ids
        encoded = None
        go_on()
        with steps.lock, fair_share(steps.lock), quickly(), torch.inference_mode():
            if source is not None:
                encoded = read_source(network, source)
            self._reader = _reader(network, encoded)
        self._guessed: list[int] = []
        self._foreseen: list[Scores] = []

    def next_scores(self, guesser: Guesser | None, room: int) -> Generator[Unread, Any, Scores]:
        """What a text of one row says of its next token, of up to `room` that are still to come.

        What a `guesser` guesses of these is read along where that costs little: beside other texts it would not.
        """
        if not self._foreseen:
            guessed: list[int] = []
            if guesser and may_read_ahead(self._reader) and not self._steps.are_shared:
                guessed = guesser.guesses(self.ids[0].tolist(), room - 1)
            unread = torch.cat([self._unread, self._unread.new_tensor([guessed])], dim=1)
            best: Best = yield Unread(self._reader, unread, 1 + len(guessed))
            self._foreseen = best.rows()
            self._guessed = guessed
        return self._foreseen[0]

    def next_best(self) -> Generator[Unread, Any, Best]:
        """Read what has not been read yet; what every row says of the next token."""
        best: Best = yield Unread(self._reader, self._unread, 1)
        return best

    def append(self, ids: Tensor) -> None:
        """Write one id `[row]` behind each row."""
        self._unread = ids[:, None]
        self.ids = torch.cat([self.ids, self._unread], dim=1)
        if self._guessed and ids.tolist() == self._guessed[:1]:
            # Read already, and what is said behind it known.
            del self._guessed[0], self._foreseen[0]
            return
        if self._guessed:
            self._reader.forget(len(self._guessed))
        self._guessed, self._foreseen = [], []

    def reorder(self, rows: Tensor) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        if rows.tolist() == list(range(len(self.ids))):
            return
        with torch.inference_mode():
            # Where all rows say the same, they remember the same.
            self.ids, alike = _exchanged(self.ids, rows)
            self._reader.reorder(rows, alike)


@scripted
def _exchanged(ids: Tensor, rows: Tensor) -> tuple[Tensor, int]:
    """The `rows` of `ids` `[row, token]`; of how many of the first tokens all rows were the same."""
    return ids[rows], int((ids == ids[:1]).all(dim=0).long().cumprod(dim=0).sum())


def _reader(network: PreTrainedModel, encoded: Tensor | None) -> Reader:
    """A reader in the numbers that may be computed in here; `encoded` is what the encoder said, if there is one."""
    return lean_reader(network, encoded) or _PlainReader(network, encoded)


class _PlainReader:
    """Any decoder, as transformers reads it."""

    def __init__(self, network: PreTrainedModel, encoded: Tensor | None) -> None:
        self._network = network
        self._encoded = encoded
        # OpenAI's first GPT has no cache in transformers and reads the whole text again at each step.
        understood = inspect.signature(network.forward).parameters
        # Only the last tokens are asked what comes next: the others need no scores over the vocabulary.
        self._keeps_logits = "logits_to_keep" in understood
        self._options: dict[str, Any] = {}
        self._cache: DynamicCache | EncoderDecoderCache | None = None
        self._read: Tensor | None = None
        if "past_key_values" in understood:
            self._cache = DynamicCache(config=network.config.get_text_config(decoder=True))
            if encoded is not None:
                self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            self._options = {"past_key_values": self._cache, "use_cache": True}

    def read(self, ids: Tensor, wanted: int = 1) -> Best:
        """Read `ids` behind what was read; what may come next behind the last `wanted` of them."""
        if self._cache is None:
            self._read = ids = ids if self._read is None else torch.cat([self._read, ids], dim=1)
        if self._encoded is None:
            inputs: dict[str, Any] = {"input_ids": ids}
        else:
            encoded = self._encoded.expand(len(ids), -1, -1)
            inputs = {"decoder_input_ids": ids, "encoder_outputs": BaseModelOutput(last_hidden_state=encoded)}
        if self._keeps_logits:
            inputs["logits_to_keep"] = wanted
        logits: Tensor = self._network(**inputs, **self._options).logits
        return best_of(logits[:, -wanted:].flatten(0, 1).float())

    def forget(self, tokens: int) -> None:
        """Nothing is read ahead here."""

    def reorder(self, rows: Tensor, alike: int) -> None:
        """Row i becomes what row `rows[i]` was."""
        if self._cache is not None:
            self._cache.reorder_cache(rows.long())  # type: ignore[arg-type]
        elif self._read is not None:
            self._read = self._read[rows]
