"""Whatever computes for long stops before its next forward pass once nobody waits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from models.cancellation import go_on, only_while
from models.engine.openvino import OpenVINOText
from models.errors import Stopped
from models.explain.attribution import attribute
from models.explain.strategy_tree import decode_tree
from models.inside.look import translation_steps
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel

_WANTED_FOR = 3
_TEXT = "The boy saw a dog. The dog ran home."


@dataclass
class Passes:
    """How many forward passes have begun, of the engine that answers and of the network that is looked into."""

    count: int = 0


@dataclass
class CountedRequest:
    """A request of OpenVINO's that counts the passes that it makes."""

    request: Any
    passes: Passes

    def infer(self, inputs: Any) -> Any:
        self.passes.count += 1
        return self.request.infer(inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)


@contextmanager
def _counted(model: AnyTaskModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Passes]:
    passes = Passes()
    begin = OpenVINOText.__init__

    def count(*_: Any) -> None:
        passes.count += 1

    def begin_counted(text: OpenVINOText, request: Any, source: Any) -> None:
        begin(text, CountedRequest(request, passes), source)

    monkeypatch.setattr(OpenVINOText, "__init__", begin_counted)
    hook = model.network.register_forward_pre_hook(count)
    try:
        yield passes
    finally:
        hook.remove()


def _completion(strategy: str) -> Callable[[AnyTaskModel], Any]:
    return lambda model: model(prompt="Once upon a time", strategy=strategy, max_new_tokens=40)


@pytest.mark.parametrize(
    ("name", "work"),
    [
        *(("clearhead-stories", _completion(strategy)) for strategy in ("greedy", "beam", "sample")),
        ("clearhead-stories", lambda model: decode_tree(model, model.inputs_type("Once", max_new_tokens=20))),
        ("clearhead-en-fr", lambda model: model(text=_TEXT, num_beams=1)),
        ("clearhead-en-fr", lambda model: model(text=_TEXT, num_beams=8)),
        ("clearhead-en-fr", lambda model: translation_steps(model, _TEXT)),
        ("clearhead-sentiment", lambda model: attribute(model, model.inputs_type("A fine film. " * 40))),
    ],
    ids=["greedy", "beam", "sample", "tree", "translation", "translation by beams", "inside", "attribution"],
)
def test_no_further_pass_begins_once_nobody_waits(
    name: str, work: Callable[[AnyTaskModel], Any], bundled: BundledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = bundled(name)
    with _counted(model, monkeypatch) as passes:
        with pytest.raises(Stopped), only_while(lambda: passes.count < _WANTED_FOR):
            work(model)
        assert passes.count == _WANTED_FOR
        # The lock is free and the network as it was: the next visitor is answered.
        work(model)
        assert passes.count > 2 * _WANTED_FOR


def test_whoever_stops_first_stops_all_that_is_inside() -> None:
    with only_while(lambda: True), only_while(lambda: False), pytest.raises(Stopped):
        go_on()
    with only_while(lambda: False), only_while(lambda: True), pytest.raises(Stopped):
        go_on()
    go_on()
