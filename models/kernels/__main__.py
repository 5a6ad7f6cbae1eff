"""Make machine code for this processor, where it is not there yet: `python -m models.kernels`."""

import argparse
import os
import sys
from pathlib import Path

from models.kernels import store
from models.kernels.processor import HELPING, NAMES, is_worth_it

_LONGEST_S = 900.0
"""How long it may take a slow machine."""


def main() -> int:
    """Make what is asked for, or all that this processor gains by; 0 where all is there then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to; the user's cache if not said")
    parser.add_argument("names", nargs="*", choices=[HELPING, *NAMES, []], help="what to make; else all that pays")
    given = parser.parse_args()
    folder = given.folder or store.folder()
    gained = [name for name in NAMES if is_worth_it(name)]
    wanted = given.names or [HELPING] * bool(gained) + gained
    missing = [name for name in wanted if store.read(name, folder) is None]
    if not given.names:
        store.forget_others()
        return _all_at_once(missing)
    # Visitors come first.
    os.nice(10)
    for name in missing:
        from models.kernels.making import machine_code
        from models.kernels.passes import functions_of

        store.keep(name, machine_code(functions_of(name)), folder)
    return 0


def _all_at_once(names: list[str]) -> int:
    """Make what has these `names`, each in a process."""
    if names:
        print("Making passes for this processor. This takes half a minute, once.", flush=True)
    return max((making.wait(_LONGEST_S) for making in [store.begin_to_make(name) for name in names]), default=0)


if __name__ == "__main__":
    sys.exit(main())
