"""Linear layers that keep their weights laid out as well, and answer by them where they may."""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.coarse_scores import CoarseScores, can_be_coarse
from models.compiled import Compiled, compile_passes
from models.encoder_blocks import modules_inside
from models.joint import are_joint, joint_layers
from models.layout import LaidOut, Layout
from models.precision import Precision
from models.products import PLAIN, Numbers
from models.scoring import Scoring


def pack(network: PreTrainedModel, precision: Precision = Precision.FLOAT32) -> None:
    """Let every linear layer of `network` keep its weights laid out, too, where this processor gains by it.

    Where its passes, or its blocks, are compiled, that is how these keep them.

    Whoever changes a weight afterwards must pack again.
    """
    on_cpu = network.device.type == "cpu" and torch.backends.mkldnn.is_available()
    if not on_cpu or network.dtype != torch.float32:
        return
    compiled = compile_passes(network, precision)
    if compiled is not Compiled.NOTHING:
        _unpack(network)
    if compiled is Compiled.WHOLE:
        return
    inside = set(modules_inside(network)) if compiled is Compiled.BLOCKS else set()
    trunk = f"{network.base_model_prefix}."
    output = network.get_output_embeddings()
    for name, module in network.named_modules():
        if module in inside:
            continue
        if type(module) in _PACKED:
            module.__class__ = _PACKED[type(module)]
        if isinstance(module, Packed):
            of_trunk = name.startswith(trunk)
            exact = not of_trunk and len(_weight(module)) <= _FEW_OUTPUTS
            laid_out = Precision.FLOAT32 if exact else precision
            module.layout = _scores(module, precision) if module is output else _laid_out(module, laid_out)
        elif are_joint(module) and not name.endswith(_OF_ANOTHER_TEXT):
            vars(module)["joint"] = _joint(module, precision)


def _unpack(network: PreTrainedModel) -> None:
    """Forget what layers were laid out as before."""
    for module in network.modules():
        vars(module).pop("joint", None)
        if isinstance(module, Packed):
            module.__class__ = _PLAIN[type(module)]
            vars(module).pop("layout", None)


class PackedLinear(nn.Linear):
    """`x W^T + b` with `W` `[out, in]`."""

    layout: Layout

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        return self.layout.product(x) if self.layout.suits(x) else super().forward(x)


class PackedConv1D(Conv1D):
    """`x W + b` with `W` `[in, out]`, GPT-2's way to write a linear layer."""

    layout: Layout

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        if self.layout.suits(x):
            return self.layout.product(x)
        answer: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return answer


Packed = PackedLinear | PackedConv1D

_PACKED: dict[type, type[Packed]] = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}
_PLAIN: dict[type[Packed], type] = {packed: plain for plain, packed in _PACKED.items()}

_FEW_OUTPUTS = 16
"""Up to so many outputs a head's own numbers are the logits that are shown: exact ones cost nothing."""

_OF_ANOTHER_TEXT = "encoder_attn"
"""Attention whose queries are of one text and its keys and values of another."""


def _joint(attention: nn.Module, precision: Precision) -> LaidOut:
    """The layers of `attention` that read the same as one, their outputs side by side."""
    layers = joint_layers(attention)
    return LaidOut(torch.cat([each.weight for each in layers]), torch.cat([each.bias for each in layers]), precision)


def _laid_out(layer: Packed, precision: Precision) -> Layout:
    return LaidOut(_weight(layer), layer.bias, precision)


def _weight(layer: Packed) -> Tensor:
    """`[out, in]`."""
    return layer.weight if isinstance(layer, PackedLinear) else layer.weight.T


def _scores(output: Packed, precision: Precision) -> Layout:
    """Of the output embedding: its rounding in bfloat16 would move probabilities more than that of all other layers."""
    if precision != Precision.FLOAT32 and can_be_coarse(output.weight):
        return CoarseScores(output.weight, output.bias)
    return _laid_out(output, Precision.FLOAT32)


def scoring_by(output: nn.Linear, rows: int, added: Tensor | None = None) -> Scoring:
    """How an `output` embedding scores so many rows; `added` `[vocabulary]` counts as a bias."""
    layout, weight = getattr(output, "layout", None), output.weight
    if isinstance(layout, CoarseScores) and layout.suits_rows(rows):
        return Scoring(layout.numbers, Numbers(PLAIN, [], [], []), layout.bias(added))
    if isinstance(layout, LaidOut) and weight.dtype == torch.float32 and layout.may_be_used:
        return Scoring(None, layout.numbers, added)
    # Nothing stands for no bias.
    bias = weight.new_zeros(len(weight)) if output.bias is None else output.bias
    return Scoring(None, Numbers(PLAIN, [weight], [bias], []), added)
