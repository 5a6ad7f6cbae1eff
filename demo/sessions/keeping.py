"""A visitor's wish that no run is kept: a mark on the session, so that it goes wherever the session goes."""

_NOTHING_KEPT = "~"


def keeps(session_id: str) -> bool:
    """Whether the runs of this session are to be kept."""
    return not session_id.startswith(_NOTHING_KEPT)


def owner(session_id: str) -> str:
    """The session under which earlier runs were kept, whatever its visitor wishes now."""
    return session_id.removeprefix(_NOTHING_KEPT)


def with_wish(session_id: str, keep: bool) -> str:
    """The session from now on."""
    return owner(session_id) if keep else _NOTHING_KEPT + owner(session_id)
