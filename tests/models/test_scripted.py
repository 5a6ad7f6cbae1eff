"""Passes run without Python, and as Python where nothing else is to be had."""

import importlib
import inspect
import pkgutil
import threading

import pytest
import torch
from torch import Tensor

import models
from models import scripted
from models.scripted import scripted as made

_MODULES = [each.name for each in pkgutil.walk_packages(models.__path__, "models.")]


def doubled(x: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = x + x
    return x


def wrong(x: Tensor) -> Tensor:
    return x.there_is_no_such_operation()  # type: ignore[no-any-return, operator]


@pytest.mark.parametrize("name", _MODULES)
def test_whatever_is_marked_was_compiled(name: str) -> None:
    module = importlib.import_module(name)
    marked = inspect.getsource(module).count("\n@scripted\n")
    compiled = [each for each in vars(module).values() if isinstance(each, torch.jit.ScriptFunction)]
    assert len({each.name for each in compiled if each.qualified_name.startswith(f"__torch__.{name}.")}) == marked


def test_a_function_says_the_same() -> None:
    x = torch.randn(3)
    assert torch.equal(made(doubled)(x, 3), doubled(x, 3))


def test_what_cannot_be_compiled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="no_such_operation"):
        made(wrong)
    monkeypatch.setattr(scripted, "_KNOWN_TO_WORK", (3, 1))
    assert made(wrong) is wrong


def test_other_threads_run_meanwhile() -> None:
    """Python's lock is free while a pass runs: a thread that counts gets about as far as without it."""
    slow, x = made(doubled), torch.zeros(4)
    began, counted = threading.Event(), []

    def count() -> None:
        began.set()
        while not ended.is_set():
            counted.append(1)

    ended = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    began.wait()
    before = len(counted)
    slow(x, 300_000)
    during = len(counted) - before
    ended.set()
    thread.join()
    # With the lock held nobody would have counted at all.
    assert during > 1000
