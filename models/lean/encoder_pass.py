"""What an encoder's pass computes, from ids to what its head says, as functions of plain numbers."""

import torch
from torch import Tensor

from models.encoder_blocks import Embeddings
from models.lean.heads import Head, answered
from models.lean.stack import Stack
from models.products import through
from models.scripted import scripted


@scripted
def embedded(ids: Tensor, types: Tensor | None, by: Embeddings) -> Tensor:
    """`ids` and `types`, which say of a token of which text it is, are `[row, token]`; `[row, token, width]`."""
    texts = by.texts
    x = torch.embedding(by.words, ids) + by.places[: ids.shape[1]]
    if texts is not None:
        x = x + (texts[0] if types is None else torch.embedding(texts, types))
    return torch.layer_norm(x, [x.shape[-1]], by.norm[0], by.norm[1], by.epsilon)


@scripted
def visible_of(mask: Tensor | None) -> Tensor | None:
    """Of a mask `[row, token]` that is 0 at padding, what every query of every head sees."""
    if mask is None:
        return None
    return mask[:, None, None, :].to(torch.bool)


@scripted
def apart(joint: Tensor, heads: int) -> Tensor:
    """Queries, keys and values, `[3, row, head, token, width]`, of `[row, token, 3 * heads * width]`."""
    return joint.view(joint.shape[0], joint.shape[1], 3, heads, -1).permute(2, 0, 3, 1, 4)


@scripted
def weights_of(queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d)) (Vaswani et al., 2017, section 3.2.1), `[row, head, query, key]`.

    Queries and keys are `[row, head, token, width]`; `visible` `[row, 1, 1, key]` is false at padding.
    """
    rows, heads, tokens, width = queries.shape
    # One operation scales and multiplies; what it would add counts nothing.
    scores = torch.baddbmm(
        queries.new_empty(1, 1, 1), queries.reshape(rows * heads, tokens, width),
        keys.reshape(rows * heads, tokens, width).transpose(1, 2), beta=0, alpha=width**-0.5,
    ).view(rows, heads, tokens, tokens)  # fmt: skip
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
    x: Tensor, visible: Tensor | None, stack: Stack, worth_rounding: int, long: int, only: list[int] | None = None
) -> Tensor:
    """All blocks over the embeddings `x` `[row, token, width]`, which come out so.

    Where `only` some tokens are wanted, whose places are counted through all rows, `[1, place, width]` comes out.

    Each block has four products: queries, keys and values jointly, heads together, wide with the activation, and
    narrow; and two norms with a weight and a bias each. Attention is rounded only from `worth_rounding` numbers on.
    """
    rows, tokens, width = x.shape
    numbers, norms, epsilons = stack.numbers, stack.norms, stack.epsilons
    blocks = len(epsilons) // 2
    for block in range(blocks):
        a, b, c, d = 4 * block, 4 * block + 1, 4 * block + 2, 4 * block + 3
        joint = through(x, numbers, a)
        if tokens * joint.shape[2] < worth_rounding:
            joint = joint.to(x.dtype)
        queries, keys, values = apart(joint, stack.heads).unbind()
        found = found_by(queries, keys, values, visible, long).transpose(1, 2).reshape(rows, tokens, width)
        if only is not None and block == blocks - 1:
            # A product of a single row adds up in another order: its bits would depend on who else is read.
            places = torch.tensor(only if len(only) > 1 else only + only, device=x.device)
            found, x = found.view(1, -1, width)[:, places], x.view(1, -1, width)[:, places]
        x = x + through(found, numbers, b)
        x = torch.layer_norm(x, [width], norms[a], norms[b], epsilons[2 * block])
        inner = through(x, numbers, c, stack.then)
        x = x + through(inner, numbers, d)
        x = torch.layer_norm(x, [width], norms[c], norms[d], epsilons[2 * block + 1])
    return x if only is None else x[:, : len(only)]


@scripted
def read_texts(
    ids: Tensor,
    types: Tensor | None,
    mask: Tensor | None,
    only: list[int] | None,
    embeddings: Embeddings,
    stack: Stack,
    head: Head,
    worth_rounding: int,
    long: int,
) -> list[Tensor]:
    """What a `head` says of texts; see `embedded`, `visible_of`, `read_blocks` and `answered`."""
    if head.kind == "label":
        only = list(range(0, ids.numel(), ids.shape[1]))
    x = embedded(ids, types, embeddings)
    return answered(read_blocks(x, visible_of(mask), stack, worth_rounding, long, only), head)
