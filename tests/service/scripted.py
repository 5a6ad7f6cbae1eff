"""Models that answer by script, so that the service is tested without loading any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from demo.runs import DemoService
from models.errors import InputError
from models.loading import Progress, silent
from models.outputs.attention import Attention, Attentions
from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token
from models.outputs.encoders import SentimentOutput
from models.outputs.writing import Alternative, CompletionOutput, GeneratedToken
from models.registry import Checkpoint, Task

Build = Callable[..., DemoService]

TOKENS = (Token("so", "so", 1, start=0, end=2), Token("so", "so", 1, start=3, end=5))


@dataclass(frozen=True)
class TextInput:
    """A text, and a setting that has a default."""

    text: str
    top_k: int = 3


@dataclass(frozen=True)
class PromptInput:
    """A prompt, its seed and the number of tokens to write."""

    prompt: str
    seed: int = 0
    max_new_tokens: int = 3


class ScriptedModel:
    """A model that answers with what `script` returns or raises."""

    def __init__(self, script: Callable[[Any], TaskOutput], inputs_type: type) -> None:
        self.script = script
        self.inputs_type = inputs_type
        self.captures = 0
        self.closed = False

    def answer(self, inputs: Any) -> TaskOutput:
        return self.script(inputs)

    def stream(self, inputs: PromptInput) -> Iterator[CompletionOutput]:
        try:
            for length in range(1, inputs.max_new_tokens + 1):
                output = self.script(inputs)
                assert isinstance(output, CompletionOutput)
                yield completion(length, finished=length == inputs.max_new_tokens)
        finally:
            self.closed = True

    def attend(self, inputs: Any, written: tuple[int, ...] = ()) -> Attentions:
        self.captures += 1
        self.script(inputs)
        length = len(TOKENS) + len(written)
        tokens = tuple(Token("so", "so", 1) for _ in range(length))
        weights = np.full((2, 2, length, length), 1 / length, dtype=np.float32)
        return {"encoder": Attention("encoder", weights, tokens, tokens, np.zeros((length, length), dtype=bool))}


class ScriptedStore:
    """A store with one model, whichever checkpoint is asked for."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.loaded: list[str] = []

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> ScriptedModel:
        progress(1.0, "loaded")
        self.loaded.append(checkpoint.name)
        return self.model


def used(name: str) -> LoadedCheckpoint:
    return LoadedCheckpoint(name, "0123456789ab", "Apache-2.0")


def sentiment(_inputs: TextInput) -> SentimentOutput:
    scores = (Prediction("negative", 0.25), Prediction("positive", 0.75))
    return SentimentOutput(used("clearhead-sentiment"), TOKENS, "positive", scores)


def completion(length: int, finished: bool = True) -> CompletionOutput:
    token = GeneratedToken(Token(" so", "Ġso", 7), 0.5, (Alternative(" no", 0.25),))
    return CompletionOutput(used("clearhead-stories"), TOKENS, " so" * length, (token,) * length, (), finished)


def writing(_inputs: PromptInput) -> CompletionOutput:
    return completion(1)


def refusing(_inputs: Any) -> TaskOutput:
    raise InputError("There is no blank to fill.", "text")
