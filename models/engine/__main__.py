"""Make graphs: `python -m models.engine` those of the bundled checkpoints, where they are not there yet.

With arguments it converts one folder of weights, as `models/engine/saved.py` asks it to.
"""

import argparse
import os
from pathlib import Path

from models.registry import Task


def main() -> None:
    """Make what is asked for, or all that is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", type=Task)
    parser.add_argument("weights", nargs="?", type=Path)
    parser.add_argument("to", nargs="?", type=Path)
    parser.add_argument("--trunk", type=Path)
    parser.add_argument("--half", action="store_true")
    given = parser.parse_args()
    if given.task is None:
        _bundled()
        return
    if hasattr(os, "nice"):
        # Visitors come first.
        os.nice(5)
    from models.engine.convert import save_graphs
    from models.loading.network import load_network

    save_graphs(load_network(given.task, given.weights, given.trunk), given.to, half=given.half)


def _bundled() -> None:
    from models.engine.choice import has_openvino, prepare
    from models.registry import REGISTRY

    bundled = [each for each in REGISTRY.values() if not each.hub_id]
    if not has_openvino():
        print("OpenVINO is not installed: answers are computed by PyTorch.")
        return
    for number, checkpoint in enumerate(bundled, start=1):
        print(f"\rPreparing bundled models: {number} of {len(bundled)}", end="", flush=True)
        prepare(checkpoint)
    print()


if __name__ == "__main__":
    main()
