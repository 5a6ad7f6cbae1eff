"""The real app with a model that answers at once, to measure everything but the model."""

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import models.loading.store
from models.outputs.base import LoadedCheckpoint, Prediction, Token
from models.outputs.encoders import SentimentOutput

_APP = Path(__file__).resolve().parents[1] / "app.py"
_USED = LoadedCheckpoint("clearhead-sentiment", "fast", "Apache-2.0")


@dataclass(frozen=True)
class _TextInput:
    text: str


class FastModel:
    """A model that calls every text positive, with a score that differs from text to text."""

    inputs_type = _TextInput

    def __call__(self, text: str) -> SentimentOutput:
        """The answer, as `/readyz` asks for it."""
        return self.answer(_TextInput(text))

    def answer(self, inputs: _TextInput) -> SentimentOutput:
        """The answer, which depends on nothing but the text."""
        score = score_of(inputs.text)
        tokens = (Token(inputs.text, inputs.text, 1, start=0, end=len(inputs.text)),)
        scores = (Prediction("negative", 1 - score), Prediction("positive", score))
        return SentimentOutput(_USED, tokens, "positive", scores)


def score_of(text: str) -> float:
    """The probability that `FastModel` gives to “positive” for a text."""
    return 0.5 + sum(text.encode()) % 1000 / 2000


class FastStore(models.loading.store.ModelStore):
    """A store that has only the fast model."""

    def load(self, *_checkpoint: Any, **_progress: Any) -> Any:
        """Return the fast model, whatever the checkpoint."""
        return FastModel()


if __name__ == "__main__":
    models.loading.store.ModelStore = FastStore  # type: ignore[misc]
    runpy.run_path(str(_APP), run_name="__main__")
