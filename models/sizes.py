"""Which networks count as small."""

from transformers import PreTrainedModel

_LARGE = 50_000_000
"""Parameters from which an exact pass takes visibly longer than a quick one."""


def is_small(network: PreTrainedModel) -> bool:
    """Whether a pass of `network` is bound by what surrounds its products rather than by these."""
    return network.num_parameters() < _LARGE
