"""What a decoder has read and written so far: the one place that knows how to go on."""

import inspect
from collections.abc import Generator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from models.guesses import Guesser
from models.layout import quickly
from models.lean import lean_reader, may_read_ahead
from models.scores import Best, Scores, best_of
from models.steps import Steps, Unread


class DecoderState:
    """Rows of ids that grow together, from `ids` `[row, token]` on.

    With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once. What the rows say of
    their next tokens is asked of whoever makes the `steps`, which are those of all texts that the network writes at
    that time.
    """

    def __init__(self, network: PreTrainedModel, ids: Tensor, steps: Steps, source: Tensor | None = None) -> None:
        self.rows: list[list[int]] = ids.tolist()
        self._steps = steps
        self._unread = ids
        # In the numbers that may be computed in for an answer.
        with quickly(), torch.inference_mode():
            self._reader = lean_reader(network, source) or _PlainReader(network, source)
        self._guessed: list[int] = []
        self._foreseen: list[Scores] = []
        self._alike = 0

    @property
    def ids(self) -> Tensor:
        """All rows, `[row, token]`."""
        return self._unread.new_tensor(self.rows)

    def next_scores(self, guesser: Guesser | None, room: int) -> Generator[Unread, Any, Scores]:
        """What a text of one row says of its next token, of up to `room` that are still to come.

        What a `guesser` guesses of these is read along where that costs little: beside other texts it would not.
        """
        if not self._foreseen:
            guessed: list[int] = []
            if guesser and may_read_ahead(self._reader):
                guessed = guesser.guesses(self.rows[0], room - 1)
            unread = self._unread
            if guessed:
                unread = torch.cat([unread, unread.new_tensor([guessed])], dim=1)
            best: Best = yield Unread(self._reader, unread, 1 + len(guessed))
            self._foreseen = best.rows()
            self._guessed = guessed
        return self._foreseen[0]

    def next_best(self) -> Generator[Unread, Any, Best]:
        """Read what has not been read yet; what every row says of the next token."""
        best: Best = yield Unread(self._reader, self._unread, 1)
        return best

    def append(self, ids: Sequence[int]) -> None:
        """Write one id behind each row."""
        for row, new in zip(self.rows, ids, strict=True):
            row.append(new)
        self._unread = self._unread.new_tensor([[new] for new in ids])
        if self._guessed and self._guessed[0] == ids[0]:
            # Read already, and what is said behind it known.
            del self._guessed[0], self._foreseen[0]
            return
        if self._guessed:
            self._reader.forget(len(self._guessed))
        self._guessed, self._foreseen = [], []

    def reorder(self, rows: Sequence[int]) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        if list(rows) == list(range(len(self.rows))):
            return
        # Where all rows say the same, they remember the same; and of rows that begin alike, so do all that follow.
        while self._alike < len(self.rows[0]) and len({row[self._alike] for row in self.rows}) == 1:
            self._alike += 1
        with torch.inference_mode():
            self._reader.reorder(rows, self._alike)
        self.rows = [list(self.rows[row]) for row in rows]


class _PlainReader:
    """Any decoder, as transformers reads it."""

    def __init__(self, network: PreTrainedModel, source: Tensor | None) -> None:
        self._network = network
        self._source = source
        self._encoded: Tensor | None = None
        # OpenAI's first GPT has no cache in transformers and reads the whole text again at each step.
        understood = inspect.signature(network.forward).parameters
        # Only the last tokens are asked what comes next: the others need no scores over the vocabulary.
        self._keeps_logits = "logits_to_keep" in understood
        self._options: dict[str, Any] = {}
        self._cache: DynamicCache | EncoderDecoderCache | None = None
        self._read: Tensor | None = None
        if "past_key_values" in understood:
            self._cache = DynamicCache(config=network.config.get_text_config(decoder=True))
            if source is not None:
                self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            self._options = {"past_key_values": self._cache, "use_cache": True}

    @property
    def source_left(self) -> int:
        """How many tokens of the source are read with the first ids."""
        return 0 if self._source is None or self._encoded is not None else self._source.numel()

    def read(self, ids: Tensor, wanted: int = 1) -> Best:
        """Read `ids` behind what was read; what may come next behind the last `wanted` of them."""
        if self._cache is None:
            self._read = ids = ids if self._read is None else torch.cat([self._read, ids], dim=1)
        if self._source is None:
            inputs: dict[str, Any] = {"input_ids": ids}
        else:
            if self._encoded is None:
                self._encoded = self._network.get_encoder()(input_ids=self._source).last_hidden_state
            encoded = self._encoded.expand(len(ids), -1, -1)
            inputs = {"decoder_input_ids": ids, "encoder_outputs": BaseModelOutput(last_hidden_state=encoded)}
        if self._keeps_logits:
            inputs["logits_to_keep"] = wanted
        logits: Tensor = self._network(**inputs, **self._options).logits
        return best_of(logits[:, -wanted:].flatten(0, 1).float())

    def forget(self, tokens: int) -> None:
        """Nothing is read ahead here."""

    def reorder(self, rows: Sequence[int], alike: int) -> None:
        """Row i becomes what row `rows[i]` was."""
        if self._cache is not None:
            self._cache.reorder_cache(torch.tensor(rows, device=self._network.device))  # type: ignore[arg-type]
        elif self._read is not None:
            self._read = self._read[list(rows)]
