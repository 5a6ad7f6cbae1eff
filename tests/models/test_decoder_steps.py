"""What is kept of each step, texts that go on from another token, and beam search step by step."""

import math
from collections.abc import Iterator

import pytest
import torch

from models.decoding.generate import byte_rule
from models.errors import InputError
from models.outputs import CompletionOutput, TranslationOutput, generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import plain_tokenizer, whole_characters

PROMPT = "The boats turned"
COMPLETION = pytest.mark.parametrize("which", [*FITTING[Task.COMPLETION], "clearhead-stories"])
TRANSLATION = pytest.mark.parametrize("which", [*FITTING[Task.TRANSLATION], "clearhead-en-fr"])


@pytest.fixture
def model(which: str, tiny: TinyModel, bundled: BundledModel) -> Iterator[AnyTaskModel]:
    if which.startswith("clearhead"):
        yield bundled(which)
    else:
        yield tiny(which, Task.TRANSLATION if which in FITTING[Task.TRANSLATION] else Task.COMPLETION)


@COMPLETION
def test_a_drawn_token_has_the_shares_that_generate_draws_by(model: AnyTaskModel) -> None:
    settings = {"temperature": 0.7, "top_k": 8, "top_p": 0.9}
    output: CompletionOutput = model(prompt=PROMPT, strategy="sample", max_new_tokens=6, seed=3, **settings)
    ids = torch.from_numpy(model.preprocess(model.inputs_type(prompt=PROMPT)).ids)
    torch.manual_seed(3)
    theirs = model.network.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, max_new_tokens=6, pad_token_id=0,
        return_dict_in_generate=True, output_scores=True,
        logits_processor=whole_characters(model), **settings,
    )  # fmt: skip
    for each, scores in zip(output.generated, theirs.scores, strict=True):
        shares = scores[0].softmax(-1)
        assert each.drawn == pytest.approx(float(shares[each.token.id]), rel=1e-3)
        assert each.left == int((shares > 0).sum()) <= 8
        drawn = [other.drawn for other in each.alternatives]
        assert drawn == pytest.approx([float(shares[other.id]) for other in each.alternatives], rel=1e-3, abs=1e-6)
        assert 0.0 in drawn, "a cut-off at eight leaves at least two of ten out"


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
@COMPLETION
def test_nothing_is_drawn_where_the_likeliest_is_taken(model: AnyTaskModel, strategy: str) -> None:
    output: CompletionOutput = model(prompt=PROMPT, strategy=strategy, max_new_tokens=4)
    assert all(each.drawn is None and each.left == 0 for each in output.generated)
    assert all(other.drawn is None for each in output.generated for other in each.alternatives)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
@COMPLETION
def test_a_text_goes_on_from_another_token(model: AnyTaskModel, strategy: str) -> None:
    settings = {"prompt": PROMPT, "strategy": strategy, "max_new_tokens": 10, "seed": 5}
    first: CompletionOutput = model(**settings)
    written = generated_ids(first)
    other = next(each for each in first.generated[4].alternatives if each.id != written[4])
    kept = (*written[:4], other.id)
    forked: CompletionOutput = model(**settings, kept=kept)
    assert generated_ids(forked)[:5] == kept
    assert forked.generated[4].probability == pytest.approx(other.score, rel=1e-3)
    assert len(forked.generated) <= 10
    assert model(**settings, kept=kept) == forked
    whole = plain_tokenizer(model).decode([*(each.id for each in first.tokens), *generated_ids(forked)])
    assert forked.text.strip() and forked.text in whole


@COMPLETION
def test_greedy_search_goes_on_as_if_it_had_never_stopped(model: AnyTaskModel) -> None:
    settings = {"prompt": PROMPT, "strategy": "greedy", "max_new_tokens": 10}
    whole: CompletionOutput = model(**settings)
    for kept in (1, 6, 10):
        again: CompletionOutput = model(**settings, kept=generated_ids(whole)[:kept])
        assert (again.text, generated_ids(again), again.finished) == (whole.text, generated_ids(whole), True)


@pytest.mark.parametrize("which", ["clearhead-stories"])
@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_a_text_that_is_to_go_on_from_its_end_is_finished(model: AnyTaskModel, strategy: str) -> None:
    settings = {"prompt": PROMPT, "strategy": strategy, "max_new_tokens": 10}
    start = generated_ids(model(**settings))[:2]
    output: CompletionOutput = model(**settings, kept=(*start, model.tokenizer.eos_token_id))
    assert len(output.generated) == 3 and output.finished


@pytest.mark.parametrize(
    ("kept", "sentence"), [((10**6,), "does not know"), ((-1,), "does not know"), ((1,) * 5, "longer than")]
)
@pytest.mark.parametrize("which", ["gpt2"])
def test_tokens_that_cannot_be_gone_on_from_are_refused(
    model: AnyTaskModel, kept: tuple[int, ...], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        model(prompt=PROMPT, max_new_tokens=4, kept=kept)
    assert refused.value.field == "kept"


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
@COMPLETION
def test_a_text_is_told_while_it_grows_and_ends_as_the_whole(model: AnyTaskModel, strategy: str) -> None:
    inputs = model.inputs_type(prompt=PROMPT, strategy=strategy, max_new_tokens=6, num_beams=3)
    *growing, last = list(model.stream(inputs))  # type: ignore[attr-defined]
    assert last == model.answer(inputs)
    assert [len(each.generated) for each in growing] == list(range(1, len(growing) + 1))
    assert not any(each.finished for each in growing) and last.finished


@TRANSLATION
def test_each_token_of_a_translation_has_its_probability(model: AnyTaskModel) -> None:
    output: TranslationOutput = model(text="Who lit the lamp?", num_beams=3)
    assert tuple(each.token for each in output.generated) == output.target_tokens
    encoded = model.preprocess(model.inputs_type(text="Who lit the lamp?"))
    read = torch.tensor([[model.generation.start_id, *generated_ids(output)[:-1]]])
    with torch.inference_mode():
        logits = model.network(input_ids=torch.from_numpy(encoded.sentences[0].ids), decoder_input_ids=read).logits[0]
    whole, written = byte_rule(model.tokenizer, model.settings.vocabulary), generated_ids(output)
    for position, (each, row) in enumerate(zip(output.generated, logits.softmax(-1), strict=True)):
        assert each.probability == pytest.approx(float(row[each.token.id]), rel=1e-2, abs=1e-6)
        if whole:
            row[list(whole.barred(written[:position]))] = 0
        assert [other.score for other in each.alternatives] == pytest.approx(
            row.topk(len(each.alternatives)).values.tolist(), rel=1e-2, abs=1e-6
        )


@TRANSLATION
def test_a_translation_goes_on_from_another_token(model: AnyTaskModel) -> None:
    first: TranslationOutput = model(text="Who lit the lamp?", num_beams=3)
    written = generated_ids(first)
    other = next(each for each in first.generated[1].alternatives if each.id != written[1])
    forked: TranslationOutput = model(text="Who lit the lamp?", num_beams=3, kept=(written[0], other.id))
    assert generated_ids(forked)[:2] == (written[0], other.id)
    assert forked.generated[1].probability == pytest.approx(other.score, rel=1e-3)
    assert forked == model(text="Who lit the lamp?", num_beams=3, kept=(written[0], other.id))
    same: TranslationOutput = model(text="Who lit the lamp?", num_beams=1)
    again: TranslationOutput = model(text="Who lit the lamp?", num_beams=1, kept=generated_ids(same)[:2])
    assert generated_ids(again) == generated_ids(same)
    assert again.translations[0].text == same.translations[0].text
    mean = sum(math.log(each.probability) for each in again.generated) / len(again.generated)
    assert again.translations[0].score == pytest.approx(mean, rel=1e-3)
