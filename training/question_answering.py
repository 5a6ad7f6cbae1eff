"""Question answering: the masked language model, fine-tuned whole to point at the answer to a question in a text.

Where the text holds no answer it points at `[CLS]` (SQuAD 2.0; Devlin et al., 2019, section 4.3). Short questions on
single sentences and on fairy tales first teach what an answer looks like; then come SQuAD's paragraphs, with questions
that they do not answer. Whole articles are kept out to measure and calibrate on.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertForQuestionAnswering, PreTrainedTokenizerBase

from evaluation.measures import question_answering
from evaluation.metrics import normalised_answer
from evaluation.probes import OF_CARDS, passed_share, verdicts
from models.registry import Task
from training import text
from training.calibration import calibrate_questions
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, adamw, development_loss, epochs_of, grouped_by_length, train
from training.text import Question
from training.trunk import TRUNK, padded, trunk_tokenizer, with_head

NAME = "clearhead-qa"
WINDOW, OVERLAP = 320, 96
BATCH_TOKENS = 3_500
SENTENCE_EPOCHS, SENTENCE_RATE = 1, 1.5e-4
PARAGRAPH_EPOCHS, PARAGRAPH_RATE = 3, 1.2e-4
SENTENCES_AGAIN = 6_000
"""The number of short questions that are trained on again among the paragraphs."""

HELD_OUT_ARTICLES = 7
DEVELOPMENT_BATCHES = 20
SEED = 5


@dataclass(frozen=True)
class QuestionData:
    """Questions to train on, and the questions on held-out articles, of SQuAD's two versions.

    `sentences` are on short texts, `paragraphs` on SQuAD's articles, unanswerable ones included.
    """

    sentences: list[Question]
    paragraphs: list[Question]
    development: list[Question]
    development_v2: list[Question]


def read_data(data: Path) -> QuestionData:
    """All questions, with those on held-out articles set apart, and none on sentences that occur there."""
    squad = text.read_squad(data / "qa/squad_v1_articles.json")
    squad_v2 = text.read_squad(data / "qa/squad_v2_articles.json")
    chance = random.Random(SEED)
    titles = frozenset(chance.sample(sorted({question.title for question in squad_v2}), HELD_OUT_ARTICLES))
    development, development_v2 = ([each for each in version if each.title in titles] for version in (squad, squad_v2))
    held_out = text.fingerprint({question.context for question in development + development_v2})
    names = ("qamr_1", "qamr_2", "fairytaleqa_train")
    short = [question for name in names for question in text.read_squad(data / f"qa/{name}.json")]
    sentences = apart(short, titles, held_out)
    unanswered = [question for question in squad_v2 if not question.answers]
    paragraphs = apart(squad + unanswered, titles, held_out)
    again = chance.sample(sentences, min(SENTENCES_AGAIN, len(sentences)))
    return QuestionData(sentences, paragraphs + again, development, development_v2)


def apart(questions: list[Question], titles: frozenset[str], held_out: frozenset[str]) -> list[Question]:
    """The questions that are on none of the articles `titles` and share no sentence with the text `held_out`."""
    contexts = {question.context for question in questions}
    clean = {
        context: held_out.isdisjoint(text.fingerprint([context]) | {text.normalised(context)}) for context in contexts
    }
    return [question for question in questions if question.title not in titles and clean[question.context]]


def span_to_learn(question: Question) -> tuple[int, int]:
    """The first character and the end (exclusive) of the answer that most people gave."""
    given = Counter(map(normalised_answer, question.answers))
    best = max(range(len(question.answers)), key=lambda place: given[normalised_answer(question.answers[place])])
    return question.starts[best], question.starts[best] + len(question.answers[best])


@dataclass(frozen=True)
class Feature:
    """One window as token ids and segment ids, with the first and the last token of its answer; 0, `[CLS]`, if none."""

    ids: list[int]
    segments: list[int]
    start: int
    end: int


def encode(questions: list[Question], tokenizer: PreTrainedTokenizerBase) -> list[Feature]:
    """The windows of every question; a window that does not hold the answer counts as unanswerable."""
    encoded = tokenizer(
        [question.question for question in questions],
        [question.context for question in questions],
        truncation="only_second",
        max_length=WINDOW,
        stride=OVERLAP,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    features = []
    for row, number in enumerate(encoded["overflow_to_sample_mapping"]):
        start, end = 0, 0
        if questions[number].answers:
            offsets, sides = encoded["offset_mapping"][row], encoded.sequence_ids(row)
            start, end = answer_tokens(offsets, sides, *span_to_learn(questions[number]))
        features.append(Feature(encoded["input_ids"][row], encoded["token_type_ids"][row], start, end))
    return features


def answer_tokens(offsets: list[tuple[int, int]], sides: list[int | None], first: int, last: int) -> tuple[int, int]:
    """The first and last token of the context's characters `first` to `last` (exclusive); 0, 0 if some are missing."""
    inside = [index for index, side in enumerate(sides) if side == 1]
    starts = [index for index in inside if offsets[index][0] <= first < offsets[index][1]]
    ends = [index for index in inside if offsets[index][0] < last <= offsets[index][1]]
    return (starts[0], ends[-1]) if starts and ends else (0, 0)


def lengths_of(features: list[Feature]) -> list[int]:
    """The number of tokens of each feature."""
    return [len(feature.ids) for feature in features]


def batches(features: list[Feature], step: int) -> Iterator[Batch]:
    """Endless batches from `step` on: ids, segments, mask [row, token], and the answers' first and last token [row]."""
    for places in epochs_of(lengths_of(features), BATCH_TOKENS, SEED, step):
        chosen = [features[place] for place in places]
        yield {
            "input_ids": padded(each.ids for each in chosen),
            "token_type_ids": padded(each.segments for each in chosen),
            "attention_mask": padded([1] * len(each.ids) for each in chosen),
            "starts": torch.tensor([each.start for each in chosen]),
            "ends": torch.tensor([each.end for each in chosen]),
        }


def loss_of(model: BertForQuestionAnswering, batch: Batch) -> Tensor:
    """Mean of the cross-entropies of the first and the last token, over all tokens but padding."""
    output = model(**{name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")})
    padding = batch["attention_mask"] == 0
    starts, ends = (
        functional.cross_entropy(logits.float().masked_fill(padding, -torch.inf), batch[side])
        for logits, side in ((output.start_logits, "starts"), (output.end_logits, "ends"))
    )
    return (starts + ends) / 2


def build(data: Path, workdir: Path) -> None:
    """Train the question-answering model, save it, calibrate it, measure it and write its card."""
    torch.manual_seed(SEED)
    tokenizer, material = trunk_tokenizer(), read_data(data)
    for version, kept_out in (("v1", material.development), ("v2", material.development_v2)):
        text.write_squad(kept_out, workdir / NAME / f"development_{version}.json")

    network = with_head(BertForQuestionAnswering)
    unseen = list(islice(batches(encode(material.development_v2, tokenizer), 0), DEVELOPMENT_BATCHES))
    for stage, questions, epochs, rate in (
        ("sentences", material.sentences, SENTENCE_EPOCHS, SENTENCE_RATE),
        ("paragraphs", material.paragraphs, PARAGRAPH_EPOCHS, PARAGRAPH_RATE),
    ):
        features = encode(questions, tokenizer)
        steps = epochs * len(grouped_by_length(lengths_of(features), BATCH_TOKENS, SEED))
        train(
            network,
            [adamw(network, rate)],
            lambda step, features=features: batches(features, step),  # type: ignore[misc]
            loss_of,
            Plan(steps=steps, warmup_steps=steps // 20, workdir=workdir / NAME / stage),
            evaluate=development_loss(loss_of, unseen),
            evaluate_every=500,
        )

    model = save(network, tokenizer, NAME)
    calibration = calibrate_questions(model, material.development_v2)
    first, second = (question_answering(model, each) for each in (material.development, material.development_v2))
    figures = {
        "exact match, SQuAD 1.1 articles kept out, %": first["exact_match"],
        "F1, SQuAD 1.1 articles kept out, %": first["f1"],
        "F1 with no answer decided, SQuAD 2.0 articles kept out, %": second["f1_no_answer_decided"],
        "temperature, fitted on the same articles": calibration.temperature,
        "scale of the odds that there is an answer, likewise": calibration.answerable_scale,
        "their bias, likewise": calibration.answerable_bias,
        "expected calibration error on SQuAD 2.0, where half of the questions have no answer, %": (
            second["calibration_error"]
        ),
        "the same on SQuAD 1.1, where all have one, %": first["calibration_error"],
        OF_CARDS: passed_share(verdicts(Task.QUESTION_ANSWERING, model)),
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="question-answering",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"`{TRUNK}` with a span head: it points at the answer to a question in a text; where the text holds none "
        "it points at `[CLS]`, as SQuAD 2.0 has it.",
        sources=(
            Credit("QAMR, questions on single sentences", "MIT"),
            Credit("FairytaleQA, questions whose answer stands in the text", "Apache-2.0"),
            Credit("SQuAD 1.1 and 2.0, development articles", "CC BY-SA 4.0"),
            Credit(f"{TRUNK}, which training started from", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/question_answering.py`: all weights but the embeddings fine-tuned in batches of about "
        f"{BATCH_TOKENS} tokens; AdamW, linear decay, bfloat16 autocast. Questions on sentences and fairy tales first "
        f"({SENTENCE_EPOCHS} epoch, {SENTENCE_RATE}), then SQuAD's paragraphs with version 2's unanswerable questions "
        f"and {SENTENCES_AGAIN:,} of the short ones ({PARAGRAPH_EPOCHS} epochs, {PARAGRAPH_RATE}). "
        f"{HELD_OUT_ARTICLES} whole articles are kept out.",
        figures=figures,
        limits="It copies an answer from the text and neither counts nor reasons. Whether the text answers at all it "
        "often gets wrong, either way.",
    )
