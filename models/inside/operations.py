"""What a layer costs: self-attention, recurrence and convolution (Vaswani et al., 2017, table 1)."""

from models.inside.outputs import LayerCost

KERNEL = 3
"""How many neighbouring tokens a convolution sees at once."""


def layer_costs(length: int, width: int, kernel: int = KERNEL) -> tuple[LayerCost, ...]:
    """The costs of a layer of each kind for `length` tokens of `width` numbers."""
    return (
        LayerCost("self-attention", "n² · d", length**2 * width, 1, 1),
        LayerCost("recurrence", "n · d²", length * width**2, length, length),
        LayerCost("convolution", f"k · n · d², k = {kernel}", kernel * length * width**2, 1, _layers(length, kernel)),
    )


def _layers(length: int, kernel: int) -> int:
    """How many convolutions, each reaching `kernel` times as far, join the two ends: log to the base `kernel`."""
    layers, reach = 1, kernel
    while reach < length:
        layers, reach = layers + 1, reach * kernel
    return layers
