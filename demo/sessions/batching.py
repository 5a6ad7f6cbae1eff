"""Dynamic batching: calls that arrive during a run are answered together by the next run.

A caller who finds no run going on starts one, and later callers wait. When it ends, the first of them runs for all that
wait. There is no thread of its own: the callers' threads take turns.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from models.cancellation import ASK_EVERY_S, LONGEST_PASS_S, asked_here, for_others, go_on
from models.errors import Overdue, Stopped

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Call(Generic[Item, Result]):
    """One caller's item, and what became of it; `ready` is set once that is known or the caller has to lead."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.go_on = asked_here()
        self.ready = threading.Event()
        self.results: list[Result] = []
        self.error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return bool(self.results) or self.error is not None

    def outcome(self) -> Result:
        if self.error is not None:
            raise self.error
        return self.results[0]


class Shared(Generic[Item, Result]):
    """`work` for callers on many threads, who share its runs; safe to call from any of them.

    `work` gives a result for each item, in order. `fitting` says which items, by their places, go together: the first
    one always does. Those who were answered together ask again together, and without a moment's patience the first of
    them would run alone: a run waits until as many have come as lately did, for no longer than `patience` times what
    the last one took. Who comes alone again and again waits for nobody.

    Whatever raises, every caller is answered: an error of `fitting` leaves the first item alone in its run, an error
    of `work` reaches those whose items cannot be answered one by one either, and where no run has begun or ended for
    `LONGEST_PASS_S`, those who wait get `Overdue`.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        fitting: Callable[[Sequence[Item]], Sequence[int]],
        patience: float,
    ) -> None:
        self._work, self._fitting, self._patience = work, fitting, patience
        self._changed = threading.Condition()
        self._waiting: list[_Call[Item, Result]] = []
        self._busy = False
        self._moved_at_s = 0.0
        # How many are expected, one fewer each time that they do not come, and until when.
        self._company, self._patient_until_s = 1, 0.0

    def __call__(self, item: Item) -> Result:
        """The result for `item`; raises what `work` raises for it, and `Stopped` where nobody waits for it any more."""
        go_on()
        call: _Call[Item, Result] = _Call(item)
        with self._changed:
            self._waiting.append(call)
            self._changed.notify()
            leads = not self._busy
            if leads:
                self._busy, self._moved_at_s = True, time.monotonic()
        if not leads:
            self._wait(call)
        while not call.is_over:
            self._lead(call)
        return call.outcome()

    def _wait(self, call: _Call[Item, Result]) -> None:
        """Return once `call` is over or has to lead; raises `Overdue`, and `Stopped` where nobody waits any more."""
        while not call.ready.wait(ASK_EVERY_S):
            with self._changed:
                if call.ready.is_set():
                    return
                if time.monotonic() - self._moved_at_s > LONGEST_PASS_S:
                    call.error = Overdue()
                elif call in self._waiting:
                    # One that has been taken into a run is left by that run.
                    _is_wanted(call)
                if call.error is not None:
                    self._waiting = [each for each in self._waiting if each is not call]
                    raise call.error

    def _lead(self, own: _Call[Item, Result]) -> None:
        """Run for those who wait, the caller's `own` first among them; once that is over, let the next one lead."""
        batch: list[_Call[Item, Result]] = []
        try:
            batch = self._gathered()
            self._moved_at_s = began_s = time.monotonic()
            with for_others():
                self._run([call for call in batch if _is_wanted(call)])
            self._moved_at_s = ended_s = time.monotonic()
            self._company = max(len(batch), self._company - 1)
            self._patient_until_s = ended_s + self._patience * (ended_s - began_s)
            with self._changed:
                self._waiting[:0] = [call for call in batch if not call.is_over]
        except BaseException:
            for call in (own, *batch):
                if not call.is_over:
                    call.error = Stopped()
            raise
        finally:
            if own.is_over:
                with self._changed:
                    # The caller's own is among them still where gathering was interrupted.
                    self._waiting = [call for call in self._waiting if call is not own]
                    self._busy = bool(self._waiting)
                    # The next pass first: the network is what all wait for.
                    for call in self._waiting[:1]:
                        call.ready.set()
            for call in batch:
                if call.is_over:
                    call.ready.set()

    def _gathered(self) -> list[_Call[Item, Result]]:
        """Those whose turn it is, taken from those who wait."""
        with self._changed:
            patience_s = self._patient_until_s - time.monotonic()
            if patience_s > 0:
                self._changed.wait_for(lambda: len(self._waiting) >= self._company, patience_s)
            try:
                chosen = {0, *self._fitting([call.item for call in self._waiting])}
            except Exception:
                # One of them cannot even be weighed: each goes by itself, and `work` says what is wrong with which.
                chosen = {0}
            batch = [call for place, call in enumerate(self._waiting) if place in chosen]
            self._waiting = [call for place, call in enumerate(self._waiting) if place not in chosen]
        return batch

    def _run(self, batch: Sequence[_Call[Item, Result]]) -> None:
        if len(batch) > 1:
            try:
                results = self._work([call.item for call in batch])
                if len(results) != len(batch):
                    raise ValueError(f"{len(results)} results for {len(batch)} items")
            except Exception:
                # One of them cannot be answered; which one shows when each is tried by itself.
                for call in batch:
                    self._run([call])
                return
            for call, result in zip(batch, results, strict=True):
                call.results.append(result)
            return
        for call in batch:
            try:
                (result,) = self._work([call.item])
            except Exception as error:
                call.error = error
            else:
                call.results.append(result)


def _is_wanted(call: _Call[Item, Result]) -> bool:
    try:
        call.go_on()
    except Exception as error:
        call.error = error
    return call.error is None
