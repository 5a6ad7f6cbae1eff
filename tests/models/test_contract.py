"""The contract, for every checkpoint of the registry and every architecture that fits a task.

The class of a task gives its inputs; the tests are inherited. Tiny random models stand in for published checkpoints of
their architecture, wrapped under the registry entry of the first that has it.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from models.architectures import architecture as known
from models.engine import OPENVINO, TORCH
from models.outputs.base import Prediction
from models.outputs.before import GenerationsOutput
from models.outputs.encoders import (
    EndingsOutput,
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.surprise import SurpriseOutput, WrittenByOutput
from models.outputs.vectors import TeachOutput, WordInContextOutput
from models.outputs.writing import CompletionOutput, TranslationOutput, generated_ids
from models.registry import REGISTRY, Checkpoint, Task, checkpoints_for
from models.tasks.base import AnyTaskModel
from models.tasks.written_by import LEAST_TOKENS
from tests.models.architectures import FAMILIES, FITTING
from tests.models.conftest import BundledModel, TinyModel, tiny_checkpoint
from tests.models.contract import (
    WRITINGS,
    Case,
    ModelContract,
    NeedsText,
    ReadsOneWindow,
    assert_best_first,
    bare,
    is_probability,
)
from tests.models.plain import plain_tokenizer


def cases_of(task: Task) -> Iterator[Case]:
    """The bundled checkpoint of `task`, then every architecture that fits it, by every engine that answers it."""
    bundled, *published = checkpoints_for(task)
    yield Case(bundled)
    first = {FAMILIES[each.family]: each for each in reversed(published)}
    for architecture in FITTING[task.answered_by]:
        checkpoint = first.get(architecture, tiny_checkpoint(architecture, task.answered_by))
        yield Case(checkpoint, architecture)
        if known(architecture).converts:
            yield Case(checkpoint, architecture, OPENVINO)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = list(cases_of(metafunc.cls.task))
        metafunc.parametrize("case", cases, ids=[str(case) for case in cases], scope="class")


class TestFillMask(NeedsText, ReadsOneWindow):
    task = Task.FILL_MASK
    output_type = FillMaskOutput
    fields: ClassVar = {"text": "The keeper [MASK] the lamp every [MASK].", "top_k": 3}
    bad: ClassVar = [{"top_k": 0}, {"top_k": 21}, {"top_k": -1}]
    always = " [MASK]"

    def check_answer(self, model: AnyTaskModel, output: FillMaskOutput) -> None:
        for predictions in output.predictions:
            assert len(predictions) == 3
            assert all(is_probability(each.score) for each in predictions)
            assert sum(each.score for each in predictions) <= 1 + 1e-5
            assert_best_first(predictions)
        assert_best_first(output.sequences)
        for sequence in output.sequences:
            assert model.tokenizer.settings.mask_token not in sequence.text

    def test_the_best_sentence_takes_the_best_word_of_each_mask(self, model: AnyTaskModel) -> None:
        output = model(**self.fields)
        first, second = output.predictions  # a list for each blank
        assert output.sequences[0].score == pytest.approx(first[0].score * second[0].score, rel=1e-4)
        words = (first[0].text.removeprefix("##"), second[0].text.removeprefix("##"))
        assert bare(output.sequences[0].text) == bare(f"The keeper {words[0]} the lamp every {words[1]}.")

    def test_refuses_a_text_without_a_mask(self, model: AnyTaskModel) -> None:
        self.refuses(model, {"text": "Nothing is missing."}, "text", "no blank")

    def test_its_own_mask_token_is_a_mask_too(self, model: AnyTaskModel) -> None:
        own = model(text=f"The keeper {model.tokenizer.settings.mask_token} the lamp.")
        assert asdict(own) == asdict(model(text="The keeper [MASK] the lamp."))

    def test_a_named_word_has_its_probability_and_rank(self, model: AnyTaskModel) -> None:
        probabilities = plain_mask_probabilities(model, "The keeper [MASK] the lamp.")
        (token_id,) = plain_tokenizer(model)(" the", add_special_tokens=False)["input_ids"]
        (standing,) = model(text="The keeper [MASK] the lamp.", word="the").word
        assert standing.probability == pytest.approx(float(probabilities[token_id]), rel=1e-4)
        assert standing.rank == probabilities.argsort(descending=True).tolist().index(token_id) + 1

    def test_a_word_of_several_pieces_cannot_stand_in_one_blank(self, model: AnyTaskModel) -> None:
        (standing,) = model(text="The keeper [MASK] the lamp.", word="qzxqzx").word
        assert standing.probability is None
        assert standing.rank is None
        assert len(standing.pieces) > 1


class TestSentiment(NeedsText, ReadsOneWindow):
    task = Task.SENTIMENT
    output_type = SentimentOutput
    fields: ClassVar = {"text": "She reads a quiet book."}
    bad: ClassVar = [{"text": None}]

    def check_answer(self, model: AnyTaskModel, output: SentimentOutput) -> None:
        assert [each.text for each in output.scores] == ["negative", "positive"]
        assert all(is_probability(each.score) for each in output.scores)
        assert sum(each.score for each in output.scores) == pytest.approx(1, abs=1e-5)
        assert output.label == max(output.scores, key=lambda each: each.score).text


class TestGenerations(NeedsText, ReadsOneWindow):
    task = Task.GENERATIONS
    output_type = GenerationsOutput
    fields: ClassVar = {"text": "She reads a quiet book.", "changed": "She reads a loud book."}
    bad: ClassVar = [{"text": None}, {"changed": 7}]

    def check_answer(self, model: AnyTaskModel, output: GenerationsOutput) -> None:
        assert len({row.key for row in output.rows}) == 12
        assert all(is_probability(row.positive) for row in output.rows)


class TestQuestionAnswering(NeedsText):
    task = Task.QUESTION_ANSWERING
    output_type = QuestionAnsweringOutput
    fields: ClassVar = {
        "question": "Who lit the lamp?",
        "context": "The old keeper lit the lamp. A storm came.",
        "top_k": 2,
    }
    text_field = "context"
    bad: ClassVar = [{"top_k": 0}, {"top_k": 11}, {"question": ""}, {"question": None}, {"question": "lamp " * 97}]

    def check_answer(self, model: AnyTaskModel, output: QuestionAnsweringOutput) -> None:
        assert len(output.start_probabilities) == len(output.end_probabilities) == len(output.tokens)
        assert sum(output.start_probabilities) == pytest.approx(1, abs=1e-5)
        assert sum(output.end_probabilities) == pytest.approx(1, abs=1e-5)
        assert is_probability(output.no_answer_score)
        assert sum(each.score for each in output.answers) + output.no_answer_score <= 1 + 1e-6
        assert_best_first([Prediction(each.text, each.score) for each in output.answers])

    def test_answers_stand_in_the_context_and_do_not_overlap(self, model: AnyTaskModel) -> None:
        first, second = model(**self.fields).answers
        for answer in (first, second):
            assert self.fields["context"][answer.start : answer.end] == answer.text
        assert first.end <= second.start or second.end <= first.start

    def test_answers_stand_in_any_writing_and_say_something(self, model: AnyTaskModel) -> None:
        for text in WRITINGS:
            context = f"It is  {text} ."
            answers = model(**{**self.with_text(context), "top_k": 10}).answers
            assert answers
            for answer in answers:
                assert answer.text
                assert context[answer.start : answer.end] == answer.text


class TestNames(NeedsText):
    task = Task.NAMES
    output_type = NamesOutput
    fields: ClassVar = {"text": "Ada Quist lit the lamp."}
    bad: ClassVar = [{"text": None}]

    def check_answer(self, model: AnyTaskModel, output: NamesOutput) -> None:
        assert output.windows == 1
        assert set(output.classes) == {"O", *(f"{part}-{kind}" for part in "BI" for kind in KINDS_OF_NAMES)}
        assert [each.token for each in output.labels] == [each for each in output.tokens if not each.is_mark]
        for each in output.labels:
            assert all(map(is_probability, each.shares)) and sum(each.shares) == pytest.approx(1, abs=1e-5)
            assert each.label == "X" or each.shares[output.classes.index(each.label)] == max(each.shares)
        assert all(each.label in KINDS_OF_NAMES and is_probability(each.score) for each in output.entities)

    def test_a_name_is_its_characters_of_the_text_and_no_two_overlap(self, model: AnyTaskModel) -> None:
        for once in (self.fields["text"], *WRITINGS):
            text, end = f"{once}  {once} .", 0
            for name in model(text=text).entities:
                assert end <= name.start < name.end
                assert name.text == text[name.start : name.end] == name.text.strip()
                end = name.end

    def test_a_long_text_is_read_in_windows_and_every_token_is_labelled_once(self, model: AnyTaskModel) -> None:
        text = " ".join(f"Ada {number} lit the lamp." for number in range(model.settings.window // 3))
        output = model(text=text)
        assert output.windows > 1
        whole = plain_tokenizer(model)(text, add_special_tokens=False, verbose=False)["input_ids"]
        assert [each.token.id for each in output.labels] == whole
        assert len(output.tokens) <= model.settings.window
        (attention,) = model.attend(model.inputs_type(text=text)).values()
        assert attention.query_tokens == output.tokens
        assert output.decisive.token in output.tokens


KINDS_OF_NAMES = ("person", "organisation", "place", "other")


class TestSentencePair(NeedsText, ReadsOneWindow):
    task = Task.SENTENCE_PAIR
    output_type = SentencePairOutput
    fields: ClassVar = {"a": "The keeper lit the lamp.", "b": "A lamp was lit."}
    text_field = "b"
    bad: ClassVar = [{"a": ""}, {"a": None}]

    def check_answer(self, model: AnyTaskModel, output: SentencePairOutput) -> None:
        assert is_probability(output.follows) and is_probability(output.paraphrase)
        assert [each.text for each in output.entailment] == ["entailment", "neutral", "contradiction"]
        assert sum(each.score for each in output.entailment) == pytest.approx(1, abs=1e-5)
        one, other = map(np.array, output.vectors)
        assert np.linalg.norm(one) == pytest.approx(1, abs=1e-2) == np.linalg.norm(other)
        assert output.similarity == pytest.approx(float(one @ other), abs=1e-2)
        ends = [place for place, token in enumerate(output.tokens) if token.is_mark][1:]
        assert output.segments == (0,) * (ends[0] + 1) + (1,) * (ends[1] - ends[0])

    def check_places(self, model: AnyTaskModel, output: SentencePairOutput) -> None:
        spelt = bare("".join(token.text for token in output.tokens if not token.special))
        assert spelt == bare(self.fields["a"] + self.fields["b"])
        for token, segment in zip(output.tokens, output.segments, strict=True):
            text = self.fields["ab"[segment]]
            assert token.start < 0 or bare(text[token.start : token.end]) == bare(token.text)

    def test_likeness_is_the_same_from_both_sides(self, model: AnyTaskModel) -> None:
        output, turned = model(**self.fields), model(a=self.fields["b"], b=self.fields["a"])
        assert output.similarity == pytest.approx(turned.similarity, abs=1e-5)
        assert model(a="A lamp.", b="A lamp.").similarity == pytest.approx(1, abs=1e-5)


class TestEndings(NeedsText):
    task = Task.ENDINGS
    output_type = EndingsOutput
    fields: ClassVar = {
        "beginning": "The keeper lit the lamp.",
        "endings": ("It burned all night.", "Penguins are flightless.", "He read a book."),
    }
    text_field = "beginning"
    bad: ClassVar = [{"endings": ("One.",)}, {"endings": ("a",) * 5}, {"endings": ("One.", " ")}, {"endings": (7, "a")}]

    def set_beside(self, model: Any, tiny: TinyModel, bundled: BundledModel) -> None:
        model.writer = bundled("clearhead-stories")

    def check_answer(self, model: AnyTaskModel, output: EndingsOutput) -> None:
        assert [each.text for each in output.endings] == list(self.fields["endings"])
        for order, name in ((output.by_follows, "follows"), (output.by_log_probability, "log_probability")):
            assert_best_first([Prediction("", getattr(output.endings[place], name)) for place in order])
            assert sorted(order) == list(range(len(output.endings)))
        assert all(is_probability(each.follows) and each.log_probability <= 0 for each in output.endings)
        assert output.writer.name == "clearhead-stories"

    def check_places(self, model: AnyTaskModel, output: EndingsOutput) -> None:
        spelt = bare("".join(token.text for token in output.tokens if not token.special))
        assert spelt == bare(self.fields["beginning"] + self.fields["endings"][output.by_follows[0]])
        for token in output.tokens[: [token.is_mark for token in output.tokens].index(True, 1)]:
            assert token.start < 0 or bare(self.fields["beginning"][token.start : token.end]) == bare(token.text)


class TestTranslation(NeedsText, ReadsOneWindow):
    task = Task.TRANSLATION
    output_type = TranslationOutput
    fields: ClassVar = {"text": "The rain falls.", "num_beams": 2}
    bad: ClassVar = [{"num_beams": 0}, {"num_beams": 9}]

    def check_answer(self, model: AnyTaskModel, output: TranslationOutput) -> None:
        assert len(output.translations) == 2
        assert_best_first(output.translations)
        assert all(each.score <= 0 for each in output.translations)
        assert output.target_tokens
        written = plain_tokenizer(model).decode(list(generated_ids(output)), skip_special_tokens=True)
        assert output.translations[0].text == written.strip()

    def test_offers_cross_attention_first(self, model: AnyTaskModel) -> None:
        output = model(**self.fields)
        attentions = model.attend(model.inputs_type(**self.fields), generated_ids(output))
        assert list(attentions) == ["cross", "encoder", "decoder"]
        asked = attentions["cross"].query_tokens
        # What was written has places in the translation, which the tokens of a look have not.
        assert asked == tuple(replace(each, start=-1, end=-1) for each in output.target_tokens)
        assert attentions["cross"].key_tokens == output.tokens
        assert attentions["encoder"].query_tokens == output.tokens
        assert attentions["decoder"].masked.sum() == len(output.target_tokens) * (len(output.target_tokens) - 1) // 2


class TestCompletion(ReadsOneWindow):
    task = Task.COMPLETION
    output_type = CompletionOutput
    fields: ClassVar = {"prompt": "The boats turned", "max_new_tokens": 6, "strategy": "sample", "seed": 11}
    text_field = "prompt"
    bad: ClassVar = [
        {"strategy": "guess"}, {"max_new_tokens": 0}, {"max_new_tokens": 201}, {"temperature": 0},
        {"temperature": -1.0}, {"temperature": float("nan")}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.5},
        {"num_beams": 0}, {"num_beams": 9}, {"seed": -1}, {"seed": 2**32}, {"loop_guard": -1}, {"loop_guard": 21},
    ]  # fmt: skip

    def check_answer(self, model: AnyTaskModel, output: CompletionOutput) -> None:
        assert 1 <= len(output.generated) <= 6
        assert output.finished
        for each in output.generated:
            assert is_probability(each.probability)
            assert_best_first(each.alternatives)
            assert sum(other.score for other in each.alternatives) <= 1 + 1e-5
        prompt = [token.id for token in output.tokens]
        whole = plain_tokenizer(model).decode([*prompt, *generated_ids(output)], skip_special_tokens=True)
        assert whole.endswith(output.text)

    def test_an_empty_prompt_is_the_start_token(self, model: AnyTaskModel) -> None:
        start = model.tokenizer.settings.bos_token_id
        for blank in ("", "  \n\t "):
            if start is not None:
                assert [token.id for token in model(**self.with_text(blank)).tokens] == [start]
            else:
                # OpenAI's first GPT has no start token.
                self.refuses(model, self.with_text(blank), "prompt", "no start token")

    def test_a_stream_ends_with_the_answer(self, model: AnyTaskModel) -> None:
        for strategy in ("greedy", "beam", "sample"):
            fields = {**self.fields, "strategy": strategy}
            outputs = list(model.stream(model.inputs_type(**fields)))  # type: ignore[attr-defined]
            assert asdict(outputs[-1]) == asdict(model(**fields))
            assert [each.finished for each in outputs] == [False] * (len(outputs) - 1) + [True]
            if strategy != "beam":
                assert [len(each.generated) for each in outputs] == list(range(1, len(outputs) + 1))

    def test_a_stream_can_be_stopped(self, model: AnyTaskModel) -> None:
        stream = model.stream(model.inputs_type(**{**self.fields, "strategy": "greedy"}))  # type: ignore[attr-defined]
        first = next(stream)
        stream.close()
        assert not first.finished
        assert len(first.generated) == 1
        self.check_answer(model, model(**self.fields))


class TestWordInContext(NeedsText, ReadsOneWindow):
    task = Task.WORD_IN_CONTEXT
    output_type = WordInContextOutput
    fields: ClassVar = {"word": "lamp", "sentences": "The keeper lit the lamp.\nA lamp is out."}
    text_field = "sentences"
    bad: ClassVar = [{"sentences": "A lamp."}, {"sentences": "A lamp.\nThe sea."}, {"word": ""}, {"word": 7}]
    always = " lamp.\nThe lamp."

    def check_answer(self, model: AnyTaskModel, output: WordInContextOutput) -> None:
        layers = model.network.config.num_hidden_layers + 1
        assert len(output.layers) == len(output.planes) == layers
        for each in output.occurrences:
            assert each.sentence[each.start : each.end] == "lamp" and each.times == 1
            assert all(is_probability(word.score) for word in each.fitting)
            assert_best_first(each.fitting)
        assert_best_first(output.static_neighbours)
        assert 0 <= output.telling < layers

    def text_of(self, fields: dict[str, Any]) -> str:
        return str(fields["sentences"].split("\n")[0])


class TestTeach(ModelContract):
    task = Task.TEACH
    output_type = TeachOutput
    fields: ClassVar = {
        "examples": (
            ("The rain falls.", "calm"),
            ("The boats turn home.", "calm"),
            ("Fire! Run!", "wild"),
            ("Oh no", "wild"),
        ),
        "texts": ("She reads a quiet book.",),
    }
    text_field = "texts"
    bad: ClassVar = [{"texts": ("lamp " * 600,)}, {"texts": ("",)}, {"examples": ()}, {"kept_out": (("So.", "mild"),)}]

    def check_answer(self, model: AnyTaskModel, output: TeachOutput) -> None:
        (judged,) = output.predictions
        assert [each.text for each in judged.scores] == ["calm", "wild"] == list(output.labels)
        assert all(is_probability(each.score) for each in judged.scores)
        assert sum(each.score for each in judged.scores) == pytest.approx(1, abs=1e-5)
        assert judged.label == max(judged.scores, key=lambda each: each.score).text
        assert 0 <= output.accuracy <= 1
        assert all(0 <= share <= 1 for curve in output.curve for share in curve.accuracy)

    def with_text(self, text: Any) -> dict[str, Any]:
        return {**self.fields, "texts": (text,)}

    def text_of(self, fields: dict[str, Any]) -> str:
        return str(fields["texts"][0])


@pytest.mark.parametrize("checkpoint", [each for each in REGISTRY.values() if each.hub_id], ids=lambda each: each.name)
def test_every_published_checkpoint_is_named_on_its_answer(checkpoint: Checkpoint, tiny: TinyModel) -> None:
    fields = {"prompt": "The lamp"} if checkpoint.task is Task.COMPLETION else {"text": "The [MASK]"}
    if checkpoint.task is Task.QUESTION_ANSWERING:
        fields = {"question": "Who?", "context": "The keeper."}
    used = tiny(FAMILIES[checkpoint.family], checkpoint.task, 0, checkpoint, TORCH)(**fields).checkpoint
    assert (used.name, used.license) == (checkpoint.name, checkpoint.license)


def plain_mask_probabilities(model: AnyTaskModel, text: str) -> torch.Tensor:
    """The probabilities `[vocabulary]` at the one mask, from the network alone."""
    encoded = plain_tokenizer(model)(text.replace("[MASK]", model.tokenizer.settings.mask_token), return_tensors="pt")
    with torch.inference_mode():
        logits = model.network(**encoded).logits[0]
    return logits[encoded.input_ids[0] == model.tokenizer.settings.mask_token_id][0].softmax(-1)


class TestWrittenBy(NeedsText):
    task = Task.WRITTEN_BY
    output_type = WrittenByOutput
    fields: ClassVar = {"text": "The keeper lit the lamp, and the old boats turned home over the hills. " * 2}
    bad: ClassVar = [{"text": None}, {"text": "Too short."}]
    always = " The keeper lit the lamp, and the old boats turned home over the hills." * 2

    def check_answer(self, model: AnyTaskModel, output: WrittenByOutput) -> None:
        assert is_probability(output.machine)
        assert sum(output.ranks) == pytest.approx(1)
        assert output.counted == len(output.tokens) - 1 >= LEAST_TOKENS


class TestSurprise(NeedsText):
    task = Task.SURPRISE
    output_type = SurpriseOutput
    fields: ClassVar = {"text": "The keeper lit the lamp.", "other": "The lamp lit the keeper."}
    bad: ClassVar = [{"other": 7}, {"text": None}]

    def set_beside(self, model: Any, tiny: TinyModel, bundled: BundledModel) -> None:
        model.masked = tiny("bert", Task.FILL_MASK)

    def check_answer(self, model: AnyTaskModel, output: SurpriseOutput) -> None:
        for measured in (output.text, output.other):
            assert measured
            for each in measured.tokens:
                assert is_probability(each.probability) and each.bits >= 0
                assert 1 <= each.rank <= model.settings.vocabulary
                assert_best_first(each.rather)
                assert each.rather[0].score >= each.probability * (1 - 1e-5)
            assert measured.perplexity == pytest.approx(2**measured.bits_per_token)
