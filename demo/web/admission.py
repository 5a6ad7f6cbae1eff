"""Admission of calls: no caller may fill the queue of runs alone, and a refusal says when to come back."""

import json
import math
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import quote

from limits import RateLimitItemPerMinute
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.language import N_, _, ngettext
from demo.settings import Settings
from demo.web.call import Call, UnusableCall, read_call, refuse, replay
from demo.web.metrics import Metrics
from demo.web.model_queue import CALLER, SESSION, ModelQueue
from demo.web.rate_limits import RateLimits
from demo.web.traces import failed, of_call
from demo.web.visitors import CALLER_HEADER, SESSION_HEADER, Visitors, counted, with_header

_CALL = re.compile(r"/gradio_api/(?P<kind>queue/join|call/v2|call|cancel|run|api|mcp)(?:/(?P<name>\w+))?/?")
_CALLS_FOR_A_RUN = 20
"""The redraws and other small calls that a visitor may make for each run."""

_MOST_SMALL_CALLS = 500
"""The most small calls that may wait at once besides the runs; each is over in a moment."""

CALLER_FACTOR = 10
"""The calls a minute of all sessions of one caller together, as a multiple of what one session may make.

Callers make up their sessions, so a limit by session alone would limit nobody; a class behind one address counts as one
caller.
"""


@dataclass(frozen=True)
class Refusal:
    """The limit that a call exceeds, a sentence for its sender, and the seconds until another may fit."""

    limit: str
    sentence: str
    retry_after_s: int


_OVER_LIMIT = {
    "runs-by-session": N_("One visitor may start {most:,} runs a minute."),
    "runs-by-caller": N_("All visitors at one address together may start {most:,} runs a minute."),
    "calls-by-session": N_("One visitor may start {most:,} calls a minute."),
    "calls-by-caller": N_("All visitors at one address together may start {most:,} calls a minute."),
}
"""The sentence for each limit: for each kind of call one by session, and one by caller over all its sessions."""


class Admission:
    """ASGI middleware that passes a call on while limits allow, and else answers 429 with a sentence and a time."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        queue: ModelQueue,
        visitors: Visitors,
        rate_limits: RateLimits,
        metrics: Metrics,
    ) -> None:
        self.app = app
        self.settings = settings
        self.queue = queue
        self.visitors = visitors
        self.rate_limits = rate_limits
        self.metrics = metrics
        # Runs admitted but not in the queue yet: calls that come in the same moment must see each other.
        self._joining: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or refuse it."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/":
            self.metrics.page_opened()
        call = _CALL.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if call is None:
            await self.app(scope, receive, send)
        elif call["kind"] == "mcp":
            # The tool server then calls the page itself, where the run is counted for this caller.
            caller = self.visitors.caller(scope)
            vouched = with_header(scope, CALLER_HEADER, self.visitors.vouch(caller))
            await self._admit(False, caller, caller, vouched, receive, send)
        elif not self._exists(call["kind"], call["name"] or ""):
            await refuse(scope, receive, send, 404, _("There is no such endpoint."))
        else:
            await self._read(call["kind"], call["name"] or "", scope, receive, send)

    async def _read(self, kind: str, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        # `Gate` has read the body already, and kept it to its limit.
        body = await Request(scope, receive).body()
        try:
            call = read_call(body, by_name=kind == "call/v2")
        except UnusableCall as error:
            await refuse(scope, receive, send, 400, _(str(error)))
            return
        caller = self.visitors.caller(scope)
        # A call without a session counts as its caller's, and so does a tool's, since all tools share one client.
        session = self.visitors.tool_caller(scope) or call.session or caller
        scope = {**scope, SESSION: session, CALLER: caller}
        scope = with_header(scope, SESSION_HEADER, quote(call.session, errors="backslashreplace"))
        is_run = self.queue.is_for_a_model(call.fn_index) or self.queue.is_for_a_model(name)
        receive = replay(self._as_gradio_reads(kind, name, call, body), receive)
        with of_call(scope) if is_run else nullcontext(scope) as scope:
            await self._admit(is_run, session, caller, scope, receive, send)

    async def _admit(self, is_run: bool, session: str, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._line_refusal(session, caller) if is_run else self._crowd_refusal()
        if not refusal:
            # Counted before anything is awaited, so that calls that come in the same moment see each other.
            joins = counted(self._joining, "all", SESSION + session, CALLER + caller) if is_run else nullcontext()
            with joins:
                refusal = await self._counted(is_run, session, caller)
                if not refusal:
                    await self.app(scope, receive, send)
            if is_run:
                self.queue.take_turns()
        if refusal:
            self.metrics.refused(refusal.limit)
            failed(refusal.limit)
            await refuse(scope, receive, send, 429, refusal.sentence, {"Retry-After": str(refusal.retry_after_s)})

    async def _counted(self, is_run: bool, session: str, caller: str) -> Refusal | None:
        """Count the call for its session and its caller; returns a refusal if a minute's calls are used up."""
        kind, most = "runs" if is_run else "calls", self.settings.limits.runs_per_minute
        most *= 1 if is_run else _CALLS_FOR_A_RUN
        visits = (
            (RateLimitItemPerMinute(most, namespace=f"{kind}-by-session"), session),
            (RateLimitItemPerMinute(most * CALLER_FACTOR, namespace=f"{kind}-by-caller"), caller),
        )
        met = await self.rate_limits.met(*visits) or await self.rate_limits.count(*visits)
        if not met:
            return None
        over = _(_OVER_LIMIT[met.limit.namespace], most=met.limit.amount)
        return Refusal(f"{kind} per minute", f"{over} {_try_again(met.wait_s)}", met.wait_s)

    def _as_gradio_reads(self, kind: str, name: str, call: Call, body: bytes) -> bytes:
        """The body with the defaults of values left out at the end, and without its session.

        Clients of older versions leave values out. Gradio would give either of two calls of one session the answer that
        comes first, so each call gets a session of its own there, which a cancellation then has to name.
        """
        if kind == "cancel" and (session := self.queue.session_of(call.body.get("event_id"))):
            return json.dumps({**call.body, "session_hash": session}).encode()
        values = call.body.get("data")
        if kind != "call" or not isinstance(values, list):
            return body
        return json.dumps({**call.body, "data": self.queue.with_defaults(name, values), "session_hash": None}).encode()

    def _exists(self, kind: str, name: str) -> bool:
        # The page itself posts its quick events to "predict", with the number of the event in the body.
        of_page = kind in ("queue/join", "cancel") or (kind in ("run", "api") and name == "predict")
        return of_page or name in self.queue.endpoints

    def _line_refusal(self, session: str, caller: str) -> Refusal | None:
        limits = self.settings.limits
        if self.queue.of(SESSION, session) + self._joining[SESSION + session] >= limits.runs_at_once:
            sentence = _(
                "You have {count} runs waiting or running already. Please let one of them finish.",
                count=limits.runs_at_once,
            )
            return Refusal("runs at once", sentence, max(1, math.ceil(self.metrics.typical_run_s)))
        waiting = self.queue.waiting + self._joining["all"]
        of_caller = self.queue.of(CALLER, caller) + self._joining[CALLER + caller]
        # A class behind one address may fill half of the line, so that others find room in the other half.
        if waiting >= self.settings.queue or of_caller >= max(limits.runs_at_once, self.settings.queue // 2):
            wait_s = max(1, math.ceil(self.metrics.typical_run_s * (1 + waiting / self.settings.concurrency)))
            full = _("The line is full: {count} runs are waiting.", count=waiting)
            return Refusal("line full", f"{full} {_try_again(wait_s)}", wait_s)
        return None

    def _crowd_refusal(self) -> Refusal | None:
        if self.queue.calls_waiting >= self.settings.queue + _MOST_SMALL_CALLS:
            return Refusal("line full", _("Very many calls are waiting just now. Please try again in a second."), 1)
        return None


def _try_again(wait_s: int) -> str:
    return ngettext(
        "Please try again in a second; your text stays where it is.",
        "Please try again in {count} seconds; your text stays where it is.",
        wait_s,
    )
