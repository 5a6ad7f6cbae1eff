"""The settings come from the environment, and a wrong one is named at start."""

from pathlib import Path

import pytest

from demo.settings import Limits, SettingError, Settings


def test_without_an_environment_the_log_is_outside_the_working_directory() -> None:
    settings = Settings.from_environment()
    folder = Path(settings.database_url.removeprefix("sqlite:///")).parent
    assert folder.is_absolute()
    assert not folder.is_relative_to(Path.cwd())


def test_every_setting_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "database_url": "sqlite:////data/runs.sqlite3",
        "retention_days": 30,
        "model_mb": 500,
        "attention_mb": 64,
        "engine": "torch",
        "precision": "float32",
        "concurrency": 4,
        "queue": 9,
        "host": "0.0.0.0",  # noqa: S104
        "port": 8080,
        "root_path": "/clearhead",
        "limits_url": "redis://localhost:6379/0",
        "traces": "http://localhost:4318",
    }
    limits = {"text": 1, "question": 2, "context": 3, "prompt": 4, "word": 5}
    for name, value in (own | {f"max_{name}": value for name, value in limits.items()}).items():
        monkeypatch.setenv(f"CLEARHEAD_{name.upper()}", str(value))
    assert Settings.from_environment() == Settings(**own, limits=Limits(**limits))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("QUEUE", "many", "must be a whole number from 1, not 'many'."),
        ("QUEUE", "0", "must be a whole number from 1, not '0'."),
        ("MAX_TEXT", "1.5", "must be a whole number from 1, not '1.5'."),
        ("PORT", "-1", "must be a whole number from 0, not '-1'."),
        ("PRECISION", "int4", "must be one of auto, float32, float16, bfloat16, not 'int4'."),
        ("DEFAULTS", "best", "must be one of bundled, published, not 'best'."),
        ("BACKEND", "10.0.0.7:8000", "must be local or an address such as ray://host:8000, not '10.0.0.7:8000'."),
        ("ENGINE", "gpu", "must be one of auto, openvino, torch, not 'gpu'."),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(f"CLEARHEAD_{name}", value)
    with pytest.raises(SettingError) as error:
        Settings.from_environment()
    assert str(error.value) == f"CLEARHEAD_{name} {sentence}"


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Settings()
    monkeypatch.setenv("CLEARHEAD_PORT", "")
    monkeypatch.setenv("CLEARHEAD_QUEUE", "")
    assert Settings.from_environment() == plain
