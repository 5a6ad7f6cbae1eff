"""What a decoder's pass computes over its blocks, as functions of plain numbers."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from models.lean.stack import Stack
from models.products import through
from models.scoring import Scoring, scored
from models.scripted import scripted


class Texts(NamedTuple):
    """What is read in one pass: of each text so many `rows` of so many new `tokens`, behind `lengths` tokens.

    What follows is wanted behind so many of the last of these tokens. `stores`
    `[layer, 2, row, head, token, width]` keep keys and values. `masks` `[new token, token]` are added
    to the scores of texts that read several tokens behind others; those of all others are empty.
    """

    rows: list[int]
    tokens: list[int]
    wanted: list[int]
    lengths: list[int]
    stores: list[Tensor]
    masks: list[Tensor]


@scripted
def placed(texts: Texts, like: Tensor) -> Tensor:
    """Where in its text each new token stands, `[token of any text]`, on the device of `like`."""
    places: list[int] = []
    for text in range(len(texts.rows)):
        for _ in range(texts.rows[text]):
            for place in range(texts.lengths[text], texts.lengths[text] + texts.tokens[text]):
                places.append(place)
    return torch.tensor(places, device=like.device)


@scripted
def side_by_side(ids: list[Tensor]) -> Tensor:
    """Texts `[row, token]` of several sizes side by side, `[token of any text]`."""
    flat = [each.reshape(-1) for each in ids]
    return torch.cat(flat) if len(flat) > 1 else flat[0]


@scripted
def said(x: Tensor, texts: Texts, scoring: Scoring, most: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What each text says of its rows' next tokens: logits `[row, vocabulary]`, and the best ids and log-probabilities.

    Where it is wanted behind several tokens, each of them counts as a row. `x` `[token of any text, width]` is what was
    read of the texts.
    """
    rows, tokens, wanted = texts.rows, texts.tokens, texts.wanted
    lasts: list[int] = []
    end, some = 0, False
    for text in range(len(rows)):
        some = some or tokens[text] > wanted[text]
        for _ in range(rows[text]):
            end += tokens[text]
            for last in range(end - wanted[text], end):
                lasts.append(last)
    if some:
        x = x[torch.tensor(lasts, device=x.device)]
    logits, ids, log_probabilities = scored(x, scoring, most)
    if len(rows) == 1:
        return [(logits, ids, log_probabilities)]
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    start = 0
    for text in range(len(rows)):
        size = rows[text] * wanted[text]
        found.append(
            (logits.narrow(0, start, size), ids.narrow(0, start, size), log_probabilities.narrow(0, start, size))
        )
        start += size
    return found


@scripted
def attended(joint: Tensor, heads: int, texts: Texts, layer: int) -> Tensor:
    """What the new tokens of each text find at themselves and at those before them, which they join.

    `joint` `[token of any text, 3 * heads * width]` has their queries, keys and values side by side in the `layer`.
    Back comes `[token of any text, heads * width]`.
    """
    found: list[Tensor] = []
    start = 0
    for text in range(len(texts.rows)):
        new, length, store = texts.tokens[text], texts.lengths[text], texts.stores[text].select(0, layer)
        size = texts.rows[text] * new
        own = joint.narrow(0, start, size).view(texts.rows[text], new, 3, heads, -1).permute(2, 0, 3, 1, 4)
        start += size
        store.narrow(3, length, new).copy_(own[1:])
        known = store.narrow(3, 0, length + new)
        # A single query is the last token and may see all; several are a text's beginning, or need a mask.
        mask: Tensor | None = None
        if new > 1 and length > 0:
            mask = texts.masks[text]
        seen = functional.scaled_dot_product_attention(own[0], known[0], known[1], mask, 0.0, new > 1 and length == 0)
        found.append(seen.transpose(1, 2).reshape(size, -1))
    return torch.cat(found) if len(found) > 1 else found[0]


@scripted
def looked_up(queries: Tensor, heads: int, texts: Texts, sources: list[Tensor]) -> Tensor:
    """What `queries` `[token of any text, heads * width]` find in their text's source `[2, head, token, width]`."""
    found: list[Tensor] = []
    start = 0
    for text in range(len(texts.rows)):
        size = texts.rows[text] * texts.tokens[text]
        # To the one source all rows are one text's.
        asked = queries.narrow(0, start, size).view(1, size, heads, -1).transpose(1, 2)
        start += size
        source = sources[text]
        seen = functional.scaled_dot_product_attention(asked, source[0][None], source[1][None])
        found.append(seen.transpose(1, 2).reshape(size, -1))
    return torch.cat(found) if len(found) > 1 else found[0]


@scripted
def read_blocks(x: Tensor, texts: Texts, stack: Stack) -> Tensor:
    """GPT-2's blocks and its last norm over embeddings `x` `[token of any text, width]`.

    Each block has four products: queries, keys and values jointly, heads together, wide with the activation, and
    narrow; and a norm before the first and before the third.
    """
    width, numbers, norms, epsilons = [x.shape[-1]], stack.numbers, stack.norms, stack.epsilons
    blocks = len(epsilons) // 2
    for block in range(blocks):
        a, b, c, d = 4 * block, 4 * block + 1, 4 * block + 2, 4 * block + 3
        normed = torch.layer_norm(x, width, norms[a], norms[b], epsilons[2 * block])
        joint = through(normed, numbers, a).to(x.dtype)
        x = x + through(attended(joint, stack.heads, texts, block), numbers, b)
        normed = torch.layer_norm(x, width, norms[c], norms[d], epsilons[2 * block + 1])
        inner = through(normed, numbers, c, stack.then)
        x = x + through(inner, numbers, d)
    return torch.layer_norm(x, width, norms[-2], norms[-1], epsilons[-1])


@scripted
def read_layers(x: Tensor, texts: Texts, sources: list[Tensor], stack: Stack) -> Tensor:
    """The layers of Marian's decoder over embeddings `x` `[token of any text, width]`.

    Each layer has six products: queries, keys and values jointly, heads together, queries for the source, heads
    together, wide with the activation, and narrow; and a norm behind each of its three parts. `sources` are all texts'
    of the first layer, then all of the second, and so on.
    """
    width, numbers, norms, epsilons = [x.shape[-1]], stack.numbers, stack.norms, stack.epsilons
    count = len(texts.rows)
    for layer in range(len(epsilons) // 3):
        a = 6 * layer
        joint = through(x, numbers, a).to(x.dtype)
        x = x + through(attended(joint, stack.heads, texts, layer), numbers, a + 1)
        x = torch.layer_norm(x, width, norms[a], norms[a + 1], epsilons[3 * layer])
        asked = through(x, numbers, a + 2).to(x.dtype)
        found = looked_up(asked, stack.heads, texts, sources[layer * count : (layer + 1) * count])
        x = x + through(found, numbers, a + 3)
        x = torch.layer_norm(x, width, norms[a + 2], norms[a + 3], epsilons[3 * layer + 1])
        inner = through(x, numbers, a + 4, stack.then)
        x = x + through(inner, numbers, a + 5)
        x = torch.layer_norm(x, width, norms[a + 4], norms[a + 5], epsilons[3 * layer + 2])
    return x


@scripted
def written_by_blocks(
    ids: list[Tensor], words: Tensor, places: Tensor, texts: Texts, stack: Stack, scoring: Scoring, most: int
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """GPT-2 from the new `ids` of each text to what it says, see `said`; `words` and `places` are its embeddings."""
    x = torch.embedding(words, side_by_side(ids)) + torch.embedding(places, placed(texts, words))
    return said(read_blocks(x, texts, stack), texts, scoring, most)


@scripted
def written_by_layers(
    ids: list[Tensor],
    words: Tensor,
    places: Tensor,
    scale: float,
    texts: Texts,
    sources: list[Tensor],
    stack: Stack,
    scoring: Scoring,
    most: int,
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Marian's decoder in the same way; its words are multiplied by a `scale`."""
    x = torch.embedding(words, side_by_side(ids)) * scale
    x = x + torch.embedding(places, placed(texts, words))
    return said(read_layers(x, texts, sources, stack), texts, scoring, most)
