"""Sentence classifiers from before Transformers, each small and plain: their networks, and how each reads a text."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "before"
FIGURES = "figures.json"


@cache
def figures(folder: Path = FOLDER) -> dict[str, Any]:
    """What `training/before.py` measured: `accuracy` in percent of each row, and the `curve` of pre-training."""
    file = folder / FIGURES
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {"accuracy": {}, "curve": {}}
