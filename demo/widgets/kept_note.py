"""What is kept of a run, in words."""

from demo.log.run import keeps
from demo.runs import DemoService
from demo.settings import Settings

_MORE = ' <a href="?tab=about#kept" aria-label="More on what is kept">More</a>'


def kept_note(service: DemoService, session_id: str) -> str:
    """A line on what happens to the next run of this session, as HTML."""
    settings = service.settings
    if not keeps(session_id):
        return f'<p class="quiet">Your runs are not kept.{_MORE}</p>'
    if not settings.forgets_at_restart and not service.history_is_kept:
        said = "History is not being kept at the moment: your answers may be gone tomorrow."
        return f'<p class="quiet" role="alert">{said}</p>'
    return f'<p class="quiet">Your runs are kept {kept_for(settings)}.{_MORE}</p>'


def kept_for(settings: Settings) -> str:
    """How long this host keeps runs, in words."""
    if settings.forgets_at_restart:
        return "until this host restarts"
    days = settings.retention_days
    return "until you delete them" if days is None else "for a day" if days == 1 else f"for {days:,} days"
