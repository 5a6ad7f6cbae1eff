"""Measure a checkpoint's quality on a file: `python -m benchmarks.quality --task TASK --data FILE [--json]`.

The file's format depends on the task: fill-mask, plain text; text-classification, `sentence<TAB>label` under a header;
question-answering, SQuAD JSON of version 1 or 2; token-classification, CoNLL-2003's columns; sentence-similarity,
`a<TAB>b<TAB>label`; translation, `source<TAB>reference`; text-generation, plain text. Text may be compressed as `.xz`.
Every checkpoint of the registry can be measured, bundled or published.
"""

import argparse
import json
import random
from pathlib import Path
from typing import TypeVar

from evaluation import measures
from models import load_model
from models.registry import Task, find
from models.tasks.base import AnyTaskModel
from training import pairs, text

SEED = 1
MASKED_ROWS, PAIRS, WORDS = 400, 2_000, 100_000
"""The most rows, pairs and words that are measured without `--limit`."""

Item = TypeVar("Item")


def some(items: list[Item], limit: int) -> list[Item]:
    """At most `limit` of `items`, drawn at random."""
    return random.Random(SEED).sample(items, limit) if limit < len(items) else items


def figures_of(task: Task, model: AnyTaskModel, data: Path, limit: int | None) -> measures.Figures:
    """The figures of `model` on the file `data`, in the format of its task."""
    match task:
        case Task.FILL_MASK:
            rows = limit or MASKED_ROWS
            paragraphs = [line for line in text.read_text(data)[: 1000 * rows].splitlines() if line.strip()]
            return measures.fill_mask(model, paragraphs, rows)
        case Task.SENTIMENT:
            return measures.text_classification(model, text.read_sst2(data)[:limit])
        case Task.QUESTION_ANSWERING:
            questions = text.read_squad(data)
            return measures.question_answering(model, some(questions, limit or len(questions)))
        case Task.NAMES:
            sentences = text.read_conll(data)
            return measures.names(model, some(sentences, limit or len(sentences)))
        case Task.SENTENCE_PAIR:
            # A file is named after its data set; those with two labels use 1 for a paraphrase, which is our label 0.
            kind = data.stem.partition("_")[0]
            labels = (1, 0) if kind in ("mrpc", "quora") else (0, 1, 2)
            told = [(row.a, row.b, row.label) for row in pairs.read_rows(data, labels)]
            return measures.sentence_pairs(model, {kind: some(told, limit or len(told))})
        case Task.TRANSLATION:
            return measures.translation(model, some(text.read_pairs(data), limit or PAIRS))
        case Task.COMPLETION:
            words = text.read_text(data).split(" ")[: limit or WORDS]
            return measures.text_generation(model, " ".join(words))
        case _:
            raise ValueError(f"nothing is measured for {task}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--task",
        type=Task,
        choices=[each for each in Task if each.answered_by is each and each.kinds],
        required=True,
        help="the task, by its Hub name",
    )
    parser.add_argument("--data", type=Path, required=True, help="the file to measure on")
    parser.add_argument("--checkpoint", default="", help="a name of the registry; the bundled checkpoint by default")
    parser.add_argument("--limit", type=int, help="how many rows, sentences, questions or words to take at most")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    given = parser.parse_args()
    model = load_model(find(given.checkpoint, given.task).name)
    figures: dict[str, str | float] = {
        "task": given.task.value,
        "checkpoint": model.identity.name,
        "revision": model.identity.revision,
        "data": given.data.name,
    }
    for name, value in figures_of(given.task, model, given.data, given.limit).items():
        figures[name] = round(value, 2)
    print(json.dumps(figures) if given.json else "\n".join(f"{name:28} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
