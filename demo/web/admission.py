"""Rate limits: nobody fills the line of runs alone, and whoever is turned away is told when to come back."""

import json
import math
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.settings import Settings
from demo.web.asgi import TooLarge, read_body, refuse, replay
from demo.web.call import Call, UnusableCall, read_call
from demo.web.metrics import Metrics
from demo.web.model_queue import CALLER, SESSION, ModelQueue
from demo.web.streams import counted
from demo.web.visitors import CALLER_HEADER, SESSION_HEADER, Visitors

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
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, visitor: str) -> float:
        """How many seconds this visitor has to wait for the next call, 0 for none."""
        calls, now = self._calls.get(visitor, deque()), self._clock()
        # The last one stays, so that `count` knows who called in the last minute.
        while len(calls) > 1 and now - calls[0] >= _MINUTE_S:
            calls.popleft()
        if calls and now - calls[-1] >= _MINUTE_S:
            return 0.0
        return calls[0] + _MINUTE_S - now if len(calls) >= self.most_per_minute else 0.0

    def count(self, visitor: str) -> None:
        """Count one more call of this visitor."""
        now = self._clock()
        self._calls.setdefault(visitor, deque()).append(now)
        self._calls.move_to_end(visitor)
        while len(self._calls) > _KNOWN_VISITORS or now - next(iter(self._calls.values()))[-1] >= _MINUTE_S:
            self._calls.popitem(last=False)


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
        for limit, who, name in (
            (self._sessions, session, "One visitor"),
            (self._callers, caller, "All visitors at one address together"),
        ):
            if wait_s := math.ceil(limit.wait_s(who)):
                sentence = (
                    f"{name} may start {limit.most_per_minute:,} {self._what} a minute. "
                    f"Please try again in {_seconds(wait_s)}; your text stays where it is."
                )
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
            await self._pass_tool_on(scope, receive, send)
        elif not self._exists(call["kind"], call["name"] or ""):
            await refuse(scope, receive, send, 404, "There is no such endpoint.")
        else:
            await self._pass_on(call["kind"], call["name"] or "", scope, receive, send)

    async def _pass_tool_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an MCP call on. The tool server then calls the page itself, where the run is counted for this caller."""
        caller = self.visitors.caller(scope)
        if await self._is_refused(self._small_call_refusal(caller, caller), scope, receive, send):
            return
        self._calls.count(caller, caller)
        headers = MutableHeaders(raw=list(scope["headers"]))
        headers[CALLER_HEADER] = self.visitors.vouch(caller)
        await self.app({**scope, "headers": headers.raw}, receive, send)

    async def _pass_on(self, kind: str, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, receive, self.settings.limits.call_bytes)
            call = read_call(body, by_name=kind == "call/v2")
        except TooLarge:
            await refuse(scope, receive, send, 413, "That is more than this page reads at once. Please shorten it.")
            return
        except UnusableCall as error:
            await refuse(scope, receive, send, 400, str(error))
            return
        caller = self.visitors.caller(scope)
        # A call without a session is its caller's, and so is a tool's, since all tools share one client.
        session = self.visitors.tool_caller(scope) or call.session or caller
        headers = MutableHeaders(raw=list(scope["headers"]))
        headers[SESSION_HEADER] = quote(call.session.encode("utf-8", "backslashreplace"))
        scope = {**scope, "headers": headers.raw, SESSION: session, CALLER: caller}
        receive = replay(self._as_gradio_reads(kind, name, call, body), receive)
        is_run = self.queue.is_for_a_model(call.fn_index) or self.queue.is_for_a_model(name)
        refusal = self._run_refusal(session, caller) if is_run else self._small_call_refusal(session, caller)
        if await self._is_refused(refusal, scope, receive, send):
            return
        (self._runs if is_run else self._calls).count(session, caller)
        if not is_run:
            await self.app(scope, receive, send)
            return
        with counted(self._joining, f"{SESSION}={session}"), counted(self._joining, f"{CALLER}={caller}"):
            await self.app(scope, receive, send)
        self.queue.take_turns()

    def _as_gradio_reads(self, kind: str, name: str, call: Call, body: bytes) -> bytes:
        """The body with the defaults of values left out at the end, and without its session.

        Clients of older versions leave values out. Of two calls of one session Gradio would give either the answer that
        comes first, so each call is one of its own there; so a cancellation has to name that.
        """
        if kind == "cancel" and (session := self.queue.session_of(call.body.get("event_id"))):
            return json.dumps({**call.body, "session_hash": session}).encode()
        if kind != "call" or call.values is None:
            return body
        values = self.queue.with_defaults(name, call.values)
        return json.dumps({**call.body, "data": values, "session_hash": None}).encode()

    async def _is_refused(self, refusal: Refusal | None, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer with the refusal, if there is one."""
        if refusal is None:
            return False
        self.metrics.refused(refusal.limit)
        await refuse(scope, receive, send, 429, refusal.sentence, {"Retry-After": str(refusal.retry_after_s)})
        return True

    def _exists(self, kind: str, name: str) -> bool:
        # The page itself posts its quick events to "predict", with the number of the event in the body.
        of_page = kind in ("queue/join", "cancel") or (kind in ("run", "api") and name == "predict")
        return of_page or name in self.queue.endpoints

    def _run_refusal(self, session: str, caller: str) -> Refusal | None:
        limits, typical_s = self.settings.limits, self.metrics.typical_run_s
        if self.queue.of(SESSION, session) + self._joining[f"{SESSION}={session}"] >= limits.runs_at_once:
            sentence = f"You have {limits.runs_at_once} runs waiting or running already. Please let one of them finish."
            return Refusal("runs at once", sentence, max(1, math.ceil(typical_s)))
        joining = sum(count for who, count in self._joining.items() if who.startswith(CALLER))
        waiting = self.queue.waiting + joining
        of_caller = self.queue.of(CALLER, caller) + self._joining[f"{CALLER}={caller}"]
        # A class behind one address may fill half of the line, so that others find room in the other half.
        if waiting >= self.settings.queue or of_caller >= max(limits.runs_at_once, self.settings.queue // 2):
            wait_s = max(1, math.ceil(typical_s * (1 + waiting / self.settings.concurrency)))
            sentence = (
                f"The line is full: {waiting} runs are waiting. Please try again in {_seconds(wait_s)}; "
                "your text stays where it is."
            )
            return Refusal("line full", sentence, wait_s)
        return self._runs.refusal(session, caller)

    def _small_call_refusal(self, session: str, caller: str) -> Refusal | None:
        if self.queue.calls_waiting >= self.settings.queue + _MOST_SMALL_CALLS:
            return Refusal("line full", "Very many calls are waiting just now. Please try again in a second.", 1)
        return self._calls.refusal(session, caller)


def _seconds(seconds: int) -> str:
    return "a second" if seconds == 1 else f"{seconds} seconds"
