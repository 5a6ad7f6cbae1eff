"""How long the threads of a product look for the next one before they sleep; to be said before torch is imported.

To wake them takes longer than most products. OpenMP lets those of every thread but the first that computes sleep at
once, and a server answers each visitor in another thread.
"""

import os

WAITING = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "20000", "KMP_BLOCKTIME": "1"}
"""For GNU's OpenMP, which torch brings along on Linux, and for LLVM's and Intel's: a fraction of a millisecond."""


def wait_for_the_next() -> None:
    """Set what nobody has set."""
    for name, value in WAITING.items():
        os.environ.setdefault(name, value)
