"""Forgetting what is old, in steps that keep no visitor waiting."""

from datetime import UTC, datetime, timedelta

from demo.sessions.repository import RunRepository

_AT_ONCE = 500


def purge(runs: RunRepository, days: int, now: datetime | None = None) -> int:
    """Delete what is older than `days`; says how many runs went."""
    before = (now or datetime.now(UTC)) - timedelta(days=days)
    gone = 0
    while deleted := runs.delete_before(before, _AT_ONCE):
        gone += deleted
    return gone
