"""Question answering: an adapter that points at the answer, or at `[CLS]` where the text holds none (SQuAD 2.0).

Two stages: short questions on single sentences and questions on fairy tales teach what an answer looks like; then
SQuAD's paragraphs, questions without an answer among them. Whole articles are kept out to measure and calibrate on.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertForQuestionAnswering, PreTrainedTokenizerBase

from benchmarks.metrics import exact_match, f1
from benchmarks.probes import OF_CARDS, bundled_share
from models.tasks import Task
from training import text
from training.adapters import (
    adapter_of,
    freeze_but,
    optimizer_of,
    save_adapter,
    shuffled_batches,
    trunk_tokenizer,
)
from training.calibration import BIASES, calibrate_questions
from training.cards import CHECKPOINTS, Card, Source, write_card
from training.loop import Batch, Plan, device, record, train
from training.masked_lm import NAME as TRUNK
from training.spans import Feature, collate, encode
from training.text import Question

NAME = "clearhead-qa"
RANK = 128
RATE = 1.4e-4
SENTENCE_BATCH = 32
PARAGRAPH_BATCH = 16
SENTENCE_QUESTIONS_AGAIN = 2_000
PARAGRAPH_EPOCHS = 2
HEADS = ["qa_outputs"]
HELD_OUT_ARTICLES = 7
QUICK_LOOK = 200
LONGEST_ANSWER = 30
SEED = 5


@dataclass(frozen=True)
class Material:
    """Questions to train on, by stage, and the questions on articles kept out, of SQuAD's two versions."""

    sentences: list[Question]
    paragraphs: list[Question]
    development: list[Question]
    development_v2: list[Question]


def held_out_titles(questions: list[Question]) -> frozenset[str]:
    """The articles kept out, the same ones every time."""
    titles = sorted({question.title for question in questions})
    return frozenset(random.Random(SEED).sample(titles, HELD_OUT_ARTICLES))


def apart(questions: list[Question], titles: frozenset[str], held_out: frozenset[str]) -> list[Question]:
    """The questions that are on none of the articles `titles` and share no sentence with the text `held_out`."""
    clean: dict[str, bool] = {}
    for question in questions:
        if question.context not in clean:
            sentences = text.fingerprint([question.context]) | {text.normalised(question.context)}
            clean[question.context] = held_out.isdisjoint(sentences)
    return [question for question in questions if question.title not in titles and clean[question.context]]


def read_material(data: Path) -> Material:
    """All the questions, those on the held-out articles (and on sentences that occur there) set apart."""
    squad = text.read_squad(data / "qa/squad_v1_articles.json")
    squad_v2 = text.read_squad(data / "qa/squad_v2_articles.json")
    titles = held_out_titles(squad_v2)
    development = [question for question in squad if question.title in titles]
    development_v2 = [question for question in squad_v2 if question.title in titles]
    held_out = text.fingerprint({question.context for question in development + development_v2})
    qamr = [question for part in (1, 2) for question in text.read_squad(data / f"qa/qamr_{part}.json")]
    qamr = apart(qamr, titles, held_out)
    tales = apart(text.read_squad(data / "qa/fairytaleqa_train.json"), titles, held_out)
    unanswerable = apart([question for question in squad_v2 if not question.answers], titles, held_out)
    again = random.Random(SEED).sample(qamr, min(SENTENCE_QUESTIONS_AGAIN, len(qamr)))
    paragraphs = apart(squad, titles, held_out) + unanswerable + again
    return Material(qamr + tales, paragraphs, development, development_v2)


def schedule(stages: list[tuple[list[Feature], int]]) -> list[list[Feature]]:
    """The batches of all stages in order; each stage is its features, once, and its batch size."""
    return [
        [features[index] for index in indices]
        for number, (features, size) in enumerate(stages)
        for indices in shuffled_batches([len(feature.ids) for feature in features], size, SEED + number)
    ]


def batches(ordered: list[list[Feature]], step: int) -> Iterator[Batch]:
    """The batches of the schedule from step `step` on."""
    return (collate(features) for features in ordered[step:])


def logits_of(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Start and end logits [row, token], minus infinity on padding."""
    output = model(**{name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")})
    padding = batch["attention_mask"] == 0
    return (
        output.start_logits.float().masked_fill(padding, -torch.inf),
        output.end_logits.float().masked_fill(padding, -torch.inf),
    )


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Mean of the cross-entropies of the first and the last token."""
    starts, ends = logits_of(model, batch)
    cross_entropy = nn.functional.cross_entropy
    return (cross_entropy(starts, batch["starts"]) + cross_entropy(ends, batch["ends"])) / 2


@dataclass(frozen=True)
class Guess:
    """The best span's text and by how much its score exceeds that of no answer."""

    text: str
    margin: float


def guesses(model: nn.Module, questions: list[Question], tokenizer: PreTrainedTokenizerBase) -> list[Guess]:
    """The best span of each question, contexts cut at the model's window."""
    order = sorted(range(len(questions)), key=lambda number: len(questions[number].context))
    found: dict[int, Guess] = {}
    for at in range(0, len(order), 32):
        part = [questions[number] for number in order[at : at + 32]]
        encoded = tokenizer(
            [question.question for question in part],
            [question.context for question in part],
            truncation="only_second",
            max_length=512,
            padding=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").tolist()
        batch = {name: tensor.to(device()) for name, tensor in encoded.items()}
        with torch.autocast(device().type, dtype=torch.bfloat16):
            starts, ends = (logits.cpu() for logits in logits_of(model, batch))
        for row, number in enumerate(order[at : at + 32]):
            inside = torch.tensor([side == 1 for side in encoded.sequence_ids(row)])
            scores = starts[row][:, None] + ends[row][None, :]
            scores = scores.masked_fill(~(inside[:, None] & inside[None, :]), -torch.inf)
            scores = scores.masked_fill(~torch.ones_like(scores).bool().triu().tril(LONGEST_ANSWER - 1), -torch.inf)
            first, last = divmod(int(scores.argmax()), scores.shape[1])
            span = questions[number].context[offsets[row][first][0] : offsets[row][last][1]]
            found[number] = Guess(span, float(scores[first, last] - starts[row, 0] - ends[row, 0]))
    return [found[number] for number in range(len(questions))]


def measured(
    model: nn.Module, material: Material, tokenizer: PreTrainedTokenizerBase, size: int | None
) -> dict[str, float]:
    """EM and F1 in percent on `size` held-out questions of version 1; F1 of version 2 with the best threshold."""
    chance = random.Random(SEED)
    first = chance.sample(material.development, min(size or 10**6, len(material.development)))
    second = chance.sample(material.development_v2, min(size or 10**6, len(material.development_v2)))
    figures = {}
    found = guesses(model, first, tokenizer)
    for name, metric in (("em", exact_match), ("f1", f1)):
        scores = [metric(guess.text, question.answers) for guess, question in zip(found, first, strict=True)]
        figures[name] = 100 * sum(scores) / len(scores)
    found = guesses(model, second, tokenizer)

    def decided(bias: float) -> float:
        answers = [guess.text if guess.margin > bias else "" for guess in found]
        return sum(f1(answer, question.answers) for answer, question in zip(answers, second, strict=True))

    figures["v2_f1"] = 100 * max(map(decided, BIASES)) / len(second)
    return figures


def build(data: Path, workdir: Path) -> None:
    """Train for question answering, cut the change to an adapter, and save it, calibrated, among the checkpoints."""
    torch.manual_seed(SEED)
    tokenizer = trunk_tokenizer()
    material = read_material(data)
    for name, questions in (("v1", material.development), ("v2", material.development_v2)):
        text.write_squad(questions, workdir / NAME / f"development_{name}.json")
    paragraphs = encode(material.paragraphs, tokenizer)
    stages = [(encode(material.sentences, tokenizer), SENTENCE_BATCH)]
    stages += [(paragraphs, PARAGRAPH_BATCH)] * PARAGRAPH_EPOCHS
    ordered = schedule(stages)
    model = over_trunk()
    freeze_but(model, HEADS)
    train(
        model,
        [optimizer_of(model, RATE)],
        partial(batches, ordered),
        loss_of,
        Plan(steps=len(ordered), warmup_steps=100, workdir=workdir / NAME),
        evaluate=lambda trained: measured(trained, material, tokenizer, QUICK_LOOK),
        evaluate_every=500,
    )
    adapter = adapter_of(model, over_trunk(), RANK, HEADS)
    save_adapter(adapter, CHECKPOINTS / NAME)
    with torch.inference_mode():
        figures = measured(adapter, material, tokenizer, None)
    calibration, error = calibrate_questions(NAME, material.development_v2)
    figures |= {"temperature": calibration.temperature, "bias": calibration.no_answer_bias, "error": error}
    figures["probes"] = bundled_share(Task.QUESTION_ANSWERING)
    record(workdir / NAME / "log.jsonl", figures)
    write_card(card(figures))


def over_trunk() -> BertForQuestionAnswering:
    """The trunk with a new head; each question is seen once or twice, which leaves dropout little to guard against."""
    model: BertForQuestionAnswering = BertForQuestionAnswering.from_pretrained(
        CHECKPOINTS / TRUNK,
        hidden_dropout_prob=0.05,
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    return model


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="question-answering",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"A LoRA adapter (rank {RANK}) with its span head over `{TRUNK}` that points at the answer to a question "
        "in a text; where the text holds none it points at `[CLS]`, as SQuAD 2.0 has it.",
        sources=(
            Source("QAMR, questions on single sentences", "MIT"),
            Source("FairytaleQA, questions whose answer stands in the text", "Apache-2.0"),
            Source("SQuAD 1.1 and 2.0, development articles", "CC BY-SA 4.0"),
            Source(f"{TRUNK}, the trunk", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/question_answering.py`: questions on sentences and fairy tales first, then SQuAD's "
        f"paragraphs, {PARAGRAPH_EPOCHS} times, with version 2's unanswerable ones among them; AdamW {RATE}, linear "
        f"decay, bfloat16 autocast. The blocks' matrices were trained whole and their change cut to rank {RANK}. "
        f"{HELD_OUT_ARTICLES} whole articles are kept out.",
        figures={
            "exact match, SQuAD 1.1 articles kept out, %": figures["em"],
            "F1, SQuAD 1.1 articles kept out, %": figures["f1"],
            "F1 with no answer decided, SQuAD 2.0 articles kept out, %": figures["v2_f1"],
            "temperature, fitted on the same articles": figures["temperature"],
            "bias of no answer, likewise": figures["bias"],
            "expected calibration error of the answer shown, with both, %": figures["error"],
            OF_CARDS: figures["probes"],
        },
        limits="It copies an answer from the text and neither counts nor reasons. Where the text holds no answer it "
        "often gives one all the same.",
    )
