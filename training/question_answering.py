"""Question answering: blocks that point at the answer, or at `[CLS]` where the text holds none (SQuAD 2.0).

The published encoder's blocks learn it better than the trunk's, which filling blanks has changed; of the trunk there
are only the embeddings. Two stages: short questions on single sentences and questions on fairy tales teach what an
answer looks like; then SQuAD's paragraphs, questions without an answer among them, people's own and made ones, the
made ones anew each time. Whole articles are kept out to measure and calibrate on.
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
    input_moments,
    mean_of,
    optimizer_of,
    save_adapter,
    shuffled_batches,
    trunk_tokenizer,
)
from training.calibration import calibrate_questions
from training.cards import CHECKPOINTS, Card, Source, write_card
from training.loop import Batch, Plan, device, record, train
from training.masked_lm import NAME as TRUNK
from training.masked_lm import published_encoder
from training.references import agreed
from training.spans import Feature, collate, encode
from training.text import Question
from training.unanswerable import unanswerable

NAME = "clearhead-qa"
RANK = 192
SENTENCE_BATCH = 32
PARAGRAPH_BATCH = 16
SENTENCE_QUESTIONS_AGAIN = 2_000
ROUNDS = ((1, 1.4e-4), (2, 1.1e-4), (1, 8e-5), (1, 7e-5))
"""How often the paragraphs are read in each round, and its peak rate, which decays to zero."""

SHARES = (0.25, 0.35, 0.4)
"""What the ends of the last rounds weigh in the mean that is kept (Izmailov et al., 2018)."""

HEADS = ["qa_outputs"]
INPUTS = ("input_ids", "token_type_ids", "attention_mask")
HELD_OUT_ARTICLES = 7
QUICK_LOOK = 200
SAMPLE_BATCHES = 32
LONGEST_ANSWER = 30
MARGINS = tuple(half / 2 for half in range(-8, 17))
SEED = 5


@dataclass(frozen=True)
class Material:
    """Questions to train on, by stage, and the questions on articles kept out, of SQuAD's two versions.

    `articles` are those of `paragraphs` that unanswerable ones can be made from.
    """

    sentences: list[Question]
    paragraphs: list[Question]
    articles: list[Question]
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
    without_answer = apart([question for question in squad_v2 if not question.answers], titles, held_out)
    again = random.Random(SEED).sample(qamr, min(SENTENCE_QUESTIONS_AGAIN, len(qamr)))
    articles = apart(squad, titles, held_out)
    return Material(qamr + tales, articles + without_answer + again, articles, development, development_v2)


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
    asked = list(map(agreed, material.paragraphs))
    stages = [(encode(material.sentences, tokenizer), SENTENCE_BATCH)]
    model = over_embeddings()
    ends = []
    for number, (passes, rate) in enumerate(ROUNDS):
        for again in range(passes):
            made = unanswerable(material.articles, SEED + 10 * number + again)
            stages.append((encode(asked + made, tokenizer), PARAGRAPH_BATCH))
        ordered = schedule(stages, SEED + 10 * number)
        train(
            model,
            [optimizer_of(model, rate)],
            partial(batches, ordered),
            loss_of,
            Plan(steps=len(ordered), warmup_steps=60, workdir=workdir / NAME / f"round{number + 1}"),
            evaluate=lambda trained: measured(trained, material, tokenizer, QUICK_LOOK),
            evaluate_every=500,
        )
        ends.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        stages = []
    model.load_state_dict(mean_of(ends[-len(SHARES) :], SHARES))
    save_measured(model, ordered[-SAMPLE_BATCHES:], material, workdir / NAME / "log.jsonl")


def save_measured(
    model: BertForQuestionAnswering,
    sample: list[list[Feature]],
    material: Material,
    log_file: Path,
) -> None:
    """Cut the trained model to an adapter, by what it makes of `sample`; save, measure and calibrate it."""
    inputs = ({name: batch[name] for name in INPUTS} for batch in map(collate, sample))
    save_adapter(adapter_of(model, trunk(), RANK, HEADS, input_moments(model, inputs)), CHECKPOINTS / NAME)
    figures = calibrate_questions(NAME, material.development, material.development_v2)
    figures["probes"] = bundled_share(Task.QUESTION_ANSWERING)
    record(log_file, figures)
    write_card(card(figures))


def headed(folder: Path) -> BertForQuestionAnswering:
    """The encoder in `folder` with a new head."""
    # Each question is seen a few times only, which leaves dropout little to guard against.
    model: BertForQuestionAnswering = BertForQuestionAnswering.from_pretrained(
        folder,
        hidden_dropout_prob=0.05,
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    return model


def trunk() -> BertForQuestionAnswering:
    """The trunk with a new head."""
    return headed(CHECKPOINTS / TRUNK)


def over_embeddings() -> BertForQuestionAnswering:
    """The published blocks over the trunk's embeddings, which stay as they are."""
    model = headed(published_encoder())
    model.bert.embeddings.load_state_dict(trunk().bert.embeddings.state_dict())
    freeze_but(model, HEADS)
    return model


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
            Source("QAMR, questions on single sentences", "MIT"),
            Source("FairytaleQA, questions whose answer stands in the text", "Apache-2.0"),
            Source("SQuAD 1.1 and 2.0, development articles", "CC BY-SA 4.0"),
            Source("all-MiniLM-L6-v2, whose blocks training started from", "Apache-2.0"),
            Source(f"{TRUNK}, whose embeddings it uses", "Apache-2.0, from the data its card names"),
        ),
        recipe="`training/question_answering.py`: questions on sentences and fairy tales first, then SQuAD's "
        f"paragraphs, {sum(passes for passes, _ in ROUNDS)} times in {len(ROUNDS)} rounds, with version 2's "
        "unanswerable ones among them and such as were made by exchanging a name, a number or a word for its opposite; "
        f"AdamW, rates from {ROUNDS[0][1]} down, each decaying to zero, bfloat16 autocast. The last {len(SHARES)} "
        "rounds' ends are averaged. The feed-forward layers' difference from the trunk's is cut to rank "
        f"{RANK}. {HELD_OUT_ARTICLES} whole articles are kept out.",
        figures={
            "exact match, SQuAD 1.1 articles kept out, %": figures["em"],
            "F1, SQuAD 1.1 articles kept out, %": figures["f1"],
            "F1 with no answer decided, SQuAD 2.0 articles kept out, %": figures["v2_f1"],
            "temperature, fitted on the same articles": figures["temperature"],
            "scale of the odds that there is an answer, likewise": figures["answerable_scale"],
            "their bias, likewise": figures["answerable_bias"],
            "expected calibration error of the answer shown, both together, %": figures["error"],
            "the same on SQuAD 2.0, where half of the questions have no answer, %": figures["v2_error"],
            "the same on SQuAD 1.1, where all have one, %": figures["v1_error"],
            OF_CARDS: figures["probes"],
        },
        limits="It copies an answer from the text and neither counts nor reasons. Where the text holds no answer it "
        "often gives one all the same.",
    )
