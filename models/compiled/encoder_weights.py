"""The weights of an encoder as compiled passes read them."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from models.compiled.tables import Array, empty, floats, table
from models.encoder_blocks import activation_of, blocks_of, embeddings_of, is_plain
from models.joint import joint_layers
from models.kernels.encoder_layout import EncoderWeights
from models.kernels.layout import OUTPUTS


def fits(network: PreTrainedModel) -> bool:
    """Whether the network is one that compiled passes read: of tiles of 64 outputs, with heads as wide or half."""
    if not is_plain(network) or activation_of(network) != "gelu":
        return False
    heads, block = int(network.config.num_attention_heads), next(blocks_of(network))
    inner, width = block.wide.weight.shape
    return width % OUTPUTS == 0 and inner % OUTPUTS == 0 and width in (heads * OUTPUTS, heads * OUTPUTS // 2)


def weights_of(network: PreTrainedModel, laid_out: Callable[[Sequence[Tensor]], Array]) -> EncoderWeights:
    """Those of a `network`; its embeddings are shared with it, all else is copied, and its weights `laid_out`."""
    blocks, embeddings = tuple(blocks_of(network)), embeddings_of(network)
    joint = [joint_layers(block.attention) for block in blocks]
    weights = [[torch.cat([each.weight for each in layers]) for layers in joint]]
    biases = [[torch.cat([each.bias for each in layers]) for layers in joint]]
    for alike in zip(*((block.together, block.wide, block.narrow) for block in blocks), strict=True):
        weights.append([layer.weight for layer in alike])
        biases.append([layer.bias for layer in alike])
    norms = [(block.first_norm, block.second_norm) for block in blocks]
    width = len(blocks[0].narrow.weight)
    arrays: list[Array] = [
        *(laid_out(alike) for alike in weights),
        *(floats(alike) for alike in biases),
        floats([torch.stack([first.weight, first.bias, second.weight, second.bias]) for first, second in norms]),
        np.array([[first.eps, second.eps] for first, second in norms], np.float32),
        empty(width // int(network.config.num_attention_heads)),
        table(embeddings.words),
        table(embeddings.places),
        empty(0, width) if embeddings.texts is None else table(embeddings.texts),
        floats(embeddings.norm),
        np.array([embeddings.epsilon], np.float32),
    ]
    return EncoderWeights(*arrays)
