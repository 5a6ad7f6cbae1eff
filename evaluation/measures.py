"""Measures of a model's quality on each task, computed from the answers that visitors get."""

import math
from collections.abc import Mapping, Sequence

import torch
from transformers import AutoTokenizer

from evaluation.masking import masked, packed
from evaluation.metrics import calibration_error, exact_match, f1, names_f1
from evaluation.perplexity import losses
from models.tasks.base import AnyTaskModel
from models.tasks.token_classification import class_of
from training.text import Marked, Pair, Question

Figures = dict[str, float]
ROWS_AT_ONCE = 16
SEED = 1


def fill_mask(model: AnyTaskModel, paragraphs: Sequence[str], limit: int) -> Figures:
    """Top-1 and top-5 accuracy on the chosen pieces, in percent, over at most `limit` rows of 128 pieces."""
    tokenizer, generator = AutoTokenizer.from_pretrained(model.folder), torch.Generator().manual_seed(SEED)
    rows = packed(tokenizer(list(paragraphs), add_special_tokens=False, verbose=False)["input_ids"], tokenizer)[:limit]
    places: list[int] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        ids = torch.from_numpy(rows[start : start + ROWS_AT_ONCE]).long()
        shown, chosen = masked(ids, generator, tokenizer)
        with torch.inference_mode():
            logits = model.network(input_ids=shown.to(model.network.device)).logits.cpu()[chosen]
        right = logits.gather(1, ids[chosen][:, None])
        places += (logits > right).sum(dim=1).tolist()
    top1, top5 = (100 * sum(place < size for place in places) / len(places) for size in (1, 5))
    return {"masked": len(places), "top1": top1, "top5": top5}


def text_classification(model: AnyTaskModel, rows: Sequence[tuple[str, int]]) -> Figures:
    """Accuracy in percent and the expected calibration error, ten bins; label 1 is the checkpoint's second one."""
    outputs = [(model(text=sentence), model.settings.labels[label]) for sentence, label in rows]
    right = [output.label == label for output, label in outputs]
    scores = [max(candidate.score for candidate in output.scores) for output, _ in outputs]
    accuracy = 100 * sum(right) / len(right)
    return {"examples": len(right), "accuracy": accuracy, "calibration_error": calibration_error(scores, right)}


def question_answering(model: AnyTaskModel, questions: Sequence[Question]) -> Figures:
    """SQuAD's exact match and F1 in percent: of answerable questions and, with "no answer" allowed, of all."""
    answerable, decided, shown = [], [], []
    for question in questions:
        output = model(question=question.question, context=question.context, top_k=1)
        best = output.answers[0].text if output.answers else ""
        given = best if output.answered else ""
        shown.append(output.answers[0].score if output.answered else output.no_answer_score)
        decided.append((exact_match(given, question.answers), f1(given, question.answers)))
        if question.answers:
            answerable.append((exact_match(best, question.answers), f1(best, question.answers)))
    match, overlap = _means(answerable or [(0.0, 0.0)])
    figures = {"questions": len(questions), "exact_match": match, "f1": overlap}
    figures["calibration_error"] = calibration_error(shown, [match > 0 for match, _ in decided])
    if len(answerable) < len(questions):
        match, overlap = _means(decided)
        figures |= {"unanswerable": len(questions) - len(answerable)}
        figures |= {"exact_match_no_answer_decided": match, "f1_no_answer_decided": overlap}
    return figures


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    matches, overlaps = (100 * sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return matches, overlaps


def names(model: AnyTaskModel, sentences: Sequence[Marked]) -> Figures:
    """The F1 of whole names in percent, exact spans as seqeval counts them, of all kinds together and of each."""
    found = [
        {(each.start, each.end, each.label) for each in model(text=sentence.text).entities} for sentence in sentences
    ]
    given = [
        {(start, end, class_of(kind).removeprefix("I-")) for start, end, kind in sentence.spans}
        for sentence in sentences
    ]
    kinds = sorted({kind for each in given for *_, kind in each})
    of_kind = {
        kind: names_f1(*([{name for name in each if name[2] == kind} for each in side] for side in (found, given)))
        for kind in kinds
    }
    return {"f1": names_f1(found, given), **of_kind}


def sentence_pairs(model: AnyTaskModel, sets: Mapping[str, Sequence[tuple[str, str, int]]]) -> Figures:
    """Figures in percent on `following`, `snli`, `sick`, `mrpc` and `quora`: rows of two texts and a label's index.

    The area under the ROC curve is the share of cases in which a paraphrase has a greater cosine than another pair.
    """
    found = {name: [(model(a=a, b=b), label) for a, b, label in rows] for name, rows in sets.items() if rows}
    figures: Figures = {}
    for name, pairs in found.items():
        if name in ("snli", "sick"):
            told = [max(range(3), key=lambda place: output.entailment[place].score) for output, _ in pairs]
        else:
            told = [int((output.follows if name == "following" else output.paraphrase) <= 0.5) for output, _ in pairs]
        right = [one == label for one, (_, label) in zip(told, pairs, strict=True)]
        figures[f"{name}, pairs"] = len(pairs)
        figures[f"{name}, accuracy, %"] = 100 * sum(right) / len(right)
        if name == "mrpc":
            both = sum(one == label == 0 for one, (_, label) in zip(told, pairs, strict=True))
            named = told.count(0) + sum(label == 0 for _, label in pairs)
            figures["mrpc, F1, %"] = 100 * 2 * both / max(1, named)
        if name in ("mrpc", "quora"):
            alike, others = ([output.similarity for output, label in pairs if label == side] for side in (0, 1))
            wins = sum((one > other) + (one == other) / 2 for one in alike for other in others)
            figures[f"{name}, area under the curve of the cosine, %"] = 100 * wins / max(1, len(alike) * len(others))
    for place, label in enumerate(("entailment", "neutral", "contradiction")):
        cosines = [output.similarity for output, told in found.get("sick", []) if told == place]
        figures[f"sick, mean cosine of {label}, x100"] = 100 * sum(cosines) / max(1, len(cosines))
    return figures


def translation(model: AnyTaskModel, pairs: Sequence[Pair]) -> Figures:
    """BLEU and chrF as sacreBLEU computes them, of the best of four beams."""
    from sacrebleu import corpus_bleu, corpus_chrf

    found = [model(text=pair.english, num_beams=4).translations[0].text for pair in pairs]
    references = [[pair.french for pair in pairs]]
    bleu, chrf = corpus_bleu(found, references), corpus_chrf(found, references)
    return {"sentences": len(pairs), "bleu": bleu.score, "chrf": chrf.score}


def text_generation(model: AnyTaskModel, content: str) -> Figures:
    """Perplexity per word and loss per piece."""
    loss, pieces = losses(model.network, AutoTokenizer.from_pretrained(model.folder), content)
    words = len(content.split())
    return {"words": words, "loss_per_piece": loss / pieces, "perplexity_per_word": math.exp(loss / words)}
