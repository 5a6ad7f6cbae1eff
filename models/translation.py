"""Translation with an encoder-decoder and beam search (Vaswani et al., 2017; Marian: Junczys-Dowmunt et al., 2018)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from models.base import TaskModel, batch_of_one, require_text
from models.capture import causal, nothing_masked, stack
from models.decoder_state import DecoderState
from models.decoding import Hypothesis, beam_search, end_ids
from models.errors import InputError
from models.outputs import Attention, Attentions, Prediction, Token, TranslationOutput
from models.tokens import read_tokens

MAX_BEAMS = 8
# A translation is rarely twice as long as its source; the rest is room for short sources.
_TOKENS_PER_SOURCE_TOKEN = 2
_TOKENS_ALWAYS_ALLOWED = 32


@dataclass(frozen=True)
class TranslationInput:
    """A text to translate and how many hypotheses the beam search keeps."""

    text: str
    num_beams: int = 4


@dataclass(frozen=True)
class EncodedSource:
    """`ids` is `[1, token]`."""

    ids: Tensor
    tokens: tuple[Token, ...]
    num_beams: int


class Translation(TaskModel[TranslationInput, EncodedSource, list[Hypothesis], TranslationOutput]):
    """An encoder-decoder with the candidates of its beam."""

    inputs_type = TranslationInput

    def preprocess(self, inputs: TranslationInput) -> EncodedSource:
        """Raises `InputError` for empty text, for one longer than the window and for too many beams."""
        text = require_text(inputs.text, "text", "The text")
        if not 1 <= inputs.num_beams <= MAX_BEAMS:
            raise InputError(f"The number of beams must be from 1 to {MAX_BEAMS}.", "num_beams")
        ids = list(self.tokenizer(self.checkpoint.prefix + text)["input_ids"])
        self.require_window(len(ids), "text")
        return EncodedSource(batch_of_one(ids, self.network), read_tokens(self.tokenizer, ids), inputs.num_beams)

    def forward(self, encoded: EncodedSource) -> list[Hypothesis]:
        """Beam search from the decoder's start token; with one beam it is greedy search."""
        config = self.network.generation_config
        state = DecoderState(self.network, self._start(), self.lock, source=encoded.ids)
        return beam_search(state, config, encoded.num_beams, self._room(encoded), end_ids(config))

    def postprocess(self, inputs: TranslationInput, encoded: EncodedSource, raw: list[Hypothesis]) -> TranslationOutput:
        """The candidates as text, and the tokens of the best."""
        return TranslationOutput(
            self.identity,
            encoded.tokens,
            tuple(
                Prediction(str(self.tokenizer.decode(list(each.ids), skip_special_tokens=True)).strip(), each.score)
                for each in raw
            ),
            read_tokens(self.tokenizer, raw[0].ids),
        )

    def attend(self, inputs: TranslationInput, written: tuple[int, ...] = ()) -> Attentions:
        """The attention of the encoder, the decoder and between them, over the source and what was `written`.

        A row of `cross` belongs to the token that is written from it; the decoder itself reads one token behind.
        """
        encoded = self.preprocess(inputs)
        read = torch.cat([self._start(), batch_of_one(list(written), self.network)], dim=1)[:, :-1]
        with self.eager_attention(), torch.inference_mode():
            output = self.network(
                input_ids=encoded.ids, decoder_input_ids=read, output_attentions=True, use_cache=False
            )
        source = encoded.tokens
        target = read_tokens(self.tokenizer, list(written))
        read_by_decoder = read_tokens(self.tokenizer, read[0].tolist())
        cross = stack(output.cross_attentions)
        own = stack(output.decoder_attentions)
        encoder = stack(output.encoder_attentions)
        return {
            "cross": Attention("cross", cross, target, source, nothing_masked(cross)),
            "encoder": Attention("encoder", encoder, source, source, nothing_masked(encoder)),
            "decoder": Attention("decoder", own, read_by_decoder, read_by_decoder, causal(len(target))),
        }

    def _start(self) -> Tensor:
        """The decoder's first token, `[1, 1]`."""
        config = self.network.generation_config
        start = config.decoder_start_token_id
        return batch_of_one([int(config.bos_token_id if start is None else start)], self.network)

    def _room(self, encoded: EncodedSource) -> int:
        """How many tokens the translation may have."""
        wanted = encoded.ids.shape[1] * _TOKENS_PER_SOURCE_TOKEN + _TOKENS_ALWAYS_ALLOWED
        return min(wanted, self.window - 1)
