"""What a host has said of OpenMP stays."""

import os

import pytest

from models.openmp import WAITING, wait_for_the_next


def test_only_what_nobody_has_set_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WAITING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    wait_for_the_next()
    assert {name: os.environ[name] for name in WAITING} == {**WAITING, "OMP_WAIT_POLICY": "passive"}
