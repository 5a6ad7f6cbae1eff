"""What a decoder has read and written so far: the one place that knows how to go on."""

import inspect
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from models.layout import quickly
from models.lean import Reader, lean_reader, read_source
from models.scores import Best, best_of
from models.scripted import scripted
from models.steps import Steps
from models.stopping import go_on
from models.threads import fair_share


class DecoderState:
    """Rows of ids that grow together.

    `ids` is `[row, token]`. With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once.
    `lock` is held during each forward only, so that others get their turn between two tokens; before each it is asked
    whether anyone still waits. Texts with the same `steps` are read together.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        ids: Tensor,
        lock: AbstractContextManager[bool],
        source: Tensor | None = None,
        steps: Steps | None = None,
    ) -> None:
        self.ids = ids
        self._network, self._lock = network, lock
        self._steps = steps or Steps(lock)
        self._unread = ids
        encoded = None
        go_on()
        with lock, fair_share(lock), quickly(), torch.inference_mode():
            if source is not None:
                encoded = read_source(network, source)
            self._reader: Reader = lean_reader(network, encoded) or _PlainReader(network, encoded)
        self._exact: tuple[_PlainReader, int] | None = None

    def next_best(self) -> Best:
        """Read what has not been read yet; what every row says of the next token. Raises `Stopped`."""
        return self._steps.read(self._reader, self._unread)

    def exactly_next(self) -> Best:
        """The same for a text of one row without a source, nothing rounded; raises `Stopped`.

        What was read so before is remembered, so that only what was written since is read anew.
        """
        go_on()
        with self._lock, fair_share(self._lock), torch.inference_mode():
            # Put back only when it has read to the end.
            (reader, read), self._exact = self._exact or (_PlainReader(self._network, None), 0), None
            best = reader.read(self.ids[:, read:])
            self._exact = reader, self.ids.shape[1]
        return best

    def append(self, ids: Tensor) -> None:
        """Write one id `[row]` behind each row."""
        self._unread = ids[:, None]
        self.ids = torch.cat([self.ids, self._unread], dim=1)

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


class _PlainReader:
    """Any decoder, as transformers reads it."""

    def __init__(self, network: PreTrainedModel, encoded: Tensor | None) -> None:
        self._network = network
        self._encoded = encoded
        # OpenAI's first GPT has no cache in transformers and reads the whole text again at each step.
        understood = inspect.signature(network.forward).parameters
        # Only the last token of a prompt says what comes next: the others need no scores over the vocabulary.
        self._options: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in understood else {}
        self._cache: DynamicCache | EncoderDecoderCache | None = None
        self._read: Tensor | None = None
        if "past_key_values" in understood:
            self._cache = DynamicCache(config=network.config.get_text_config(decoder=True))
            if encoded is not None:
                self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            self._options |= {"past_key_values": self._cache, "use_cache": True}

    def read(self, ids: Tensor) -> Best:
        """Read `ids` behind what was read; what may come next."""
        if self._cache is None:
            self._read = ids = ids if self._read is None else torch.cat([self._read, ids], dim=1)
        if self._encoded is None:
            inputs: dict[str, Any] = {"input_ids": ids}
        else:
            encoded = self._encoded.expand(len(ids), -1, -1)
            inputs = {"decoder_input_ids": ids, "encoder_outputs": BaseModelOutput(last_hidden_state=encoded)}
        logits: Tensor = self._network(**inputs, **self._options).logits
        return best_of(logits[:, -1].float())

    def reorder(self, rows: Tensor, alike: int) -> None:
        """Row i becomes what row `rows[i]` was."""
        if self._cache is not None:
            self._cache.reorder_cache(rows.long())  # type: ignore[arg-type]
        elif self._read is not None:
            self._read = self._read[rows]
