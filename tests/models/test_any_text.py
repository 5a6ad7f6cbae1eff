"""Bundled models answer any text, and their attention and words can be inspected."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from models import load_model
from models.errors import InputError
from models.explain.attribution import attribute
from models.explain.head_roles import head_roles
from models.explain.what_if import replaced
from models.outputs.base import TaskOutput
from models.outputs.encoders import QuestionAnsweringOutput
from models.outputs.writing import generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from models.tasks.endings import Endings
from tests.models.conftest import BundledModel
from tests.models.contract import bare

_SETTINGS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
_PARTS = st.one_of(
    st.sampled_from([
        "the cat sat.", "Who sat?", "I am happy. You are not.", "don't", "1,000", "a" * 300, "x " * 60, "ﬁnance",
        "[MASK]", "[UNK]", "[SEP]", "[CLS]", "<unk>", "</s>", "<pad>", "<|endoftext|>", "##ing", "▁the", "Ġthe",
        "😀", "👩‍👩‍👧", "🇫🇷", "𠜎", "ﷺ", "日本語", "שלום", "हिन्दी", "e\u0301",
        "naïve", "\u200b", "\u202e", "\x00", "\x07", "\n\n", "\t", "  ", "“", "—", "&amp;", "<b>",
    ]),
    st.text(max_size=8),
)  # fmt: skip
_TEXTS = st.lists(_PARTS, min_size=1, max_size=4).flatmap(lambda parts: st.sampled_from(["", " ", "\n"]).map(
    lambda between: between.join(parts)
))  # fmt: skip

_ENOUGH = "and so the keeper lit the lamp, and the old boats turned home over the hills before the storm came."
"""More than 20 tokens."""

FIELDS: dict[Task, Callable[[str, str], dict[str, Any]]] = {
    Task.FILL_MASK: lambda text, other: {"text": f"{text} [MASK] {other}"},
    Task.SENTIMENT: lambda text, other: {"text": text + other},
    Task.QUESTION_ANSWERING: lambda text, other: {"question": text, "context": other, "top_k": 10},
    Task.NAMES: lambda text, other: {"text": text + other},
    Task.SENTENCE_PAIR: lambda text, other: {"a": text, "b": other},
    Task.ENDINGS: lambda text, other: {"beginning": text, "endings": (other, text)},
    Task.TRANSLATION: lambda text, other: {"text": f"{text}. {other}", "num_beams": 2},
    Task.COMPLETION: lambda text, other: {"prompt": text + other, "max_new_tokens": 3},
    Task.WORD_IN_CONTEXT: lambda text, other: {"word": "lamp", "sentences": f"A lamp {text} {other}\nThe lamp."},
    Task.TEACH: lambda text, other: {
        "examples": (
            (text, "this"),
            (f"{text} and {text}", "this"),
            (f"no {other}", "that"),
            (f"never {other}", "that"),
        ),
        "texts": (f"{text} {other}",),
    },
    Task.WRITTEN_BY: lambda text, other: {"text": f"{text} {other} {_ENOUGH}"},
    Task.SURPRISE: lambda text, other: {"text": f"{text} {other}", "other": other},
    Task.GENERATIONS: lambda text, other: {"text": text + other, "changed": other},
}


@pytest.mark.parametrize("task", FIELDS)
def test_any_text_is_answered_and_can_be_looked_into(task: Task, bundled: BundledModel) -> None:
    model = load_model(task.endpoint)

    @_SETTINGS
    @given(_TEXTS, _TEXTS)
    def read(text: str, other: str) -> None:
        fields = FIELDS[task](text, other)
        try:
            output = model(**fields)
        except InputError:
            # There may be no text left without what nobody sees, or too much of it.
            return
        look_into(model, model.inputs_type(**fields), output)
        if isinstance(output, QuestionAnsweringOutput):
            for answer in output.answers:
                assert answer.text and other[answer.start : answer.end] == answer.text

    read()


def look_into(model: AnyTaskModel, inputs: Any, output: TaskOutput) -> None:
    """Its attention, what its heads do, what its words count for, and the text with another word for some."""
    written = generated_ids(output)
    for kind, attention in model.attend(inputs, written).items():
        head_roles(attention)
        assert kind == "encoder" or len(attention.query_tokens) >= len(written)
    last = len(output.tokens) - 1
    for position in sorted({0, last // 2, last} - {-1}):
        try:
            replaced(model, inputs, output.tokens, position, "dog")
        except InputError as refused:
            # Of several endings the tokens are of one alone, so that only words of the beginning can be replaced.
            of_ending = isinstance(model, Endings) and "only words of the beginning" in str(refused)
            assert of_ending or "mark of the model's own" in str(refused)
    try:
        found = attribute(model, inputs, written)
    except InputError:
        return
    assert len(found.scores) == len(found.tokens)


def test_a_space_after_a_prompt_is_left_out_and_a_line_break_is_not(bundled: BundledModel) -> None:
    model = bundled("clearhead-stories")
    read = {text: [each.id for each in model(prompt=text, max_new_tokens=1).tokens] for text in _PROMPTS}
    assert read["She went to the park \t\u00a0"] == read["She went to the park"] != read["She went to the park\n"]
    assert read["She went to the park\n "] == read["She went to the park\n"]


_PROMPTS = (
    "She went to the park",
    "She went to the park \t\u00a0",
    "She went to the park\n",
    "She went to the park\n ",
)


def test_blanks_side_by_side_are_filled_with_words_and_pieces_of_them(bundled: BundledModel) -> None:
    model = bundled("clearhead-minilm")
    output = model(text="Paris is the [MASK]<mask> of France.", top_k=5)
    assert len(output.predictions) == 2
    words = [[each.text for each in blank] for blank in output.predictions]
    for each in output.sequences:
        filled = each.text.removeprefix("Paris is the ").removesuffix(" of France.")
        assert filled in {
            first + (second[2:] if second.startswith("##") else f" {second}" if second.isalnum() else second)
            for first in (word.removeprefix("##") for word in words[0])
            for second in words[1]
        }
    assert any(" " in each.text.removeprefix("Paris is the ").removesuffix(" of France.") for each in output.sequences)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("clearhead-sentiment", {"text": "\u0301\u0301"}),
        ("clearhead-qa", {"question": "Who?", "context": "\u0301\u0301"}),
        ("clearhead-names", {"text": "\u0301\u0301"}),
        ("clearhead-en-fr", {"text": "\ufe0f"}),
    ],
)
def test_a_text_of_which_no_token_is_left_is_empty(name: str, fields: dict[str, str], bundled: BundledModel) -> None:
    with pytest.raises(InputError, match="is empty"):
        bundled(name)(**fields)


MARKS = "[SEP] </s> <unk> [CLS] [PAD] <|endoftext|>"


@pytest.mark.parametrize("task", FIELDS)
def test_typed_marks_are_text(task: Task, bundled: BundledModel) -> None:
    model = load_model(task.endpoint)
    plain = model(**FIELDS[task]("Press Enter now", "Type Enter here")).tokens
    tokens = model(**FIELDS[task](f"Press {MARKS} now", f"Type {MARKS} here")).tokens
    assert [token.piece for token in tokens if token.special] == [token.piece for token in plain if token.special]
    assert bare("".join(token.text for token in tokens if not token.special)).count(bare(MARKS)) == 2


def test_a_question_about_a_mark_is_answered_with_its_place(bundled: BundledModel) -> None:
    context = "[CLS] opens a text. The reader types </s> at the end of a sentence."
    output = bundled("clearhead-qa")(question="Where does the reader type </s>?", context=context)
    best = output.answers[0]
    assert context[best.start : best.end] == best.text == "at the end of a sentence"


def test_a_translation_goes_on_after_a_typed_mark(bundled: BundledModel) -> None:
    model = bundled("clearhead-en-fr")
    assert model(text="Press </s> now.").translations[0].text == "Press </s> maintenant."
    assert model(text="Use <unk> or <pad> here.").translations[0].text == "Use <unk> ou <pad> ici."
    assert model(text="<|endoftext|>").translations[0].text == "<|endoftext|>"


def test_html_entities_are_read_as_typed(bundled: BundledModel) -> None:
    for name, fields in (
        ("clearhead-sentiment", {"text": "Fish &amp;&nbsp;&#39;chips"}),
        ("clearhead-en-fr", {"text": "Fish &amp;&nbsp;&#39;chips"}),
        ("clearhead-stories", {"prompt": "Fish &amp;&nbsp;&#39;chips", "max_new_tokens": 1}),
    ):
        tokens = bundled(name)(**fields).tokens
        assert bare("".join(token.text for token in tokens if not token.special)) == "fish&amp;&nbsp;&#39;chips"
