"""Make machine code for this processor, where it is not there yet: `python -m models.kernels`."""

import argparse
import os
from pathlib import Path

from models.kernels import store
from models.kernels.processor import HELPING, NAMES, is_worth_it


def main() -> None:
    """Make what is asked for, or all that this processor gains by."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to; the user's cache if not said")
    parser.add_argument(
        "names", nargs="*", choices=[HELPING, *NAMES, []], help="what to make; all that pays if not said"
    )
    given = parser.parse_args()
    folder = given.folder or store.folder()
    wanted = given.names or [name for name in NAMES if is_worth_it(name)]
    missing = [name for name in [HELPING, *wanted] if not store.path_of(name, folder).exists()] if wanted else []
    if not missing:
        return
    print("Making passes for this processor. This takes half a minute, once.", flush=True)
    # Visitors come first.
    os.nice(10)
    from models.kernels.making import machine_code
    from models.kernels.passes import functions_of

    for name in dict.fromkeys(missing):
        store.keep(name, machine_code(functions_of(name)), folder)


if __name__ == "__main__":
    main()
