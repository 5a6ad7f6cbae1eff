"""The settings: one frozen object, read from the environment once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from platformdirs import user_data_path

MODEL_QUEUE = "models"
"""The `concurrency_id` of every event that runs a model, so that they share one queue."""


_BYTES_OF_A_CHARACTER = 12
"""JSON may write a character beyond the basic plane as two escapes of six letters each."""

_BYTES_BESIDES_TEXT = 250_000
"""Room in a call for everything that is no typed text, such as the page's own lists."""

AUTO_PRECISION = "auto"
PRECISIONS = (AUTO_PRECISION, "float32", "float16", "bfloat16")
"""The settings of the precision, as `models/precision.py` knows them; that module would import torch."""

_HUB = "https://huggingface.co"
"""The site that shows a Space in a frame."""

_RENTED = "/data/"
"""Where a Space has the disk that its host pays for."""


@dataclass(frozen=True)
class Limits:
    """The most that a visitor may ask for; what goes beyond is refused before a model sees it.

    `text` to `word` are characters of a field. A run writes up to `new_tokens` and keeps up to `beams` drafts. A
    visitor may start `runs_per_minute` and have `runs_at_once` waiting or running.
    """

    text: int = 5_000
    question: int = 500
    context: int = 20_000
    prompt: int = 5_000
    word: int = 100
    new_tokens: int = 200
    beams: int = 8
    runs_per_minute: int = 60
    runs_at_once: int = 8

    @property
    def call_bytes(self) -> int:
        """The most bytes of one call, below which every field at its limit fits."""
        texts = self.text + self.question + self.context + self.prompt + self.word
        return texts * _BYTES_OF_A_CHARACTER + _BYTES_BESIDES_TEXT


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
    # CLEARHEAD_PRECISION: "float32", or fewer bits by either other name; "auto" leaves it to the machine.
    precision: str = AUTO_PRECISION
    # CLEARHEAD_CONCURRENCY: how many model runs go on at the same time; those of one model share their passes.
    concurrency: int = 16
    # CLEARHEAD_QUEUE: how many visitors may wait for a run before the next one is turned away.
    queue: int = 64
    # CLEARHEAD_HOST and CLEARHEAD_PORT: the address to listen on; what is not given here is Gradio's own default.
    host: str | None = None
    port: int | None = None
    # CLEARHEAD_ROOT_PATH: the path under which a proxy serves the demo, such as "/clearhead".
    root_path: str | None = None
    # CLEARHEAD_LECTURES: a folder with lectures of the host's own, beside those that are shipped.
    lectures: str | None = None
    # CLEARHEAD_SECRET: what sessions are signed with; without one, a random one is kept beside the database.
    secret: str | None = field(default=None, repr=False)
    # CLEARHEAD_HOST_PASSWORD: the password of the host's page and of the metrics; without one, both are off.
    host_password: str | None = field(default=None, repr=False)
    # CLEARHEAD_FRAME_ANCESTORS: the sites that may show the page in a frame, such as "https://huggingface.co".
    frame_ancestors: str | None = None
    # CLEARHEAD_LOG: "json" for the host's log as one JSON object a line, "plain" for lines to read.
    log: str = "plain"
    # SPACE_ID: given by Hugging Face where the demo runs as a Space, whose disk is emptied at each restart.
    space: bool = False
    # CLEARHEAD_MAX_TEXT, _QUESTION, _CONTEXT, _PROMPT and _WORD: the most characters of each field;
    # CLEARHEAD_MAX_NEW_TOKENS and _BEAMS: the most that a run may write and keep;
    # CLEARHEAD_RUNS_PER_MINUTE and _RUNS_AT_ONCE: the most that one visitor may start and have waiting or running.
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

        precision = given.get("PRECISION", plain.precision)
        if precision not in PRECISIONS:
            raise ValueError(f"CLEARHEAD_PRECISION must be one of {', '.join(PRECISIONS)}, not {precision!r}")
        limits = plain.limits
        return cls(
            database_url=given.get("DATABASE_URL", plain.database_url),
            retention_days=number("RETENTION_DAYS", 0) if "RETENTION_DAYS" in given else None,
            model_bytes=number("MODEL_MB", plain.model_bytes // 10**6) * 10**6,
            attention_bytes=number("ATTENTION_MB", plain.attention_bytes // 10**6) * 10**6,
            precision=precision,
            concurrency=number("CONCURRENCY", plain.concurrency),
            queue=number("QUEUE", plain.queue),
            host=given.get("HOST"),
            port=number("PORT", 0) if "PORT" in given else None,
            root_path=given.get("ROOT_PATH"),
            lectures=given.get("LECTURES"),
            secret=given.get("SECRET"),
            host_password=given.get("HOST_PASSWORD"),
            frame_ancestors=given.get("FRAME_ANCESTORS", _HUB if environment.get("SPACE_ID") else None),
            log=given.get("LOG", plain.log),
            space=bool(environment.get("SPACE_ID")),
            limits=Limits(
                text=number("MAX_TEXT", limits.text),
                question=number("MAX_QUESTION", limits.question),
                context=number("MAX_CONTEXT", limits.context),
                prompt=number("MAX_PROMPT", limits.prompt),
                word=number("MAX_WORD", limits.word),
                new_tokens=number("MAX_NEW_TOKENS", limits.new_tokens),
                beams=number("MAX_BEAMS", limits.beams),
                runs_per_minute=number("RUNS_PER_MINUTE", limits.runs_per_minute),
                runs_at_once=number("RUNS_AT_ONCE", limits.runs_at_once),
            ),
        )
