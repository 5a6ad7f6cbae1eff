"""Calibration: what turns a network's logits into probabilities that mean what they say (Guo et al., 2017)."""

from dataclasses import asdict, dataclass
from typing import Any

KEY = "calibration"
"""Where a checkpoint's `config.json` keeps it; published checkpoints have none."""


@dataclass(frozen=True)
class Calibration:
    """Logits are divided by `temperature`; `no_answer_bias` is added to the score of no answer before that."""

    temperature: float = 1.0
    no_answer_bias: float = 0.0

    def as_config(self) -> dict[str, dict[str, float]]:
        """The entry of `config.json`."""
        return {KEY: asdict(self)}


def calibration_of(config: Any) -> Calibration:
    """The calibration in a transformers configuration, or none."""
    return Calibration(**(getattr(config, KEY, None) or {}))
