"""Rate limits: nobody fills the line of runs alone, and whoever is turned away is told when to come back."""

import json
import math
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from cachetools import TTLCache
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.language import N_, _, ngettext
from demo.settings import Settings
from demo.web.call import Call, UnusableCall, read_call, refuse, replay
from demo.web.metrics import Metrics
from demo.web.model_queue import CALLER, SESSION, ModelQueue
from demo.web.visitors import CALLER_HEADER, SESSION_HEADER, Visitors, counted, with_header

_CALL = re.compile(r"/gradio_api/(?P<kind>queue/join|call/v2|call|cancel|run|api|mcp)(?:/(?P<name>\w+))?/?")
_MINUTE_S = 60.0
_KNOWN_VISITORS = 10_000
_CALLS_FOR_A_RUN = 20
"""How many redraws and other small calls a visitor has for each run."""

_MOST_SMALL_CALLS = 500
"""How many of these may wait at once besides the runs; each is over in a moment."""

CALLER_FACTOR = 10
"""How many times what one session may do a minute all sessions of one caller may do together.

Callers make up their sessions, so a limit by session alone would limit nobody; a class behind one address counts as one
caller.
"""


@dataclass(frozen=True)
class Refusal:
    """The limit that a call has met, a sentence for its sender, and after how many seconds another may fit."""

    limit: str
    sentence: str
    retry_after_s: int


class RateLimit:
    """Counts calls by visitor over the last minute, of the 10,000 visitors who called last."""

    def __init__(self, most_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most_per_minute = most_per_minute
        self._clock = clock
        self._calls: TTLCache[str, deque[float]] = TTLCache(_KNOWN_VISITORS, _MINUTE_S, clock)

    def wait_s(self, visitor: str) -> float:
        """How many seconds this visitor has to wait for the next call, 0 for none."""
        calls, now = self._calls.get(visitor, deque()), self._clock()
        while calls and now - calls[0] >= _MINUTE_S:
            calls.popleft()
        return calls[0] + _MINUTE_S - now if len(calls) >= self.most_per_minute else 0.0

    def count(self, visitor: str) -> None:
        """Count one more call of this visitor."""
        calls = self._calls.pop(visitor, deque())
        calls.append(self._clock())
        self._calls[visitor] = calls


_OVER_LIMIT = {
    "runs": (
        N_("One visitor may start {most:,} runs a minute."),
        N_("All visitors at one address together may start {most:,} runs a minute."),
    ),
    "calls": (
        N_("One visitor may start {most:,} calls a minute."),
        N_("All visitors at one address together may start {most:,} calls a minute."),
    ),
}
"""What is said where one session, or one caller, has met a limit of each kind of call."""


class _Limits:
    """Rate limits of one kind of call: by session, and by caller whatever sessions it names."""

    def __init__(self, what: str, most_per_minute: int) -> None:
        self._what = what
        self._sessions = RateLimit(most_per_minute)
        self._callers = RateLimit(most_per_minute * CALLER_FACTOR)

    def count(self, session: str, caller: str) -> None:
        """Count one more call."""
        self._sessions.count(session)
        self._callers.count(caller)

    def refusal(self, session: str, caller: str) -> Refusal | None:
        """Why the next call has to wait; None if it need not."""
        of_session, of_caller = _OVER_LIMIT[self._what]
        for limit, who, over in ((self._sessions, session, of_session), (self._callers, caller, of_caller)):
            if wait_s := math.ceil(limit.wait_s(who)):
                sentence = f"{_(over, most=limit.most_per_minute)} {_try_again(wait_s)}"
                return Refusal(f"{self._what} per minute", sentence, wait_s)
        return None


class Admission:
    """Passes a call on while its visitor and the line have room; otherwise answers 429, with a sentence and a time."""

    def __init__(
        self, app: ASGIApp, settings: Settings, queue: ModelQueue, visitors: Visitors, metrics: Metrics
    ) -> None:
        self.app = app
        self.settings = settings
        self.queue = queue
        self.visitors = visitors
        self.metrics = metrics
        self._runs = _Limits("runs", settings.limits.runs_per_minute)
        self._calls = _Limits("calls", settings.limits.runs_per_minute * _CALLS_FOR_A_RUN)
        # Runs that are let in but not in the line yet: calls that come in the same moment must see each other.
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
        # A call without a session is its caller's, and so is a tool's, since all tools share one client.
        session = self.visitors.tool_caller(scope) or call.session or caller
        scope = {**scope, SESSION: session, CALLER: caller}
        scope = with_header(scope, SESSION_HEADER, quote(call.session, errors="backslashreplace"))
        is_run = self.queue.is_for_a_model(call.fn_index) or self.queue.is_for_a_model(name)
        receive = replay(self._as_gradio_reads(kind, name, call, body), receive)
        await self._admit(is_run, session, caller, scope, receive, send)

    async def _admit(self, is_run: bool, session: str, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._run_refusal(session, caller) if is_run else self._small_call_refusal(session, caller)
        if refusal:
            self.metrics.refused(refusal.limit)
            await refuse(scope, receive, send, 429, refusal.sentence, {"Retry-After": str(refusal.retry_after_s)})
            return
        (self._runs if is_run else self._calls).count(session, caller)
        if not is_run:
            await self.app(scope, receive, send)
            return
        with counted(self._joining, "all", SESSION + session, CALLER + caller):
            await self.app(scope, receive, send)
        self.queue.take_turns()

    def _as_gradio_reads(self, kind: str, name: str, call: Call, body: bytes) -> bytes:
        """The body with the defaults of values left out at the end, and without its session.

        Clients of older versions leave values out. Of two calls of one session Gradio would give either the answer that
        comes first, so each call is one of its own there; so a cancellation has to name that.
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

    def _run_refusal(self, session: str, caller: str) -> Refusal | None:
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
        return self._runs.refusal(session, caller)

    def _small_call_refusal(self, session: str, caller: str) -> Refusal | None:
        if self.queue.calls_waiting >= self.settings.queue + _MOST_SMALL_CALLS:
            return Refusal("line full", _("Very many calls are waiting just now. Please try again in a second."), 1)
        return self._calls.refusal(session, caller)


def _try_again(wait_s: int) -> str:
    return ngettext(
        "Please try again in a second; your text stays where it is.",
        "Please try again in {count} seconds; your text stays where it is.",
        wait_s,
    )
