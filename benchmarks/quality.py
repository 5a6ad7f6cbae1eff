"""How good a checkpoint is on a file: `python -m benchmarks.quality --task TASK --data FILE [--json]`.

The file's format goes with the task: fill-mask, plain text; text-classification, `sentence<TAB>label` under a header;
question-answering, SQuAD JSON of version 1 or 2; translation, `source<TAB>reference`; text-generation, plain text.
Text may be packed as `.xz`. Every checkpoint of the registry can be measured, bundled or published.
"""

import argparse
import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoTokenizer

from evaluation.masking import masked, packed
from evaluation.metrics import calibration_error, exact_match, f1
from evaluation.perplexity import losses
from models import load_model
from models.registry import Task, find
from models.tasks.base import AnyTaskModel
from training import text

Figures = dict[str, float]
SEED = 1
ROWS_AT_ONCE = 16


def fill_mask(model: AnyTaskModel, data: Path, limit: int) -> Figures:
    """Top-1 and top-5 shares of the chosen pieces, in percent, over `limit` rows of 128 pieces."""
    tokenizer, generator = AutoTokenizer.from_pretrained(model.folder), torch.Generator().manual_seed(SEED)
    wanted = limit * 1000
    paragraphs = [line for line in text.read_text(data)[:wanted].splitlines() if line.strip()]
    rows = packed(tokenizer(paragraphs, add_special_tokens=False, verbose=False)["input_ids"], tokenizer)[:limit]
    total, top1, top5 = 0, 0, 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        ids = torch.from_numpy(rows[start : start + ROWS_AT_ONCE]).long()
        shown, chosen = masked(ids, generator, tokenizer)
        logits = model.network(input_ids=shown.to(model.network.device)).logits.cpu()[chosen]
        hits = logits.topk(5).indices == ids[chosen][:, None]
        total, top1, top5 = total + len(hits), top1 + int(hits[:, 0].sum()), top5 + int(hits.sum())
    return {"masked": total, "top1": 100 * top1 / total, "top5": 100 * top5 / total}


def text_classification(model: AnyTaskModel, data: Path, limit: int) -> Figures:
    """Accuracy in percent and the expected calibration error, ten bins; label 1 is the checkpoint's second one."""
    scores, right = [], []
    for sentence, label in text.read_sst2(data)[:limit]:
        output = model(text=sentence)
        scores.append(max(candidate.score for candidate in output.scores))
        right.append(output.label == model.settings.labels[label])
    accuracy = 100 * sum(right) / len(right)
    return {"examples": len(right), "accuracy": accuracy, "calibration_error": calibration_error(scores, right)}


def question_answering(model: AnyTaskModel, data: Path, limit: int) -> Figures:
    """EM and F1 in percent, official normalisation; where the file has unanswerable questions, also with no answer."""
    questions = text.read_squad(data)
    if limit < len(questions):
        questions = random.Random(SEED).sample(questions, limit)
    answerable, decided, shown = [], [], []
    for question in questions:
        output = model(question=question.question, context=question.context, top_k=1)
        best = output.answers[0].text if output.answers else ""
        given = best if output.answered else ""
        shown.append(output.answers[0].score if output.answered else output.no_answer_score)
        decided.append((exact_match(given, question.answers), f1(given, question.answers)))
        if question.answers:
            answerable.append((exact_match(best, question.answers), f1(best, question.answers)))
    right = [match > 0 for match, _ in decided]
    figures: Figures = {"questions": len(questions)} | _shares(answerable, "")
    figures["calibration_error"] = calibration_error(shown, right)
    if len(answerable) < len(questions):
        figures |= {"unanswerable": len(questions) - len(answerable)} | _shares(decided, "_no_answer_decided")
    return figures


def _shares(pairs: list[tuple[float, float]], suffix: str) -> Figures:
    count = max(1, len(pairs))
    matches, overlaps = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return {f"exact_match{suffix}": 100 * matches / count, f"f1{suffix}": 100 * overlaps / count}


def translation(model: AnyTaskModel, data: Path, limit: int) -> Figures:
    """BLEU and chrF as sacreBLEU computes them, of the best of four beams."""
    from sacrebleu import corpus_bleu, corpus_chrf

    pairs = [line.split("\t") for line in text.read_text(data).splitlines() if "\t" in line]
    if limit < len(pairs):
        pairs = random.Random(SEED).sample(pairs, limit)
    found = [model(text=pair[0], num_beams=4).translations[0].text for pair in pairs]
    references = [[pair[1] for pair in pairs]]
    bleu, chrf = corpus_bleu(found, references), corpus_chrf(found, references)
    return {"sentences": len(pairs), "bleu": bleu.score, "chrf": chrf.score}


def text_generation(model: AnyTaskModel, data: Path, limit: int) -> Figures:
    """Perplexity per word and loss per piece over the first `limit` words."""
    words = text.read_text(data).split(" ")[:limit]
    content = " ".join(words)
    loss, pieces = losses(model.network, AutoTokenizer.from_pretrained(model.folder), content)
    count = len(content.split())
    return {"words": count, "loss_per_piece": loss / pieces, "perplexity_per_word": math.exp(loss / count)}


MEASURES: dict[Task, tuple[Callable[[AnyTaskModel, Path, int], Figures], int]] = {
    Task.FILL_MASK: (fill_mask, 400),
    Task.SENTIMENT: (text_classification, 100_000),
    Task.QUESTION_ANSWERING: (question_answering, 100_000),
    Task.TRANSLATION: (translation, 2_000),
    Task.COMPLETION: (text_generation, 100_000),
}


def measure(task: Task, checkpoint: str, data: Path, limit: int | None = None) -> dict[str, str | float]:
    """The figures of `checkpoint` ("" for the bundled one) on `data`, with what was measured."""
    function, usual = MEASURES[task]
    name = find(checkpoint, task).name
    model = load_model(name)
    with torch.inference_mode():
        figures = function(model, data, limit or usual)
    rounded = {measured: round(value, 2) for measured, value in figures.items()}
    return {"task": task.value, "checkpoint": name, "revision": model.identity.revision, "data": data.name} | rounded


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=Task, choices=list(Task), required=True, help="the task, by its Hub name")
    parser.add_argument("--data", type=Path, required=True, help="the file to measure on")
    parser.add_argument("--checkpoint", default="", help="a name of the registry; the bundled checkpoint by default")
    parser.add_argument("--limit", type=int, help="how many rows, sentences or questions to take at most")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    given = parser.parse_args()
    figures = measure(given.task, given.checkpoint, given.data, given.limit)
    if given.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:28} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
