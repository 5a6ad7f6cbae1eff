"""Judge the bundled checkpoints on the probes: `python -m evaluation.probes [--split kept] [--failed]`."""

import argparse
from collections.abc import Sequence

from evaluation.probes import FILES, JUDGED, Verdict, passed_share, probes_of, verdicts
from models import load_model
from models.registry import REGISTRY, Task


def lines(task: Task, found: Sequence[Verdict], failed: bool = False) -> list[str]:
    """A line for each split with the number of verdicts that passed; then, if `failed`, each that did not pass."""
    parts = {split: [each for each in found if each.split == split] for split in ("open", "kept")}
    counted = [
        f"{FILES[task]:18} {split:6} {sum(each.passed for each in part):3}/{len(part):<4} {passed_share(part):5.1f} %"
        for split, part in parts.items()
        if part
    ]
    wrong = [f"    {each.kind}: {each.asked} -> {each.answer}" for each in found if failed and not each.passed]
    return counted + wrong


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=["open", "kept", "all"], default="open", help="a third is kept for the end")
    parser.add_argument("--checkpoint", choices=sorted(REGISTRY), help="one checkpoint instead of the bundled ones")
    parser.add_argument("--failed", action="store_true", help="list what failed, with what was said")
    given = parser.parse_args()
    asked = {task: task.endpoint for task in JUDGED}
    if given.checkpoint:
        asked = {REGISTRY[given.checkpoint].task: given.checkpoint}
    for task, name in asked.items():
        if task in JUDGED:
            print(*lines(task, verdicts(task, load_model(name), given.split), given.failed), sep="\n")
        else:
            print(f"{FILES[task]:18} {given.split:6} {len(probes_of(task, given.split)):3} to be judged by reading")


if __name__ == "__main__":
    main()
