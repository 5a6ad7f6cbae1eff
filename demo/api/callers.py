"""Turns functions into endpoints, identifies their callers, and holds the checks that endpoints share."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

import gradio as gr

from demo.events import for_callers
from demo.limits import plain_text
from demo.log.run import Run, owner, with_wish
from demo.runs import NO_SUCH_RUN, DemoService
from demo.web.visitors import SESSION_HEADER
from models.errors import InputError
from models.wording import Sentence

_ID_CHARACTERS = 64
# The session hashes that Gradio's clients make up have 10 or more.
_LEAST_SECRET_CHARACTERS = 10
_ONCE = "once-"
"""The prefix of the session that is made for a call without one, such as curl's."""


def add_endpoint(endpoint: Callable[..., Any], **options: Any) -> None:
    """Add `endpoint` under its own name to the page that is being built; its errors reach callers as one sentence."""
    gr.api(for_callers(endpoint), api_name=endpoint.__name__, **options)  # type: ignore[attr-defined]


def session_of(request: gr.Request) -> str | None:
    """The session of an API caller, derived from the hash that its client sends, and never one of the page's.

    Anyone who knows the hash can read the session, so a hash short enough to be guessed gives none.
    """
    session_hash = unquote_to_bytes(request.headers.get(SESSION_HEADER, ""))
    if len(session_hash) < _LEAST_SECRET_CHARACTERS:
        return None if _keeps(request) else with_wish("", keep=False)
    return with_wish("api-" + hashlib.sha256(session_hash).hexdigest()[:40], _keeps(request))


def session_to_log(service: DemoService, request: gr.Request) -> str:
    """The session that a run of this caller is logged under; a new one for a call without a session."""
    return session_of(request) or _ONCE + service.new_session()


def run_to_read(service: DemoService, request: gr.Request, run_id: str) -> Run:
    """The run of that id, if this caller may look into it; raises `InputError` otherwise.

    Only its own session may look into a run. A run that was asked for without a session is open to all who know its
    unguessable id.
    """
    run = service.get(short_text(run_id, Sentence("The run id"), "run_id"))
    if run.session_id.startswith(_ONCE) or owner(run.session_id) == owner(session_of(request) or ""):
        return run
    raise InputError(NO_SUCH_RUN, "run_id")


def _keeps(request: gr.Request) -> bool:
    """Whether the caller's runs are to be kept: the header `X-Clearhead-Keep: no` says that they are not."""
    headers = getattr(request, "headers", None) or {}
    return str(headers.get("x-clearhead-keep", "")).strip().lower() not in ("no", "0", "false")


def required_session_of(request: gr.Request) -> str:
    """The session of a caller who must have one; raises `InputError` for a caller without."""
    session_id = session_of(request)
    if session_id is None or not owner(session_id):
        raise InputError(Sentence("This endpoint needs a session: call it through a client that keeps one."))
    return session_id


def short_text(value: object, label: str, field: str) -> str:
    """`value` if it is a text of at most 64 characters; raises `InputError` for anything else."""
    if isinstance(value, str) and len(value) > _ID_CHARACTERS:
        raise InputError(Sentence("{name} is too long.", name=label), field)
    return plain_text(value, label, field)


def truth(value: object, label: str, field: str) -> bool:
    """`value` if it is true or false; raises `InputError` for anything else."""
    if not isinstance(value, bool):
        raise InputError(Sentence("{name} must be true or false.", name=label), field)
    return value
