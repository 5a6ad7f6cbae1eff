"""Small models from before Transformers: sentence classifiers, LSTM translators and character language models."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "before"
FIGURES = "figures.json"


@cache
def figures(folder: Path = FOLDER) -> dict[str, Any]:
    """The measurements of `training/before.py`: each model's `accuracy` in percent, and the `curve` of pre-training."""
    file = folder / FIGURES
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {"accuracy": {}, "curve": {}}
