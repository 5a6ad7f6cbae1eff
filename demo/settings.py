"""The settings: one frozen object, read from the environment once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from platformdirs import user_data_path

MODEL_QUEUE = "models"
"""The `concurrency_id` of every event that runs a model, so that they share one queue."""

_RENTED = "/data/"
"""Where a Space has the disk that its host pays for."""


@dataclass(frozen=True)
class Limits:
    """The most characters that each field may have; longer text is refused before a model sees it."""

    text: int = 5_000
    question: int = 500
    context: int = 20_000
    prompt: int = 5_000
    word: int = 100


def _default_database_url() -> str:
    """SQLite in the user's data folder: the working directory could be served by a handler, that folder never is."""
    return f"sqlite:///{user_data_path('clearhead') / 'sessions.sqlite3'}"


@dataclass(frozen=True)
class Settings:
    """Everything about this process that a host may want to change; each comment names the environment variable."""

    # CLEARHEAD_DATABASE_URL: where the session log is, as an SQLAlchemy URL.
    database_url: str = field(default_factory=_default_database_url)
    # CLEARHEAD_RETENTION_DAYS: after how many days a run is deleted; without it, when its visitor deletes it.
    retention_days: int | None = None
    # CLEARHEAD_MODEL_MB: how many megabytes of models stay in memory before the least recently used one is dropped.
    model_bytes: int = 2_000_000_000
    # CLEARHEAD_ATTENTION_MB: how many megabytes of captured attention stay in memory.
    attention_bytes: int = 256_000_000
    # CLEARHEAD_CONCURRENCY: how many model runs go on at the same time.
    concurrency: int = 2
    # CLEARHEAD_QUEUE: how many visitors may wait for a run before the next one is turned away.
    queue: int = 64
    # CLEARHEAD_HOST and CLEARHEAD_PORT: the address to listen on; what is not given here is Gradio's own default.
    host: str | None = None
    port: int | None = None
    # CLEARHEAD_ROOT_PATH: the path under which a proxy serves the demo, such as "/clearhead".
    root_path: str | None = None
    # CLEARHEAD_LECTURES: a folder with lectures of the host's own, beside those that are shipped.
    lectures: str | None = None
    # SPACE_ID: given by Hugging Face where the demo runs as a Space, whose disk is emptied at each restart.
    space: bool = False
    # CLEARHEAD_MAX_TEXT, _QUESTION, _CONTEXT, _PROMPT and _WORD: the most characters of each field.
    limits: Limits = field(default_factory=Limits)

    @property
    def forgets_at_restart(self) -> bool:
        """Whether the log is on the disk of a Space; a server elsewhere, or the rented disk, outlives a restart."""
        return self.space and self.database_url.startswith("sqlite") and "///" + _RENTED not in self.database_url

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """The settings that `environment` asks for; raises `ValueError` for a number that is none."""
        given = {
            name.removeprefix("CLEARHEAD_"): value
            for name, value in environment.items()
            if name.startswith("CLEARHEAD_") and value
        }
        plain = cls()

        def number(name: str, default: int, least: int = 1) -> int:
            text = given.get(name, str(default))
            try:
                value = int(text)
            except ValueError:
                value = least - 1
            if value < least:
                raise ValueError(f"CLEARHEAD_{name} must be a whole number from {least}, not {text!r}")
            return value

        limits = plain.limits
        return cls(
            database_url=given.get("DATABASE_URL", plain.database_url),
            retention_days=number("RETENTION_DAYS", 0) if "RETENTION_DAYS" in given else None,
            model_bytes=number("MODEL_MB", plain.model_bytes // 10**6) * 10**6,
            attention_bytes=number("ATTENTION_MB", plain.attention_bytes // 10**6) * 10**6,
            concurrency=number("CONCURRENCY", plain.concurrency),
            queue=number("QUEUE", plain.queue),
            host=given.get("HOST"),
            port=number("PORT", 0) if "PORT" in given else None,
            root_path=given.get("ROOT_PATH"),
            lectures=given.get("LECTURES"),
            space=bool(environment.get("SPACE_ID")),
            limits=Limits(
                text=number("MAX_TEXT", limits.text),
                question=number("MAX_QUESTION", limits.question),
                context=number("MAX_CONTEXT", limits.context),
                prompt=number("MAX_PROMPT", limits.prompt),
                word=number("MAX_WORD", limits.word),
            ),
        )
