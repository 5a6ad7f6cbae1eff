"""What an encoder's pass computes, from ids to hidden vectors, as functions of plain numbers."""

import torch
from torch import Tensor

from models.products import Numbers, through
from models.scripted import scripted


@scripted
def embedded(
    ids: Tensor,
    types: Tensor | None,
    words: Tensor,
    places: Tensor,
    texts: Tensor | None,
    norm: list[Tensor],
    epsilon: float,
) -> Tensor:
    """Words, places and, where the network tells them apart, the first text from the second; `[row, token, width]`.

    `ids` and `types` are `[row, token]`, and the tables `[entry, width]`.
    """
    x = torch.embedding(words, ids) + places[: ids.shape[1]]
    if texts is not None:
        x = x + (texts[0] if types is None else torch.embedding(texts, types))
    return torch.layer_norm(x, [x.shape[-1]], norm[0], norm[1], epsilon)


@scripted
def apart(joint: Tensor, heads: int) -> Tensor:
    """Queries, keys and values, `[3, row, head, token, width]`, of `[row, token, 3 * heads * width]`."""
    return joint.view(joint.shape[0], joint.shape[1], 3, heads, -1).permute(2, 0, 3, 1, 4)


@scripted
def weights_of(queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d)) (Vaswani et al., 2017, section 3.2.1), `[row, head, query, key]`.

    Queries and keys are `[row, head, token, width]`; `visible` `[row, 1, 1, key]` is false at padding.
    """
    scores = torch.matmul(queries * queries.shape[-1] ** -0.5, keys.transpose(2, 3))
    if visible is not None:
        # As far from all others as float32 and bfloat16 go.
        scores = scores.masked_fill_(visible.logical_not(), -3.0e38)
    return scores.softmax(dim=-1)


@scripted
def found_by(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor | None, long: int) -> Tensor:
    """What each query finds, `[row, head, query, width]`.

    Of many texts of `long` tokens or more, one after the other: all weights at once would need much memory.
    """
    if len(queries) == 1 or queries.shape[2] < long:
        return torch.matmul(weights_of(queries, keys, visible), values)
    found: list[Tensor] = []
    for row in range(len(queries)):
        seen = None if visible is None else visible[row : row + 1]
        weights = weights_of(queries[row : row + 1], keys[row : row + 1], seen)
        found.append(torch.matmul(weights, values[row : row + 1]))
    return torch.cat(found)


@scripted
def read_blocks(
    x: Tensor,
    visible: Tensor | None,
    numbers: Numbers,
    then: str,
    norms: list[Tensor],
    epsilons: list[float],
    heads: int,
    worth_rounding: int,
    long: int,
) -> Tensor:
    """All blocks over the embeddings `x` `[row, token, width]`.

    Each block has four products: queries, keys and values jointly, heads together, wide with the activation `then`, and
    narrow; and two norms with a weight and a bias each. Attention is rounded only from `worth_rounding` numbers on.
    """
    rows, tokens, width = x.shape
    for block in range(len(epsilons) // 2):
        a, b, c, d = 4 * block, 4 * block + 1, 4 * block + 2, 4 * block + 3
        joint = through(x, numbers, a)
        if tokens * joint.shape[2] < worth_rounding:
            joint = joint.to(x.dtype)
        queries, keys, values = apart(joint, heads).unbind()
        found = found_by(queries, keys, values, visible, long).transpose(1, 2).reshape(rows, tokens, width)
        x = x + through(found, numbers, b)
        x = torch.layer_norm(x, [width], norms[a], norms[b], epsilons[2 * block])
        inner = through(x, numbers, c, then)
        x = x + through(inner, numbers, d)
        x = torch.layer_norm(x, [width], norms[c], norms[d], epsilons[2 * block + 1])
    return x
