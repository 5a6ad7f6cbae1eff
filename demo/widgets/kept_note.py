"""The line that says what is kept of a run, and the visitor's choice."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from demo.log.run import keeps
from demo.runs import DemoService
from demo.settings import Settings

_MORE = ' <a href="?tab=about#kept" aria-label="More on what is kept">More</a>'


def kept_note(service: DemoService, session_id: str) -> str:
    """A sentence on what happens to the next run of this session, as HTML."""
    if not keeps(session_id):
        return _line(f"Your runs are not kept.{_MORE}")
    settings = service.settings
    if not settings.forgets_at_restart and not service.history_is_kept:
        return _line(
            "History is not being kept at the moment: your answers may be gone tomorrow.",
            ' role="alert"',
        )
    return _line(f"Your runs are kept {kept_for(settings)}.{_MORE}")


def kept_for(settings: Settings) -> str:
    """How long this host keeps runs, in words."""
    if settings.forgets_at_restart:
        return "until this host restarts"
    days = settings.retention_days
    return "until you delete them" if days is None else "for a day" if days == 1 else f"for {days:,} days"


def _line(text: str, role: str = "") -> str:
    return f'<p class="quiet"{role}>{text}</p>'


@dataclass(frozen=True, eq=False)
class KeptNote:
    """The line, which follows the visitor's choice and what the database can do."""

    service: DemoService
    line: gr.HTML

    def says(self, session_id: str) -> dict[str, Any]:
        """The update that makes it true for this session now."""
        return gr.update(value=kept_note(self.service, session_id))


def create_kept_note(service: DemoService) -> KeptNote:
    """The line, for a visitor who has made no choice yet."""
    return KeptNote(service, gr.HTML(kept_note(service, ""), elem_classes="kept-note", label="What is kept"))
