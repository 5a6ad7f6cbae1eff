"""Question answering: blocks that point at the answer, or at `[CLS]` where the text holds none (SQuAD 2.0).

The published encoder's blocks learn it better than the trunk's, which filling blanks has changed; of the trunk there
are only the embeddings. Two stages: short questions on single sentences and questions on fairy tales teach what an
answer looks like; then SQuAD's paragraphs, questions without an answer among them, people's own and made ones, the
made ones anew each time. Whole articles are kept out to measure and calibrate on.
"""

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertForQuestionAnswering, PreTrainedModel, PreTrainedTokenizerBase

from evaluation.metrics import exact_match, f1
from evaluation.probes import OF_CARDS, bundled_share
from models.registry import Task
from training import text
from training.adapters import (
    Adversarial,
    Headed,
    adapter_of,
    input_moments,
    mean_of,
    mean_of_runs,
    optimizer_of,
    save_adapter,
    shuffled_batches,
    trunk_tokenizer,
)
from training.calibration import calibrate_questions
from training.cards import CHECKPOINTS, Card, Credit, write_card
from training.loop import Batch, Plan, device, record, train
from training.masked_lm import NAME as TRUNK
from training.questions import Feature, agreed, collate, encode, unanswerable
from training.text import Question

NAME = "clearhead-qa"
RANK = 208
SENTENCE_BATCH = 32
PARAGRAPH_BATCH = 16
SENTENCES_AGAIN, SENTENCES_TURNED, PARAGRAPHS_TURNED = 6_000, 2_800, 3_500
"""Of the short questions and of those made without an answer, how many are read with the paragraphs each time."""

ROUNDS = ((1, 1.4e-4), (2, 1.1e-4), (1, 8e-5), (1, 7e-5), (1, 7e-5), (1, 7e-5))
"""How often the paragraphs are read in each round, and its peak rate, which decays to zero."""

SHARES = (0.1, 0.14, 0.16, 0.3, 0.3)
"""What the ends of the last rounds weigh in their mean."""

STEADYING_RUNS, STEADYING_RATE, MOVED_SHARE = 2, 6e-5, 0.01
STEADYING_QUESTIONS = 4_400
"""Then so many questions with an answer, and all that people asked without, against small changes of their vectors."""

# Each question is seen a few times only, which leaves dropout little to guard against.
HEADED = Headed(BertForQuestionAnswering, parts=("qa_outputs",), dropout=0.05)
INPUTS = ("input_ids", "token_type_ids", "attention_mask")
HELD_OUT_ARTICLES = 7
QUICK_LOOK = 200
SAMPLE_BATCHES = 32
LONGEST_ANSWER = 30
MARGINS = tuple(half / 2 for half in range(-8, 17))
SEED = 5

Loss = Callable[[nn.Module, Batch], Tensor]


@dataclass(frozen=True)
class Material:
    """Questions to train on, and the questions on articles kept out, of SQuAD's two versions.

    `sentences` are on short texts; `articles` have an answer in their paragraph and `unanswered` none.
    """

    sentences: list[Question]
    articles: list[Question]
    unanswered: list[Question]
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
    unanswered = apart([question for question in squad_v2 if not question.answers], titles, held_out)
    articles = apart(squad, titles, held_out)
    return Material(qamr + tales, articles, unanswered, development, development_v2)


def paragraphs_of(material: Material, seed: int) -> list[Question]:
    """What is read in one pass: paragraphs, short texts again, and questions without an answer, old and newly made."""
    chance = random.Random(seed)

    def some(questions: list[Question], count: int) -> list[Question]:
        return chance.sample(questions, min(count, len(questions)))

    again = some(material.sentences, SENTENCES_AGAIN)
    made = some(unanswerable(material.articles, seed), PARAGRAPHS_TURNED)
    turned = some(unanswerable(again, seed), SENTENCES_TURNED)
    # People's own questions without an answer are the ones that matter, and few.
    return [*map(agreed, material.articles + again), *material.unanswered * 2, *made, *turned]


def steadying_of(material: Material, seed: int) -> list[Question]:
    """What is read against changes: as many questions with an answer as without, nearly, all of them people's own."""
    chosen = random.Random(seed).sample(material.articles, min(STEADYING_QUESTIONS, len(material.articles)))
    return [*map(agreed, chosen), *material.unanswered]


def schedule(stages: list[tuple[list[Feature], int]], seed: int = SEED) -> list[list[Feature]]:
    """The batches of all stages in order; each stage is its features, once, and its batch size."""
    return [
        [features[index] for index in indices]
        for number, (features, size) in enumerate(stages)
        for indices in shuffled_batches([len(feature.ids) for feature in features], size, seed + number)
    ]


def batches(ordered: list[list[Feature]], step: int) -> Iterator[Batch]:
    """The batches of the schedule from step `step` on."""
    return (collate(features) for features in ordered[step:])


def logits_of(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Start and end logits [row, token], minus infinity on padding."""
    output = model(**{name: batch[name] for name in INPUTS})
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
class Predicted:
    """The best span's text and by how much its score exceeds that of no answer."""

    text: str
    margin: float


def guesses(model: nn.Module, questions: list[Question], tokenizer: PreTrainedTokenizerBase) -> list[Predicted]:
    """The best span of each question, contexts cut at the model's window."""
    order = sorted(range(len(questions)), key=lambda number: len(questions[number].context))
    found: dict[int, Predicted] = {}
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
            found[number] = Predicted(span, float(scores[first, last] - starts[row, 0] - ends[row, 0]))
    return [found[number] for number in range(len(questions))]


def measured(
    model: nn.Module, material: Material, tokenizer: PreTrainedTokenizerBase, size: int | None
) -> dict[str, float]:
    """A look on the way: EM and F1 in percent on `size` questions of version 1; F1 of version 2, threshold fitted."""
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

    figures["v2_f1"] = 100 * max(map(decided, MARGINS)) / len(second)
    return figures


def build(data: Path, workdir: Path) -> None:
    """Train for question answering and save an adapter, calibrated, among the checkpoints."""
    torch.manual_seed(SEED)
    tokenizer = trunk_tokenizer()
    material = read_material(data)
    for name, questions in (("v1", material.development), ("v2", material.development_v2)):
        text.write_squad(questions, workdir / NAME / f"development_{name}.json")
    model = HEADED.over_embeddings()

    def learn(ordered: list[list[Feature]], loss: Loss, rate: float, stage: str) -> None:
        train(
            model,
            [optimizer_of(model, rate)],
            partial(batches, ordered),
            loss,
            Plan(steps=len(ordered), warmup_steps=60, workdir=workdir / NAME / stage),
            evaluate=lambda trained: measured(trained, material, tokenizer, QUICK_LOOK),
            evaluate_every=500,
        )

    stages = [(encode(material.sentences, tokenizer), SENTENCE_BATCH)]
    ends = []
    for number, (passes, rate) in enumerate(ROUNDS):
        seed = SEED + 10 * number
        for again in range(passes):
            stages.append((encode(paragraphs_of(material, seed + again), tokenizer), PARAGRAPH_BATCH))
        learn(schedule(stages, seed), loss_of, rate, f"round{number + 1}")
        ends.append(copy.deepcopy(model.state_dict()))
        stages = []
    model.load_state_dict(mean_of(ends[-len(SHARES) :], SHARES))
    orders = [
        schedule([(encode(steadying_of(material, seed), tokenizer), PARAGRAPH_BATCH)], seed)
        for seed in range(SEED + 100, SEED + 100 + STEADYING_RUNS)
    ]
    loss = Adversarial(model.base_model.get_submodule("embeddings"), loss_of, MOVED_SHARE)
    mean_of_runs(
        model, [partial(learn, each, loss, STEADYING_RATE, f"steadying{run}") for run, each in enumerate(orders, 1)]
    )
    save_measured(model, orders[-1][-SAMPLE_BATCHES:], material, workdir / NAME / "log.jsonl")


def save_measured(
    model: PreTrainedModel,
    sample: list[list[Feature]],
    material: Material,
    log_file: Path,
) -> None:
    """Cut the trained model to an adapter, by what it makes of `sample`; save, measure and calibrate it."""
    inputs = ({name: batch[name] for name in INPUTS} for batch in map(collate, sample))
    adapter = adapter_of(model, HEADED.on_trunk(), RANK, HEADED.parts, input_moments(model, inputs))
    save_adapter(adapter, CHECKPOINTS / NAME)
    figures = calibrate_questions(NAME, material.development, material.development_v2)
    figures["probes"] = bundled_share(Task.QUESTION_ANSWERING)
    record(log_file, figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="question-answering",
        languages=("en",),
        license="apache-2.0",
        base_model=TRUNK,
        what=f"An adapter over `{TRUNK}` with blocks of its own and a span head: it points at the answer to a question "
        "in a text; where the text holds none it points at `[CLS]`, as SQuAD 2.0 has it.",
        sources=(
            Credit("QAMR, questions on single sentences", "MIT"),
            Credit("FairytaleQA, questions whose answer stands in the text", "Apache-2.0"),
            Credit("SQuAD 1.1 and 2.0, development articles", "CC BY-SA 4.0"),
            Credit("all-MiniLM-L6-v2, whose blocks training started from", "Apache-2.0"),
            Credit(f"{TRUNK}, whose embeddings it uses", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/question_answering.py`: questions on sentences and fairy tales first, then SQuAD's "
        f"paragraphs, {sum(passes for passes, _ in ROUNDS)} times in {len(ROUNDS)} rounds, with version 2's "
        "unanswerable ones among them and such as were made by exchanging a name, a number or a word for its opposite; "
        f"AdamW, rates from {ROUNDS[0][1]} down, each decaying to zero, bfloat16 autocast. The last {len(SHARES)} "
        f"rounds' ends are averaged; then {STEADYING_QUESTIONS:,} questions with an answer and people's own without "
        f"are read once more, their vectors moved against the model by {MOVED_SHARE} of their length, AdamW "
        f"{STEADYING_RATE}, {STEADYING_RUNS} runs averaged. The feed-forward layers' difference from the trunk's is "
        f"cut to rank {RANK}. {HELD_OUT_ARTICLES} whole articles are kept out.",
        figures={
            "exact match, SQuAD 1.1 articles kept out, %": figures["em"],
            "F1, SQuAD 1.1 articles kept out, %": figures["f1"],
            "F1 with no answer decided, SQuAD 2.0 articles kept out, %": figures["v2_f1"],
            "answerable questions of the same for which no answer is shown, %": figures["refused"],
            "temperature, fitted on the same articles": figures["temperature"],
            "scale of the odds that there is an answer, likewise": figures["answerable_scale"],
            "their bias, likewise": figures["answerable_bias"],
            "expected calibration error of the answer shown, both together, %": figures["error"],
            "the same on SQuAD 2.0, where half of the questions have no answer, %": figures["v2_error"],
            "the same on SQuAD 1.1, where all have one, %": figures["v1_error"],
            OF_CARDS: figures["probes"],
        },
        limits="It copies an answer from the text and neither counts nor reasons. Whether the "
        "text answers at all it often gets wrong, either way.",
    )
