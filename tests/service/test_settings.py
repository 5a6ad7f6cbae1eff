"""The settings come from the environment, and a wrong one is named at start."""

from pathlib import Path

import pytest

from demo.settings import Limits, Settings


def test_without_an_environment_the_log_is_outside_the_working_directory() -> None:
    settings = Settings.from_environment({})
    assert settings == Settings()
    folder = Path(settings.database_url.removeprefix("sqlite:///")).parent
    assert folder.is_absolute()
    assert not folder.is_relative_to(Path.cwd())


def test_every_setting_can_be_given() -> None:
    given = Settings.from_environment(
        {
            "CLEARHEAD_DATABASE_URL": "sqlite:////data/runs.sqlite3",
            "CLEARHEAD_RETENTION_DAYS": "30",
            "CLEARHEAD_MODEL_MB": "500",
            "CLEARHEAD_ATTENTION_MB": "64",
            "CLEARHEAD_ENGINE": "torch",
            "CLEARHEAD_PRECISION": "float32",
            "CLEARHEAD_CONCURRENCY": "4",
            "CLEARHEAD_QUEUE": "9",
            "CLEARHEAD_HOST": "0.0.0.0",  # noqa: S104
            "CLEARHEAD_PORT": "8080",
            "CLEARHEAD_ROOT_PATH": "/clearhead",
            "CLEARHEAD_MAX_TEXT": "1",
            "CLEARHEAD_MAX_QUESTION": "2",
            "CLEARHEAD_MAX_CONTEXT": "3",
            "CLEARHEAD_MAX_PROMPT": "4",
            "CLEARHEAD_MAX_WORD": "5",
        }
    )
    assert given == Settings(
        database_url="sqlite:////data/runs.sqlite3",
        retention_days=30,
        model_bytes=500_000_000,
        attention_bytes=64_000_000,
        engine="torch",
        precision="float32",
        concurrency=4,
        queue=9,
        host="0.0.0.0",  # noqa: S104
        port=8080,
        root_path="/clearhead",
        limits=Limits(1, 2, 3, 4, 5),
    )


@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5"])
def test_a_number_that_is_none_is_named(value: str) -> None:
    with pytest.raises(ValueError, match="CLEARHEAD_QUEUE must be a whole number"):
        Settings.from_environment({"CLEARHEAD_QUEUE": value})


def test_a_precision_that_is_none_is_named() -> None:
    named = "CLEARHEAD_PRECISION must be one of auto, float32, float16, bfloat16, not 'int4'"
    with pytest.raises(ValueError, match=named):
        Settings.from_environment({"CLEARHEAD_PRECISION": "int4"})


def test_an_engine_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="CLEARHEAD_ENGINE must be one of auto, openvino, torch, not 'gpu'"):
        Settings.from_environment({"CLEARHEAD_ENGINE": "gpu"})


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert Settings.from_environment({"CLEARHEAD_PORT": "", "CLEARHEAD_QUEUE": ""}) == Settings()
