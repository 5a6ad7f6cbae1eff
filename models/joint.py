"""Layers that read the same and are asked at once: those of queries, keys and values."""

from torch import nn
from transformers.models.bert.modeling_bert import BertSelfAttention
from transformers.models.distilbert.modeling_distilbert import DistilBertSelfAttention
from transformers.models.marian.modeling_marian import MarianAttention

_JOINT = {
    BertSelfAttention: ("query", "key", "value"),
    DistilBertSelfAttention: ("q_lin", "k_lin", "v_lin"),
    MarianAttention: ("q_proj", "k_proj", "v_proj"),
}
"""Their names, by the attention that they belong to."""


def are_joint(attention: nn.Module) -> bool:
    """Whether `attention` is one whose layers are known."""
    return type(attention) in _JOINT


def joint_layers(attention: nn.Module) -> list[nn.Linear]:
    """The layers of `attention` that make queries, keys and values."""
    return [getattr(attention, name) for name in _JOINT[type(attention)]]
