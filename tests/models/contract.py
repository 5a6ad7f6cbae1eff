"""The contract: tests that every checkpoint must pass, whatever its task; the tests of each task inherit them."""

import io
import pickle
import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from models.engine import TORCH
from models.errors import InputError
from models.loading.assembly import as_task
from models.outputs.base import TaskOutput
from models.outputs.writing import generated_ids
from models.registry import Checkpoint, Task
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel, TinyModel

WRITINGS = ("שלום עולם", "a 🦊 b 🇫🇷", "<script>alert(1)</script> & <b>", "e\u0301té \u200b", "x" * 60)


@dataclass(frozen=True)
class Case:
    """A checkpoint, the architecture of the tiny model in its place (empty for a bundled one), and its engine."""

    checkpoint: Checkpoint
    architecture: str = ""
    engine: str = TORCH

    def __str__(self) -> str:
        return f"{self.checkpoint.name}-{self.engine}"


class _WithoutTorch(pickle.Unpickler):
    """Unpickles, and refuses every object of torch."""

    def find_class(self, module: str, name: str) -> Any:
        assert module.partition(".")[0] != "torch", f"{module}.{name}"
        return super().find_class(module, name)


def bare(text: str) -> str:
    """`text` in lower case without spaces and WordPiece's marks, to compare pieces with the text they came from."""
    return re.sub(r"\s|##|▁", "", text).lower()


def is_probability(score: float) -> bool:
    return 0.0 <= score <= 1.0 + 1e-6


class ModelContract:
    """The tests; a subclass names its task, an input, the field that holds the text, and inputs to refuse."""

    task: ClassVar[Task]
    output_type: ClassVar[type[TaskOutput]]
    fields: ClassVar[dict[str, Any]]
    text_field: ClassVar[str] = "text"
    bad: ClassVar[list[dict[str, Any]]]

    @pytest.fixture
    def model(self, case: Case, tiny: TinyModel, bundled: BundledModel) -> AnyTaskModel:
        made = (case.architecture, self.task.answered_by, 0, case.checkpoint, case.engine)
        model = as_task(tiny(*made) if case.architecture else bundled(case.checkpoint.name), self.task)
        self.set_beside(model, tiny, bundled)
        return model

    def set_beside(self, model: Any, tiny: TinyModel, bundled: BundledModel) -> None:
        """Give `model` the other models that it uses."""

    def with_text(self, text: Any) -> dict[str, Any]:
        return {**self.fields, self.text_field: text}

    def text_of(self, fields: dict[str, Any]) -> str:
        return str(fields[self.text_field])

    def refuses(self, model: AnyTaskModel, fields: dict[str, Any], field: str, sentence: str = "") -> None:
        """Assert that the fields are refused, with a sentence about `field`."""
        with pytest.raises(InputError, match=sentence) as refused:
            model(**fields)
        assert refused.value.field == field

    def test_its_answer_is_of_its_task_names_its_checkpoint_and_is_the_same_twice(
        self, model: AnyTaskModel, case: Case
    ) -> None:
        output = model(**self.fields)
        assert type(output) is self.output_type
        self.check_answer(model, output)
        identity = output.checkpoint
        assert (identity.name, identity.license) == (case.checkpoint.name, case.checkpoint.license)
        assert re.fullmatch("[0-9a-f]{12}|[0-9a-f]{40}", identity.revision)
        assert asdict(model(**self.fields)) == asdict(output)

    def check_answer(self, model: AnyTaskModel, output: Any) -> None:
        raise NotImplementedError

    def test_its_tokens_cover_the_text_stand_where_they_say_and_have_the_ids_of_their_pieces(
        self, model: AnyTaskModel
    ) -> None:
        output = model(**self.fields)
        self.check_places(model, output)
        for token in output.tokens:
            assert model.tokenizer.convert_ids_to_tokens([token.id]) == [token.piece]

    def check_places(self, model: AnyTaskModel, output: Any) -> None:
        text = self.text_of(self.fields)
        spelt = bare("".join(token.text for token in output.tokens if not token.special))
        assert spelt.endswith(bare(text.replace("[MASK]", "")))
        if model.tokenizer.settings.mask_token:
            text = text.replace("[MASK]", model.tokenizer.settings.mask_token)
        for token in output.tokens:
            # SentencePiece may spell the space before a word as a token, with no character of its own.
            if token.start >= 0 and bare(token.text):
                assert bare(text[token.start : token.end]) == bare(token.text)

    def test_attention_is_a_distribution_over_what_may_be_seen_and_changes_nothing(self, model: AnyTaskModel) -> None:
        kernels = model.network.config._attn_implementation
        output = model(**self.fields)
        attentions = dict(model.attend(model.inputs_type(**self.fields), generated_ids(output)))
        assert attentions
        for kind, attention in attentions.items():
            assert attention.kind == kind
            assert attention.weights.dtype == np.float32
            np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
            assert (attention.weights >= 0).all()
            assert (attention.weights[:, :, attention.masked] == 0).all()
            assert not attention.masked.all(axis=-1).any()
        # Outputs hold no tensors.
        _WithoutTorch(io.BytesIO(pickle.dumps((output, attentions)))).load()
        assert model.network.config._attn_implementation == kernels
        assert asdict(model(**self.fields)) == asdict(output)

    def test_refuses_what_is_no_text_and_settings_out_of_range(self, model: AnyTaskModel) -> None:
        self.refuses(model, self.with_text(7), self.text_field, "must be text")
        for bad in self.bad:
            (field,) = bad
            self.refuses(model, {**self.fields, **bad}, field)

    def test_reads_any_writing(self, model: AnyTaskModel) -> None:
        for text in WRITINGS:
            self.check_answer(model, model(**self.with_text(text + self.always)))

    always: ClassVar[str] = ""


class NeedsText(ModelContract):
    """The contract of tasks that refuse an empty text."""

    def test_refuses_empty_text(self, model: AnyTaskModel) -> None:
        for blank in ("", "  \n\t ", "\u200b \x00\ufeff"):
            self.refuses(model, self.with_text(blank), self.text_field, "empty")


class ReadsOneWindow(ModelContract):
    """The contract of tasks that read the whole text at once, and refuse one that is too long."""

    def test_says_how_long_is_too_long(self, model: AnyTaskModel) -> None:
        longer = self.fields[self.text_field] + " lamp" * (model.settings.window + 1)
        self.refuses(model, self.with_text(longer), self.text_field, f"{model.settings.window:,}")


def assert_best_first(predictions: Any) -> None:
    scores = [each.score for each in predictions]
    assert scores == sorted(scores, reverse=True)
