"""Who may start a run now: nobody fills the line alone, and whoever has to come back later is told when."""

import math
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.settings import Settings
from demo.web.asgi import TooLarge, body_of, counted, refuse, replayed
from demo.web.line import Line
from demo.web.metrics import Metrics
from demo.web.posted import Posted, Unusable
from demo.web.visitors import CALLER_HEADER, Visitors

_STARTS = re.compile(r"/gradio_api/(?P<kind>queue/join|call/v2|call|run|api|mcp)(?:/(?P<name>\w+))?/?")
_STREAMS = re.compile(r"/gradio_api/(queue/data|heartbeat/.*|call/.*|mcp.*)")
_MINUTE_S = 60.0
_KNOWN_VISITORS = 10_000
_CALLS_FOR_A_RUN = 20
"""How many redraws and other small calls a visitor has for each run."""

_MOST_SMALL_CALLS = 500
"""How many of these may wait at once besides the runs; each is over in a moment."""

CALLER_FACTOR = 10
"""How many times what one session may do a minute all sessions of one caller may do together.

Whoever calls makes up the session, so it alone would limit nobody; a class behind one address counts as one caller.
"""

_MOST_STREAMS = 500
"""How many answers and heartbeats one caller may listen to at once: two for each page that is open, and some more."""


@dataclass(frozen=True)
class Refusal:
    """Why a call has to wait, in words, and after how many seconds another may fit."""

    kind: str
    sentence: str
    retry_after_s: int


class Pace:
    """Counts calls by visitor over the last minute, of the 10,000 visitors who called last."""

    def __init__(self, most_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most_per_minute = most_per_minute
        self._clock = clock
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, visitor: str) -> float:
        """How long this visitor has to wait for the next call, 0 for not at all."""
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


class _Paces:
    """Counts calls of one kind by session, and by caller whatever sessions they name."""

    def __init__(self, what: str, most_per_minute: int) -> None:
        self._what = what
        self._sessions = Pace(most_per_minute)
        self._callers = Pace(most_per_minute * CALLER_FACTOR)

    def count(self, session: str, caller: str) -> None:
        """Count one more call."""
        self._sessions.count(session)
        self._callers.count(caller)

    def refusal(self, session: str, caller: str) -> Refusal | None:
        """Why and how long the next call has to wait; None if it need not."""
        waits = (
            (self._sessions, session, "One visitor"),
            (self._callers, caller, "All visitors at one address together"),
        )
        for pace, who, name in waits:
            if wait_s := math.ceil(pace.wait_s(who)):
                sentence = (
                    f"{name} may start {pace.most_per_minute:,} {self._what} a minute. "
                    f"Please try again in {_seconds(wait_s)}; your text stays where it is."
                )
                return Refusal(f"{self._what} per minute", sentence, wait_s)
        return None


class Admission:
    """Lets a call start a run while its visitor and the line have room; otherwise 429, with a sentence and a time."""

    def __init__(self, app: ASGIApp, settings: Settings, line: Line, visitors: Visitors, metrics: Metrics) -> None:
        self.app = app
        self.settings = settings
        self.line = line
        self.visitors = visitors
        self.metrics = metrics
        self._runs = _Paces("runs", settings.limits.runs_per_minute)
        self._calls = _Paces("calls", settings.limits.runs_per_minute * _CALLS_FOR_A_RUN)
        self._streams: Counter[str] = Counter()
        # Who is let in but not in the line yet: calls that come in the same moment must see each other.
        self._sessions_joining: Counter[str] = Counter()
        self._callers_joining: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or refuse it."""
        method, path = (scope["method"], scope["path"]) if scope["type"] == "http" else ("", "")
        if method == "POST" and (starts := _STARTS.fullmatch(path)):
            await self._start(starts["kind"], starts["name"] or "", scope, receive, send)
        elif method == "GET" and _STREAMS.fullmatch(path):
            await self._listen(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _start(self, kind: str, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self.visitors.caller(scope)
        if kind == "mcp":
            # The tool server calls the page itself: there the run is counted, for this caller.
            refusal = self._small_refusal(caller, caller)
            if await self._is_refused(refusal, scope, receive, send):
                return
            self._calls.count(caller, caller)
            await self.app(_vouched(scope, self.visitors.vouch(caller)), receive, send)
            return
        if kind != "queue/join" and not self._is_there(kind, name):
            await refuse(scope, receive, send, 404, "There is no such endpoint.")
            return
        try:
            body = await body_of(scope, receive, self.settings.limits.call_bytes)
            call = Posted.read(body, by_name=kind == "call/v2")
        except TooLarge:
            await refuse(scope, receive, send, 413, "That is more than this page reads at once. Please shorten it.")
            return
        except Unusable as error:
            await refuse(scope, receive, send, 400, str(error))
            return
        session = self.visitors.tool_caller(scope) or call.session or caller
        is_run = self.line.is_for_a_model(call.fn_index, name)
        refusal = self._refusal(session, caller) if is_run else self._small_refusal(session, caller)
        if await self._is_refused(refusal, scope, receive, send):
            return
        (self._runs if is_run else self._calls).count(session, caller)
        if not is_run:
            await self.app(scope, replayed(body, receive), send)
            return
        with self._joining(session, caller):
            await self.app(scope, replayed(body, receive), send)
        self.line.arrange()

    async def _is_refused(self, refusal: Refusal | None, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer with the refusal, if there is one."""
        if refusal is None:
            return False
        self.metrics.refused(refusal.kind)
        await refuse(scope, receive, send, 429, refusal.sentence, {"Retry-After": str(refusal.retry_after_s)})
        return True

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self.visitors.caller(scope)
        if self._streams[caller] >= _MOST_STREAMS:
            sentence = "Very many pages are open at your address. Please close one of them."
            await self._is_refused(Refusal("streams at once", sentence, 1), scope, receive, send)
            return
        with counted(self._streams, caller):
            await self.app(scope, receive, send)

    @contextmanager
    def _joining(self, session: str, caller: str) -> Iterator[None]:
        with counted(self._sessions_joining, session), counted(self._callers_joining, caller):
            yield

    def _is_there(self, kind: str, name: str) -> bool:
        # The page itself posts its quick events to "predict", with the number of the event in the body.
        return self.line.is_an_endpoint(name) or (kind in ("run", "api") and name == "predict")

    def _refusal(self, session: str, caller: str) -> Refusal | None:
        limits = self.settings.limits
        if self.line.of_session(session) + self._sessions_joining[session] >= limits.runs_at_once:
            sentence = f"You have {limits.runs_at_once} runs waiting or running already. Please let one of them finish."
            return Refusal("runs at once", sentence, max(1, math.ceil(self.metrics.typical_s)))
        waiting = self.line.waiting + self._callers_joining.total()
        of_caller = self.line.of_caller(caller) + self._callers_joining[caller]
        if waiting >= self.settings.queue or of_caller >= max(limits.runs_at_once, self._share):
            wait_s = max(1, math.ceil(self.metrics.typical_s * (1 + waiting / self.settings.concurrency)))
            sentence = (
                f"The line is full: {waiting} runs are waiting. Please try again in {_seconds(wait_s)}; "
                "your text stays where it is."
            )
            return Refusal("line full", sentence, wait_s)
        return self._runs.refusal(session, caller)

    def _small_refusal(self, session: str, caller: str) -> Refusal | None:
        if self.line.crowd >= self.settings.queue + _MOST_SMALL_CALLS:
            sentence = "Very many calls are waiting just now. Please try again in a second."
            return Refusal("line full", sentence, 1)
        return self._calls.refusal(session, caller)

    @property
    def _share(self) -> int:
        """How much of the line one address may fill; a class behind one address still finds half of it."""
        return max(1, self.settings.queue // 2)


def _vouched(scope: Scope, voucher: str) -> Scope:
    headers = MutableHeaders(raw=list(scope["headers"]))
    headers[CALLER_HEADER] = voucher
    return {**scope, "headers": headers.raw}


def _seconds(seconds: int) -> str:
    return "a second" if seconds == 1 else f"{seconds} seconds"
