"""What a decoder has read and written so far, with its key-value cache: the one place that knows how to go on."""

import inspect
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from models.stopping import go_on


class DecoderState:
    """Rows of ids that grow together.

    `ids` is `[row, token]`. With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once.
    `lock` is held during each forward only, so that others get their turn between two tokens; before each it is asked
    whether anyone still waits.
    """

    def __init__(
        self, network: PreTrainedModel, ids: Tensor, lock: AbstractContextManager[bool], source: Tensor | None = None
    ) -> None:
        self.ids = ids
        self._network = network
        self._lock = lock
        self._unread = ids
        # OpenAI's first GPT has no cache in transformers and reads the whole text again at each step.
        understood = inspect.signature(network.forward).parameters
        self._cached = "past_key_values" in understood
        # Only the last token of a prompt says what comes next: the others need no scores over the vocabulary.
        self._last_logits = {"logits_to_keep": 1} if "logits_to_keep" in understood else {}
        self._cache: DynamicCache | EncoderDecoderCache | None = None
        self._encoded: Tensor | None = None
        if self._cached:
            self._cache = DynamicCache(config=network.config.get_text_config(decoder=True))
        if source is not None:
            self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            go_on()
            with self._lock, torch.inference_mode():
                self._encoded = network.get_encoder()(input_ids=source).last_hidden_state

    def next_logits(self) -> Tensor:
        """Read what has not been read yet; the logits `[row, vocabulary]` of the next token, in float32.

        Raises `Stopped`.
        """
        go_on()
        inputs: dict[str, Any] = dict(self._last_logits)
        if self._cached:
            inputs |= {"past_key_values": self._cache, "use_cache": True}
        if self._encoded is None:
            inputs["input_ids"] = self._unread if self._cached else self.ids
        else:
            inputs["decoder_input_ids"] = self._unread
            inputs["encoder_outputs"] = BaseModelOutput(last_hidden_state=self._encoded.expand(len(self.ids), -1, -1))
        with self._lock, torch.inference_mode():
            output = self._network(**inputs)
        return output.logits[:, -1].float()  # type: ignore[no-any-return]

    def append(self, ids: Tensor) -> None:
        """Write one id `[row]` behind each row."""
        self._unread = ids[:, None]
        self.ids = torch.cat([self.ids, self._unread], dim=1)

    def reorder(self, rows: Tensor) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        self.ids = self.ids[rows]
        if self._cache is not None:
            with torch.inference_mode():
                self._cache.reorder_cache(rows.long())  # type: ignore[arg-type]
