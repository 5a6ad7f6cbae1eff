"""What lean readers share: heads apart and together, attention over what is remembered, and layer norm."""

from torch import Tensor, nn
from torch.nn import functional


def heads_apart(x: Tensor, heads: int) -> Tensor:
    """`[row, token, heads * width]` as `[row, head, token, width]`."""
    rows, tokens, width = x.shape
    return x.view(rows, tokens, heads, width // heads).transpose(1, 2)


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """What each query `[row, head, new, width]`, the last ones of the text, finds at itself and before.

    Back comes `[row, new, heads * width]`.
    """
    rows, heads, new, width = queries.shape
    # A single query is the last token and may see all; several are a whole text that is read for the first time.
    found = functional.scaled_dot_product_attention(queries, keys, values, is_causal=new > 1)
    return found.transpose(1, 2).reshape(rows, new, heads * width)


def normed(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """Layer norm without the module's way round."""
    return functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
