"""Capture attention: one eager forward pass over a finished text, by the network's trunk: no head is needed for it."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from models.outputs import Attention, Attentions, Token


def capture_encoder(network: PreTrainedModel, encoded: Mapping[str, Tensor], tokens: tuple[Token, ...]) -> Attentions:
    """The self-attention over `tokens`, `encoded` as tensors `[1, token]`.

    Call it while the network's attention is eager.
    """
    with torch.inference_mode():
        return encoder_attention(network.base_model(**encoded, output_attentions=True).attentions, tokens)


def encoder_attention(layers: Sequence[Tensor], tokens: tuple[Token, ...]) -> Attentions:
    """The self-attention over `tokens`, a `[1, head, query, key]` per layer."""
    weights = stack(layers)
    return {"encoder": Attention("encoder", weights, tokens, tokens, nothing_masked(weights))}


def capture_decoder(network: PreTrainedModel, ids: Tensor, tokens: tuple[Token, ...]) -> Attentions:
    """The masked self-attention over `ids` `[1, token]`: no token looks at a later one."""
    with torch.inference_mode():
        weights = stack(network.base_model(input_ids=ids, output_attentions=True).attentions)
    return {"decoder": Attention("decoder", weights, tokens, tokens, causal(len(tokens)))}


def capture_encoder_decoder(
    network: PreTrainedModel,
    source: Tensor,
    read: Tensor,
    tokens: tuple[tuple[Token, ...], tuple[Token, ...], tuple[Token, ...]],
) -> dict[str, Attention]:
    """The attention of the encoder over `source` `[1, token]`, of the decoder over what it has `read`, and across.

    `tokens` are the source's, those that the decoder has read, and those that it has written from them.
    """
    with torch.inference_mode():
        output = network.base_model(input_ids=source, decoder_input_ids=read, output_attentions=True, use_cache=False)
    cross = stack(output.cross_attentions)
    of_source, of_read, written = tokens
    return {
        "cross": Attention("cross", cross, written, of_source, nothing_masked(cross)),
        **encoder_attention(output.encoder_attentions, of_source),
        "decoder": Attention("decoder", stack(output.decoder_attentions), of_read, of_read, causal(len(of_read))),
    }


def stack(layers: Sequence[Tensor]) -> NDArray[np.float32]:
    """Attentions as transformers returns them, a `[1, head, query, key]` per layer, as one array."""
    return np.stack([layer[0].float().cpu().numpy() for layer in layers])


def causal(length: int) -> NDArray[np.bool_]:
    """The mask `[query, key]` that hides later tokens."""
    return np.triu(np.ones((length, length), dtype=bool), k=1)


def nothing_masked(weights: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The mask `[query, key]` of attention `[layer, head, query, key]` that may look everywhere."""
    return np.zeros(weights.shape[2:], dtype=bool)


def side_by_side(parts: Sequence[Attention]) -> Attention:
    """The attention of texts that were read one by one as that of one text; between two of them all is masked."""
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
