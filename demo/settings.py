"""The settings of this process: read from the environment once, each described where it is defined."""

import argparse
import os
from typing import Any, Literal

from platformdirs import user_data_path
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

MODEL_QUEUE = "models"
"""The `concurrency_id` of every event that runs a model, so that they share one queue."""

_PREFIX = "CLEARHEAD_"
_BYTES_OF_A_CHARACTER = 12
"""The most bytes of a character in JSON: two escapes of six letters each, for one beyond the basic plane."""

_BYTES_BESIDES_TEXT = 250_000
"""The bytes of a call for everything that is no typed text, such as the page's own lists."""

_HUB = "https://huggingface.co"
"""The site that shows a Space in a frame."""

_RENTED = "/data/"
"""The folder of a Space on the disk that its host pays for."""


class SettingError(ValueError):
    """A setting, or a file that one names, that only the host can mend; the message is one sentence for the host."""


class _FromEnvironment(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, populate_by_name=True, frozen=True, extra="forbid"
    )


def _most(default: int, name: str, description: str) -> Any:
    return Field(default, ge=1, validation_alias=f"{_PREFIX}{name}", description=f"{description} (default: {default})")


class Limits(_FromEnvironment):
    """The most that a visitor may ask for; what goes beyond is refused before a model sees it."""

    text: int = _most(5000, "MAX_TEXT", "the most characters of a text")
    question: int = _most(500, "MAX_QUESTION", "the most characters of a question")
    context: int = _most(20000, "MAX_CONTEXT", "the most characters of a text to search for an answer")
    prompt: int = _most(5000, "MAX_PROMPT", "the most characters of a prompt")
    word: int = _most(100, "MAX_WORD", 'the most characters of "my word"')
    example: int = _most(500, "MAX_EXAMPLE", "the most characters of an example to teach with")
    examples: int = _most(200, "MAX_EXAMPLES", "the most examples that a model is taught or tested with")
    new_tokens: int = _most(200, "MAX_NEW_TOKENS", "the most tokens that a run may write")
    beams: int = _most(8, "MAX_BEAMS", "the most drafts that a beam search may keep")
    runs_per_minute: int = _most(60, "RUNS_PER_MINUTE", "the most runs that one session may start in a minute")
    runs_at_once: int = _most(8, "RUNS_AT_ONCE", "the most runs of one session that may wait or run at the same time")

    @property
    def call_bytes(self) -> int:
        """The most bytes of one call, below which every field at its limit fits."""
        # The examples to teach with, those kept for the test, and the texts to judge, each with its class.
        examples = 3 * self.examples * (self.example + self.word)
        texts = self.text + self.question + self.context + self.prompt + self.word + examples
        return texts * _BYTES_OF_A_CHARACTER + _BYTES_BESIDES_TEXT


def _default_database_url() -> str:
    """SQLite in the user's data folder: the working directory could be served by a handler, that folder never is."""
    return f"sqlite:///{user_data_path('clearhead') / 'sessions.sqlite3'}"


class Settings(_FromEnvironment):
    """Everything about this process that a host may want to change."""

    database_url: str = Field(
        default_factory=_default_database_url,
        description="where the session log is, as an SQLAlchemy URL (default: SQLite in your data folder)",
    )
    retention_days: int | None = Field(
        None, ge=0, description="after how many days a run is deleted (default: kept until its visitor deletes it)"
    )
    model_mb: int = Field(
        3000, ge=1, description="how many megabytes of models stay in memory, all copies counted (default: 3000)"
    )
    attention_mb: int = Field(
        256,
        ge=1,
        description="how many megabytes of captured attention and recent answers stay in memory (default: 256)",
    )
    backend: str = Field(
        "local",
        pattern=r"local|(ray|https?)://[^\s/]+/?",
        description="where models answer: local, or ray://host:8000, workers on Ray Serve, see docs/hosting.md "
        "(default: local)",
    )
    engine: Literal["auto", "openvino", "torch"] = Field(
        "auto", description="what computes answers: openvino, torch, or auto: OpenVINO where it can (default: auto)"
    )
    precision: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        "auto", description="float32, float16, bfloat16, or auto: 16 bits where that is quicker (default: auto)"
    )
    defaults: Literal["bundled", "published"] | None = Field(
        None,
        description="bundled or published: the models that the page begins with "
        "(default: as chosen on the About tab, or else bundled)",
    )
    concurrency: int = Field(4, ge=1, description="how many model runs go on at the same time (default: 4)")
    queue: int = Field(
        64, ge=1, description="how many visitors may wait before the next one is turned away (default: 64)"
    )
    host: str | None = Field(
        None, description="the address to listen on; 0.0.0.0 lets other devices in (default: 127.0.0.1)"
    )
    port: int | None = Field(None, ge=0, description="the port to listen on (default: the first free one from 7860)")
    root_path: str | None = Field(
        None, description="the path under which a proxy serves the page, such as /clearhead (default: none)"
    )
    lectures: str | None = Field(
        None, description="a folder with lectures of your own, see docs/lectures.md (default: none)"
    )
    tours: str | None = Field(None, description="a folder with tours of your own, see docs/tours.md (default: none)")
    languages: str | None = Field(
        None, description="a folder with catalogues of languages of your own, see CONTRIBUTING.md (default: none)"
    )
    limits: Limits = Field(default_factory=Limits)
    secret: str | None = Field(
        None,
        repr=False,
        description="what sessions are signed with (default: a random one, kept beside an SQLite database)",
    )
    limits_url: str | None = Field(
        None,
        repr=False,
        description="a Redis in which all processes count calls together, such as redis://localhost:6379/0 "
        "(default: none, and each counts for itself)",
    )
    host_password: str | None = Field(
        None, repr=False, description="the password of /host and /metrics (default: none, and both are off)"
    )
    frame_ancestors: str | None = Field(None, description="the sites that may show the page in a frame (default: none)")
    log: Literal["plain", "json"] = Field(
        "plain", description="plain, or json for one JSON object a line (default: plain)"
    )
    traces: str | None = Field(
        None,
        description="the OpenTelemetry collector that traces of runs are sent to, such as http://localhost:4318 "
        "(default: none)",
    )
    # Given by Hugging Face where the demo runs as a Space, whose disk is emptied at each restart.
    space_id: str | None = Field(None, validation_alias="SPACE_ID")

    @property
    def address(self) -> str:
        """The address to listen on: the one that is set, here or for Gradio, or else this machine alone."""
        return self.host or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"

    @property
    def workers(self) -> str | None:
        """The URL of the workers in which models answer, `None` where they answer in this process."""
        return None if self.backend == "local" else self.backend.replace("ray://", "http://", 1).rstrip("/")

    @property
    def framed_by(self) -> str | None:
        """The sites that may show the page in a frame; by default none, and for a Space the site that shows it."""
        return self.frame_ancestors or (_HUB if self.space_id else None)

    @property
    def forgets_at_restart(self) -> bool:
        """Whether the log is on a Space's own disk; a server elsewhere, or the rented disk, outlives a restart."""
        on_its_disk = self.database_url.startswith("sqlite") and "///" + _RENTED not in self.database_url
        return bool(self.space_id) and on_its_disk

    @classmethod
    def from_environment(cls) -> "Settings":
        """The settings that the environment asks for; raises `SettingError` for one that cannot be used."""
        try:
            return cls()
        except ValidationError as error:
            raise SettingError(_sentence(error)) from error


_FIELDS: dict[str, FieldInfo] = {
    str(field.validation_alias or f"{_PREFIX}{name.upper()}"): field
    for settings in (Settings, Limits)
    for name, field in settings.model_fields.items()
    if field.description
}
VARIABLES = {name: str(field.description) for name, field in _FIELDS.items()}
"""Every environment variable that is read, and what it sets."""


def _sentence(error: ValidationError) -> str:
    """One sentence on the first variable that cannot be used."""
    fault = error.errors()[0]
    place = str(fault["loc"][0])
    name = place if place.startswith(_PREFIX) else f"{_PREFIX}{place.upper()}"
    if fault["type"] == "literal_error":
        known = str(fault["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        return f"{name} must be one of {known}, not {fault['input']!r}."
    if fault["type"] == "string_pattern_mismatch":
        return f"{name} must be local or an address such as ray://host:8000, not {fault['input']!r}."
    least = next((each.ge for each in _FIELDS[name].metadata if hasattr(each, "ge")), 0)
    return f"{name} must be a whole number from {least}, not {str(fault['input'])!r}."


def read_command_line() -> None:
    """Print the settings for `--help`, and refuse any other argument: there are none."""
    longest = max(map(len, VARIABLES))
    lines = [f"  {name:{longest}}  {meaning}" for name, meaning in VARIABLES.items()]
    argparse.ArgumentParser(
        prog="python app.py",
        description="Serve Clearhead's page; the address is printed. Ctrl+C ends it.",
        epilog="\n".join(["settings, read from the environment once:", *lines, "", "README.md says more."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
