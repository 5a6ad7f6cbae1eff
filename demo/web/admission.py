"""Who may start a run now: nobody fills the line alone, and whoever has to come back later is told when."""

import json
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
from demo.web.asgi import TooLarge, body_of, refuse, replayed
from demo.web.line import Line
from demo.web.metrics import Metrics
from demo.web.visitors import CALLER_HEADER, Visitors

_STARTS = re.compile(r"/gradio_api/(?P<kind>queue/join|call/v2|call|run|api|mcp)(?:/(?P<name>\w+))?/?")
_MINUTE_S = 60.0
_KNOWN_VISITORS = 10_000
_CALLS_FOR_A_RUN = 20
"""How many redraws and other small calls a visitor has for each run."""

_MOST_SMALL_CALLS = 500
"""How many of these may wait at once besides the runs; each is over in a moment."""

_LONGEST_SESSION = 128


@dataclass(frozen=True)
class Refusal:
    """Why a call has to wait, in words, and after how many seconds another may fit."""

    kind: str
    sentence: str
    retry_after_s: int


class Pace:
    """Counts calls by visitor over the last minute; forgets the visitors that were quiet longest."""

    def __init__(self, most_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most_per_minute = most_per_minute
        self._clock = clock
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, visitor: str) -> float:
        """How long this visitor has to wait for the next call, 0 for not at all."""
        calls, now = self._calls.get(visitor, deque()), self._clock()
        while calls and now - calls[0] >= _MINUTE_S:
            calls.popleft()
        return calls[0] + _MINUTE_S - now if len(calls) >= self.most_per_minute else 0.0

    def count(self, visitor: str) -> None:
        """One more call of this visitor."""
        self._calls.setdefault(visitor, deque()).append(self._clock())
        self._calls.move_to_end(visitor)
        while len(self._calls) > _KNOWN_VISITORS:
            self._calls.popitem(last=False)


class Admission:
    """Lets a call start a run while its visitor and the line have room; otherwise 429, with a sentence and a time."""

    def __init__(self, app: ASGIApp, settings: Settings, line: Line, visitors: Visitors, metrics: Metrics) -> None:
        self.app = app
        self.settings = settings
        self.line = line
        self.visitors = visitors
        self.metrics = metrics
        self._runs = Pace(settings.limits.runs_per_minute)
        self._calls = Pace(settings.limits.runs_per_minute * _CALLS_FOR_A_RUN)
        # Who is let in but not in the line yet: calls that come in the same moment must see each other.
        self._sessions_joining: Counter[str] = Counter()
        self._callers_joining: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or refuse it."""
        starts = _STARTS.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if starts is None:
            await self.app(scope, receive, send)
            return
        caller = self.visitors.caller(scope)
        kind, name = starts["kind"], starts["name"] or ""
        if kind == "mcp":
            # The tool server calls the page itself: there the run is counted, for this caller.
            await self.app(_vouched(scope, self.visitors.vouch(caller)), receive, send)
            return
        if kind != "queue/join" and not self._is_there(kind, name):
            await refuse(scope, receive, send, 404, "There is no such endpoint.")
            return
        try:
            body = await body_of(scope, receive, self.settings.limits.call_bytes)
        except TooLarge:
            await refuse(scope, receive, send, 413, "That is more than this page reads at once. Please shorten it.")
            return
        call = _call(body)
        if _names_a_file(call):
            await refuse(scope, receive, send, 400, "Files cannot be sent to this page.")
            return
        session = self.visitors.tool_caller(scope) or call.get("session_hash") or caller
        if not isinstance(session, str) or len(session) > _LONGEST_SESSION:
            await refuse(scope, receive, send, 400, "The session of this call cannot be used.")
            return
        is_run = self.line.is_for_a_model(call.get("fn_index"), name)
        refusal = self._refusal(session, caller) if is_run else self._small_refusal(session)
        if refusal is not None:
            self.metrics.refused(refusal.kind)
            after = {"Retry-After": str(refusal.retry_after_s)}
            await refuse(scope, receive, send, 429, refusal.sentence, after)
            return
        (self._runs if is_run else self._calls).count(session)
        if not is_run:
            await self.app(scope, replayed(body, receive), send)
            return
        with self._joining(session, caller):
            await self.app(scope, replayed(body, receive), send)
        self.line.arrange()

    @contextmanager
    def _joining(self, session: str, caller: str) -> Iterator[None]:
        counted = ((self._sessions_joining, session), (self._callers_joining, caller))
        for joining, who in counted:
            joining[who] += 1
        try:
            yield
        finally:
            for joining, who in counted:
                joining[who] -= 1
                if not joining[who]:
                    del joining[who]

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
        return self._too_fast(self._runs, session, "runs")

    def _small_refusal(self, session: str) -> Refusal | None:
        if self.line.crowd >= self.settings.queue + _MOST_SMALL_CALLS:
            sentence = "Very many calls are waiting just now. Please try again in a second."
            return Refusal("line full", sentence, 1)
        return self._too_fast(self._calls, session, "calls")

    @property
    def _share(self) -> int:
        """How much of the line one address may fill; a class behind one address still finds half of it."""
        return max(1, self.settings.queue // 2)

    def _too_fast(self, pace: Pace, session: str, what: str) -> Refusal | None:
        wait_s = math.ceil(pace.wait_s(session))
        if not wait_s:
            return None
        sentence = (
            f"One visitor may start {pace.most_per_minute:,} {what} a minute. "
            f"Please try again in {_seconds(wait_s)}; your text stays where it is."
        )
        return Refusal(f"{what} per minute", sentence, wait_s)


def _call(body: bytes) -> dict[str, object]:
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return call if isinstance(call, dict) else {}


def _names_a_file(call: object) -> bool:
    """Whether Gradio would take a part of the call for a file, and read or fetch what it names before anyone looks."""
    parts = [call]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if isinstance(part.get("path"), str):
                return True
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return False


def _vouched(scope: Scope, voucher: str) -> Scope:
    headers = MutableHeaders(raw=list(scope["headers"]))
    headers[CALLER_HEADER] = voucher
    return {**scope, "headers": headers.raw}


def _seconds(seconds: int) -> str:
    return "a second" if seconds == 1 else f"{seconds} seconds"
