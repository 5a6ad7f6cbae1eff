"""Calibration: what turns a network's logits into probabilities that mean what they say (Guo et al., 2017)."""

from dataclasses import asdict, dataclass

KEY = "calibration"
"""Where a checkpoint's `config.json` keeps it; published checkpoints have none."""


@dataclass(frozen=True)
class Calibration:
    """Logits are divided by `temperature`.

    Whether a text answers at all is a question of its own: its log-odds are multiplied by `answerable_scale` and
    `answerable_bias` is added (Platt, 1999).
    """

    temperature: float = 1.0
    answerable_scale: float = 1.0
    answerable_bias: float = 0.0

    def as_config(self) -> dict[str, dict[str, float]]:
        """The entry of `config.json`."""
        return {KEY: asdict(self)}
