"""Threads that help with a pass: they sleep in the C library until they are asked, and never wait for Python.

A mailbox is `MAILBOX` whole numbers: those that a semaphore of POSIX takes, whether somebody is asked, the function and
the addresses of what it shares, and where the helper may run. Who leads asks, takes part, and goes on when nobody reads
any more what the pass was given: whoever has not come by then is told not to.

A helper is kept from the core that its leader is on: left to itself, Linux often woke it there although another was
idle, to wait until the pass was over (seen on a virtual machine of two cores).
"""

from typing import Any

from llvmlite import ir
from numba import types

from models.kernels.language import compiled, instruction
from models.kernels.layout import MAILBOX, STATE
from models.kernels.memory import count_at, exchanged, set_count
from models.kernels.records import numbers_at

IDLE, ASKED, BUSY, OVER = 0, 1, 2, 3

_SHARE, _WEIGHTS, _PASS, _THREAD, _AVOIDED, _CORES = 5, 6, 7, 8, 9, 16
"""Other places in a mailbox; the last begins a set of cores, as Linux keeps them, a bit for each."""

_BYTES, _BITS = 8, 64

_SET = MAILBOX - _CORES

_of_c: Any = types.ExternalFunction
_post = _of_c("sem_post", types.intc(types.uintp))
_wait = _of_c("sem_wait", types.intc(types.uintp))
_give_way = _of_c("sched_yield", types.intc())

_own_thread = _of_c("gettid", types.intc())
_own_core = _of_c("sched_getcpu", types.intc())
_cores_of = _of_c("sched_getaffinity", types.intc(types.intc, types.uintp, types.uintp))
_keep_to = _of_c("sched_setaffinity", types.intc(types.intc, types.uintp, types.uintp))


def _call(builder: Any, function: Any, weights: Any, of: Any, number: Any) -> None:
    whole = ir.IntType(64)
    kind = ir.FunctionType(ir.VoidType(), [whole] * 3)
    builder.call(builder.inttoptr(function, kind.as_pointer()), [weights, of, number])


_share_at = instruction(types.void(types.uintp, types.uintp, types.uintp, types.intp), _call)
"""Take part in a pass by the function at an address, for a record of weights and one of the pass, as a thread of a
number."""


@compiled
def serve(mailbox: int, number: int) -> None:
    """Help whoever asks, as the thread of this `number`, until the mailbox says that it is over."""
    box = numbers_at(mailbox, MAILBOX)
    box[_THREAD] = _own_thread()
    while True:
        _wait(mailbox)
        if count_at(mailbox + STATE * _BYTES) == OVER:
            return
        if exchanged(mailbox + STATE * _BYTES, ASKED, BUSY):
            _share_at(box[_SHARE], box[_WEIGHTS], box[_PASS], number)
            set_count(mailbox + STATE * _BYTES, IDLE)


@compiled
def _keep_apart(mailbox: int, box: Any) -> None:
    """Let a helper run on any core that the calling thread may use, but for the one where that is now."""
    core = _own_core()
    if box[_THREAD] == 0 or box[_AVOIDED] == core + 1 or core >= _SET * _BITS:
        return
    cores = box[_CORES:]
    for i in range(_SET):
        cores[i] = 0
    if _cores_of(0, _SET * _BYTES, mailbox + _CORES * _BYTES) != 0:
        return
    cores[core // _BITS] &= ~(1 << (core % _BITS))
    others = 0
    for i in range(_SET):
        others |= cores[i]
    if others != 0 and _keep_to(box[_THREAD], _SET * _BYTES, mailbox + _CORES * _BYTES) == 0:
        box[_AVOIDED] = core + 1


@compiled
def lead(share: int, weights: int, of: int, mailboxes: int, helpers: int) -> None:
    """Make a pass, by the function `share` for these records, with so many `helpers`, whose mailboxes lie in a row."""
    for helper in range(helpers):
        mailbox = mailboxes + helper * MAILBOX * _BYTES
        box = numbers_at(mailbox, MAILBOX)
        _keep_apart(mailbox, box)
        box[_SHARE], box[_WEIGHTS], box[_PASS] = share, weights, of
        set_count(mailbox + STATE * _BYTES, ASKED)
        _post(mailbox)
    _share_at(share, weights, of, 0)
    for helper in range(helpers):
        state = mailboxes + helper * MAILBOX * _BYTES + STATE * _BYTES
        if not exchanged(state, ASKED, IDLE):
            while count_at(state) == BUSY:
                _give_way()
