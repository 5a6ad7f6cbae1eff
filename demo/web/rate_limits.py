"""Rate limits: counted in this process, or in Redis for all processes together where the host names one."""

import asyncio
import hashlib
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from limits import RateLimitItem
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.storage.memory import Entry
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import ConfigurationError, StorageError

from demo.settings import SettingError, Settings

_log = logging.getLogger(__name__)
_KNOWN_VISITORS = 10_000
_REDIS_ANSWERS_WITHIN_S = 2.0
_CALLS_AT_ONCE = 8
"""The most calls that ask Redis at the same time, each over as many connections as it has limits."""

_AWAY_FOR_S = 5.0
"""The seconds for which Redis is not asked after it did not answer; then a single call tries again."""

_T = TypeVar("_T")
_Question = Callable[[MovingWindowRateLimiter, RateLimitItem, str], Coroutine[Any, Any, _T]]
_hit, _window = MovingWindowRateLimiter.hit, MovingWindowRateLimiter.get_window_stats


@dataclass(frozen=True)
class Met:
    """A limit that has no room, and the seconds until it has."""

    limit: RateLimitItem
    wait_s: int


class RecentVisitors(MemoryStorage):
    """Stores the calls of the 10,000 visitors who called last, none older than its limit looks back.

    The library's own storage holds any number of visitors, and after each call a thread looks at all of them.
    """

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count `amount` calls under `key` where there is room for them; returns whether there was."""
        _, recent = await self.get_moving_window(key, limit, expiry)
        if recent + amount > limit:
            return False
        # The library reads calls newest first; the visitor who has been quiet for longest comes first.
        self.events[key] = [Entry(expiry)] * amount + self.events.pop(key, [])[:recent]
        while len(self.events) > _KNOWN_VISITORS or next(iter(self.events.values()))[0].expiry < time.time():
            del self.events[next(iter(self.events))]
        return True


class RateLimits:
    """Counts calls of visitors over the time that a limit looks back, in Redis for several processes together.

    While Redis does not answer, each process counts for itself: no visitor is refused because of that.
    """

    def __init__(self, redis: RedisStorage | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = MovingWindowRateLimiter(redis) if redis else None
        self._clock = clock
        # One for each kind of limit, so that no crowd of made-up sessions pushes a caller's count out.
        self._here = defaultdict[str, MovingWindowRateLimiter](lambda: MovingWindowRateLimiter(RecentVisitors()))
        self._turns = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._try_again_at: float | None = None

    @property
    def are_shared(self) -> bool:
        """Whether all processes count together now."""
        return self._redis is not None and self._try_again_at is None

    async def met(self, *visits: tuple[RateLimitItem, str]) -> Met | None:
        """The first of these limits, each with its visitor, that has no room for another call; None if all have."""
        for (limit, _), window in zip(visits, await self._ask(_window, visits), strict=True):
            if window.remaining <= 0:
                return Met(limit, max(1, math.ceil(window.reset_time - time.time())))
        return None

    async def count(self, *visits: tuple[RateLimitItem, str]) -> Met | None:
        """Count a call under each of these limits; returns the one that others have filled since `met` was asked."""
        return None if all(await self._ask(_hit, visits)) else await self.met(*visits)

    async def _ask(self, question: _Question[_T], visits: tuple[tuple[RateLimitItem, str], ...]) -> list[_T]:
        numbered = [(limit, _number(visitor)) for limit, visitor in visits]
        answers = await self._ask_redis(question, numbered) if self._redis else None
        if answers is None:
            answers = [await question(self._here[limit.namespace], limit, visitor) for limit, visitor in numbered]
        return answers

    async def _ask_redis(self, question: _Question[_T], visits: list[tuple[RateLimitItem, str]]) -> list[_T] | None:
        """The answers of Redis; None while it gives none, also for calls that waited for their turn when it failed."""
        async with self._turns:
            tries_again = self._try_again_at is not None
            if not self._redis or (self._try_again_at is not None and self._clock() < self._try_again_at):
                return None
            if tries_again:
                # Other calls are counted in this process, and do not wait for this one.
                self._try_again_at = self._clock() + _AWAY_FOR_S
            try:
                answers = await asyncio.gather(*(question(self._redis, *visit) for visit in visits))
            except (StorageError, OSError) as error:
                if self._try_again_at is None:
                    _log.warning("rate limits hold for this process alone, because Redis does not answer: %s", error)
                self._try_again_at = self._clock() + _AWAY_FOR_S
                return None
            if tries_again:
                _log.warning("Redis answers again: rate limits hold for all processes together")
                self._try_again_at = None
            return answers


def rate_limits(settings: Settings) -> RateLimits:
    """The rate limits of this process, shared where the settings name a Redis; raises `SettingError`."""
    url = settings.limits_url
    if not url:
        return RateLimits()
    if settings.secret is None:
        raise SettingError(
            "CLEARHEAD_LIMITS_URL needs CLEARHEAD_SECRET, the same in all processes, so that all know a caller by "
            "the same number."
        )
    if urlsplit(url).scheme not in ("redis", "rediss"):
        raise SettingError("CLEARHEAD_LIMITS_URL must begin with redis:// or rediss://.")
    try:
        return RateLimits(_storage(url))
    except ImportError as error:
        raise SettingError("CLEARHEAD_LIMITS_URL needs a package: install requirements-redis.txt.") from error
    except (ConfigurationError, ValueError) as error:
        raise SettingError("CLEARHEAD_LIMITS_URL cannot be read: write redis://host:6379/0.") from error


def _storage(url: str) -> RedisStorage:
    from redis.asyncio.retry import Retry  # only where the host has installed it
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError

    return RedisStorage(
        f"async+{url}",
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix="clearhead",
        socket_timeout=_REDIS_ANSWERS_WITHIN_S,
        socket_connect_timeout=_REDIS_ANSWERS_WITHIN_S,
        # Retry once, because a Redis that was restarted has closed the connections kept here.
        retry=Retry(NoBackoff(), 1, (ConnectionError,)),  # type: ignore[arg-type]  # the library passes it on as it is
    )


def _number(visitor: str) -> str:
    """A hash that stands for a visitor, of a fixed length because clients choose the names of their sessions."""
    return hashlib.blake2b(visitor.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
