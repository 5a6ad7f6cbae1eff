"""The settings: one frozen object, read from the environment once."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from platformdirs import user_data_path

from models.engine.choice import AUTO, ENGINES, PRECISIONS

MODEL_QUEUE = "models"
"""The `concurrency_id` of every event that runs a model, so that they share one queue."""


_BYTES_OF_A_CHARACTER = 12
"""JSON may write a character beyond the basic plane as two escapes of six letters each."""

_BYTES_BESIDES_TEXT = 250_000
"""Room in a call for everything that is no typed text, such as the page's own lists."""


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


class SettingError(ValueError):
    """A setting, or a file that one names, that only the host can mend; its message is one sentence for the host."""


VARIABLES = {
    "CLEARHEAD_DATABASE_URL": "where the session log is, as an SQLAlchemy URL (default: SQLite in your data folder)",
    "CLEARHEAD_RETENTION_DAYS": "after how many days a run is deleted (default: kept until its visitor deletes it)",
    "CLEARHEAD_MODEL_MB": "how many megabytes of models stay in memory, all copies counted (default: 3000)",
    "CLEARHEAD_ATTENTION_MB": "how many megabytes of captured attention and recent answers stay in memory "
    "(default: 256)",
    "CLEARHEAD_ENGINE": "what computes answers: openvino, torch, or auto: OpenVINO where it can (default: auto)",
    "CLEARHEAD_PRECISION": "float32, float16, bfloat16, or auto: 16 bits where that is quicker (default: auto)",
    "CLEARHEAD_CONCURRENCY": "how many model runs go on at the same time (default: 16)",
    "CLEARHEAD_QUEUE": "how many visitors may wait before the next one is turned away (default: 64)",
    "CLEARHEAD_HOST": "the address to listen on; 0.0.0.0 lets other devices in (default: 127.0.0.1)",
    "CLEARHEAD_PORT": "the port to listen on (default: the first free one from 7860)",
    "CLEARHEAD_ROOT_PATH": "the path under which a proxy serves the page, such as /clearhead (default: none)",
    "CLEARHEAD_LECTURES": "a folder with lectures of your own, see docs/lectures.md (default: none)",
    "CLEARHEAD_MAX_TEXT": "the most characters of a text (default: 5000)",
    "CLEARHEAD_MAX_QUESTION": "the most characters of a question (default: 500)",
    "CLEARHEAD_MAX_CONTEXT": "the most characters of a text to search for an answer (default: 20000)",
    "CLEARHEAD_MAX_PROMPT": "the most characters of a prompt (default: 5000)",
    "CLEARHEAD_MAX_WORD": 'the most characters of "my word" (default: 100)',
    "CLEARHEAD_MAX_NEW_TOKENS": "the most tokens that a run may write (default: 200)",
    "CLEARHEAD_MAX_BEAMS": "the most drafts that a beam search may keep (default: 8)",
    "CLEARHEAD_RUNS_PER_MINUTE": "the most runs that one session may start in a minute (default: 60)",
    "CLEARHEAD_RUNS_AT_ONCE": "the most runs of one session that may wait or run at the same time (default: 8)",
    "CLEARHEAD_SECRET": "what sessions are signed with (default: a random one, kept beside an SQLite database)",
    "CLEARHEAD_HOST_PASSWORD": "the password of /host and /metrics (default: none, and both are off)",
    "CLEARHEAD_FRAME_ANCESTORS": "the sites that may show the page in a frame (default: none)",
    "CLEARHEAD_LOG": "plain, or json for one JSON object a line (default: plain)",
}
"""Every environment variable that is read, and what it sets."""


def read_command_line() -> None:
    """Say what the settings are where `--help` asks for it, and refuse any other argument: there are none."""
    longest = max(map(len, VARIABLES))
    lines = [f"  {name:{longest}}  {meaning}" for name, meaning in VARIABLES.items()]
    argparse.ArgumentParser(
        prog="python app.py",
        description="Serve Clearhead's page; the address is printed. Ctrl+C ends it.",
        epilog="\n".join(["settings, read from the environment once:", *lines, "", "README.md says more."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()


@dataclass(frozen=True)
class Settings:
    """Everything about this process that a host may want to change; `VARIABLES` says what each of them is."""

    database_url: str = field(default_factory=_default_database_url)
    retention_days: int | None = None
    model_bytes: int = 3_000_000_000
    attention_bytes: int = 256_000_000
    engine: str = AUTO
    precision: str = AUTO
    concurrency: int = 16
    queue: int = 64
    host: str | None = None
    port: int | None = None
    root_path: str | None = None
    lectures: str | None = None
    secret: str | None = field(default=None, repr=False)
    host_password: str | None = field(default=None, repr=False)
    frame_ancestors: str | None = None
    log: str = "plain"
    # SPACE_ID is given by Hugging Face where the demo runs as a Space, whose disk is emptied at each restart.
    space: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def forgets_at_restart(self) -> bool:
        """Whether the log is on the disk of a Space; a server elsewhere, or the rented disk, outlives a restart."""
        return self.space and self.database_url.startswith("sqlite") and "///" + _RENTED not in self.database_url

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """The settings that `environment` asks for; raises `SettingError` for one that cannot be used."""
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
                raise SettingError(f"CLEARHEAD_{name} must be a whole number from {least}, not {text!r}.")
            return value

        def one_of(name: str, known: tuple[str, ...], default: str) -> str:
            value = given.get(name, default)
            if value not in known:
                raise SettingError(f"CLEARHEAD_{name} must be one of {', '.join(known)}, not {value!r}.")
            return value

        limits = plain.limits
        return cls(
            database_url=given.get("DATABASE_URL", plain.database_url),
            retention_days=number("RETENTION_DAYS", 0) if "RETENTION_DAYS" in given else None,
            model_bytes=number("MODEL_MB", plain.model_bytes // 10**6) * 10**6,
            attention_bytes=number("ATTENTION_MB", plain.attention_bytes // 10**6) * 10**6,
            engine=one_of("ENGINE", ENGINES, plain.engine),
            precision=one_of("PRECISION", PRECISIONS, plain.precision),
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
