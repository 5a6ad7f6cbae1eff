"""Rebuild the bundled checkpoints: `python -m training --data DIR [--task TASK] [--workdir DIR]`.

DIR holds the data as public sources publish it; each script says which files it reads. An interrupted run resumes from
the state that it last saved under the work folder; delete that folder to begin again. Sentiment, question answering,
names and sentence pairs start from the masked language model. `word-vectors` and `which-layer` make files for the tab
One word, and `perplexity-by-window` measures the cost of short windows for the tab Inside.
"""

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import torch

SCRIPTS = {
    "fill-mask": "masked_lm",
    "text-classification": "sentiment",
    "question-answering": "question_answering",
    "token-classification": "names",
    "sentence-similarity": "pairs",
    "translation": "translation",
    "text-generation": "text_generation",
    "word-vectors": "word_vectors",
    "which-layer": "which_layer",
    "perplexity-by-window": "perplexity_by_window",
    "written-by": "written_by",
    "before-transformers": "before",
    "single-cells": "characters",
    "early-translators": "early_translators",
}
"""The scripts by what they make: checkpoints, by the Hub's task names, and files for other tabs."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="the folder with the data")
    parser.add_argument("--task", default="all", choices=["all", *SCRIPTS], help="what to rebuild; all by default")
    parser.add_argument("--workdir", default=Path("work"), type=Path, help="where states and logs live; ./work")
    parser.add_argument("--threads", type=int, help="how many CPU threads to use; all by default")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    # Optimizer states decay into denormal numbers, which slow a CPU down.
    torch.set_flush_denormal(True)
    for task in SCRIPTS if given.task == "all" else [given.task]:
        build: Callable[[Path, Path], None] = import_module(f"training.{SCRIPTS[task]}").build
        build(given.data, given.workdir)


if __name__ == "__main__":
    main()
