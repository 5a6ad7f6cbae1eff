"""Greedy and beam search, sampling with the same seed, and every step's numbers equal transformers' `generate`."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList

from models.decoding.beam_search import Hypothesis
from models.decoding.generate import byte_rule
from models.decoding.sampling import LOOP_GUARD
from models.engine import TORCH, Ids
from models.outputs.writing import CompletionOutput, generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import loop_guard, set_generation, whole_characters

SEEDS = (1, 2)
"""Seeds of weights with which no two drafts tie: which of them is kept is up to the last bit."""

GUARDED = LogitsProcessorList([loop_guard(LOOP_GUARD)])
PROMPTS = ("The boats turned", "I would rather walk to the river than", "lamp")
SOURCES = ("The rain falls on the garden.", "Who lit the lamp? A storm came over the hills.", "Bread")
TINY_COMPLETION = [(architecture, seed) for architecture in FITTING[Task.COMPLETION] for seed in SEEDS]
TINY_TRANSLATION = [(architecture, seed) for architecture in FITTING[Task.TRANSLATION] for seed in SEEDS]
COMPLETION = pytest.mark.parametrize("which", [*TINY_COMPLETION, ("clearhead-stories", -1)], ids=str)
TRANSLATION = pytest.mark.parametrize("which", [*TINY_TRANSLATION, ("clearhead-en-fr", -1)], ids=str)


@pytest.fixture
def model(
    which: tuple[str, int], tiny: TinyModel, bundled: BundledModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AnyTaskModel]:
    """A bundled model, or a tiny one of which every sixth token ends a text, so that beams end at different lengths."""
    name, seed = which
    if seed < 0:
        yield bundled(name)
        return
    task = Task.TRANSLATION if name in FITTING[Task.TRANSLATION] else Task.COMPLETION
    model = tiny(name, task, seed, engine=TORCH)
    vocabulary = list(range(5, len(model.tokenizer)))
    ends = [model.tokenizer.settings.eos_token_id or 0, *random.Random(seed).sample(vocabulary, len(vocabulary) // 6)]
    set_generation(model, monkeypatch, eos_token_id=ends)
    # In float32 a processor may round batches of different sizes differently, enough for another draft to be dropped.
    model.network.double()
    yield model
    model.network.float()


def plainly(model: AnyTaskModel, given: Ids, **settings: Any) -> Any:
    """What `generate` gives for ids `[1, token]`."""
    ids, pad = torch.from_numpy(given), model.network.generation_config.pad_token_id
    rules = LogitsProcessorList([*settings.pop("logits_processor", ()), *whole_characters(model)])
    return model.network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        pad_token_id=0 if pad is None else pad,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        logits_processor=rules,
        **settings,
    )


def written(sequence: torch.Tensor, prompt_length: int, ends: Sequence[int]) -> tuple[int, ...]:
    """The ids behind the prompt, without the padding behind the end."""
    ids = sequence[prompt_length:].tolist()
    first_end = next((position for position, token_id in enumerate(ids) if token_id in ends), len(ids) - 1)
    return tuple(ids[: first_end + 1])


def ends_of(model: AnyTaskModel) -> list[int]:
    return list(model.generation.end_ids)


def assert_equal_to_beam_search(model: AnyTaskModel, fields: dict[str, Any]) -> None:
    """Compare ids and scores of all hypotheses; those of each sentence where the text is translated."""
    encoded = model.preprocess(model.inputs_type(**fields))
    raw = model.forward(encoded)
    if model.checkpoint.task is Task.TRANSLATION:
        for sentence, hypotheses in zip(encoded.sentences, raw, strict=True):
            room = model.room_for(sentence)  # type: ignore[attr-defined]
            assert_equal_to_generate(model, sentence.ids, hypotheses, fields["num_beams"], room, 1)
    else:
        room, prompt_length = fields["max_new_tokens"], encoded.ids.shape[1]
        assert_equal_to_generate(model, encoded.ids, raw.hypotheses, fields["num_beams"], room, prompt_length)


def assert_equal_to_generate(
    model: AnyTaskModel, ids: Ids, ours: Sequence[Hypothesis], beams: int, room: int, prompt_length: int
) -> None:
    theirs = plainly(model, ids, do_sample=False, num_beams=beams, num_return_sequences=beams, max_new_tokens=room)
    assert [each.ids for each in ours] == [written(each, prompt_length, ends_of(model)) for each in theirs.sequences]
    if beams > 1:
        assert [each.score for each in ours] == pytest.approx(theirs.sequences_scores.tolist(), rel=1e-4, abs=1e-5)
    else:
        # With one beam `generate` searches greedily and gives no score. A forced token costs nothing in beam search.
        total = 0.0
        for logits, scores, token_id in zip(theirs.logits, theirs.scores, ours[0].ids, strict=False):
            forced = int(scores[0].isfinite().sum()) == 1
            total += 0.0 if forced else float(logits[0].log_softmax(-1)[token_id])
        mean = total / len(ours[0].ids)
        assert ours[0].score == pytest.approx(mean, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("num_beams", [1, 2, 5])
@COMPLETION
def test_beam_search_writes_what_generate_writes(model: AnyTaskModel, num_beams: int) -> None:
    for prompt in PROMPTS:
        fields = {"prompt": prompt, "strategy": "beam", "num_beams": num_beams, "max_new_tokens": 12}
        assert_equal_to_beam_search(model, fields)


@pytest.mark.parametrize("num_beams", [1, 2, 5])
@TRANSLATION
def test_beam_search_translates_as_generate_does(model: AnyTaskModel, num_beams: int) -> None:
    for source in SOURCES:
        assert_equal_to_beam_search(model, {"text": source, "num_beams": num_beams})


@pytest.mark.parametrize(
    "setting",
    [
        {"length_penalty": 0.6},
        {"length_penalty": 2.0},
        {"length_penalty": 0.0},
        {"early_stopping": True},
        {"early_stopping": "never"},
        {"early_stopping": "never", "length_penalty": 2.0},
        {"no_repeat_ngram_size": 2},
        {"renormalize_logits": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("which", [*TINY_COMPLETION[:2], *TINY_TRANSLATION[:: len(SEEDS)]], ids=str)
def test_a_checkpoints_own_settings_are_followed(
    model: AnyTaskModel, setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_generation(model, monkeypatch, **setting)
    if model.checkpoint.task is Task.TRANSLATION:
        assert_equal_to_beam_search(model, {"text": SOURCES[0], "num_beams": 3})
    else:
        fields = {"prompt": PROMPTS[0], "strategy": "beam", "num_beams": 3, "max_new_tokens": 12}
        assert_equal_to_beam_search(model, fields)


@pytest.mark.parametrize("which", TINY_TRANSLATION[:1], ids=str)
def test_the_oracle_sees_beams_of_different_lengths(model: AnyTaskModel) -> None:
    """Else the comparisons above would never meet a beam that ends early."""
    raw = [model.forward(model.preprocess(model.inputs_type(text=source, num_beams=5))) for source in SOURCES]
    assert max(len({len(each.ids) for each in hypotheses}) for text in raw for hypotheses in text) > 1


@COMPLETION
def test_greedy_search_writes_what_generate_writes(model: AnyTaskModel) -> None:
    for prompt in PROMPTS:
        inputs = model.inputs_type(prompt=prompt, strategy="greedy", max_new_tokens=12)
        ids = model.preprocess(inputs).ids
        theirs = plainly(model, ids, do_sample=False, max_new_tokens=12)
        assert generated_ids(model.answer(inputs)) == written(theirs.sequences[0], ids.shape[1], ends_of(model))


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"temperature": 1.7},
        {"top_k": 3},
        {"top_p": 0.5},
        {"temperature": 0.4, "top_k": 20, "top_p": 0.7},
        {"temperature": 1.0, "top_k": 0, "top_p": 1.0},
    ],
    ids=str,
)
@COMPLETION
def test_sampling_draws_what_generate_draws_with_the_same_seed(model: AnyTaskModel, setting: dict[str, Any]) -> None:
    settings = {"temperature": 0.8, "top_k": 50, "top_p": 0.95, **setting}
    for seed in (0, 2**31):
        inputs = model.inputs_type(prompt=PROMPTS[0], strategy="sample", max_new_tokens=12, seed=seed, **settings)
        ids = model.preprocess(inputs).ids
        torch.manual_seed(seed)
        theirs = plainly(model, ids, do_sample=True, max_new_tokens=12, logits_processor=GUARDED, **settings)
        assert generated_ids(model.answer(inputs)) == written(theirs.sequences[0], ids.shape[1], ends_of(model))


@pytest.mark.parametrize("top_k", [0, 2])
@COMPLETION
def test_guarded_sampling_draws_what_generate_draws_with_the_same_guard(model: AnyTaskModel, top_k: int) -> None:
    settings = {"temperature": 0.3, "top_k": top_k, "top_p": 0.95}
    # The likeliest tokens of the end stand there twice already.
    prompt = "the lamp and the boat, " * 2 + "the lamp and"
    inputs = model.inputs_type(prompt=prompt, max_new_tokens=24, seed=1, loop_guard=1, **settings)
    ids, output = model.preprocess(inputs).ids, model.answer(inputs)
    torch.manual_seed(1)
    guard = LogitsProcessorList([loop_guard(1)])
    theirs = plainly(model, ids, do_sample=True, max_new_tokens=24, logits_processor=guard, **settings)
    assert generated_ids(output) == written(theirs.sequences[0], ids.shape[1], ends_of(model))
    assert any(each.barred for each in output.generated)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
@COMPLETION
def test_a_steps_probabilities_are_the_models_own(model: AnyTaskModel, strategy: str) -> None:
    output: CompletionOutput = model(prompt=PROMPTS[1], strategy=strategy, max_new_tokens=8, temperature=0.5, top_k=3)
    prompt = [token.id for token in output.tokens]
    with torch.inference_mode():
        logits = model.network(input_ids=torch.tensor([[*prompt, *generated_ids(output)]])).logits[0]
    whole = byte_rule(model.tokenizer, model.settings.vocabulary)
    for position, each in enumerate(output.generated):
        plain = logits[len(prompt) + position - 1].softmax(-1)
        assert each.probability == pytest.approx(float(plain[each.token.id]), rel=1e-3, abs=1e-6)
        if whole:
            plain[list(whole.barred([*prompt, *generated_ids(output)[:position]]))] = 0
        assert [other.score for other in each.alternatives] == pytest.approx(
            plain.topk(len(each.alternatives)).values.tolist(), rel=1e-3, abs=1e-6
        )


@COMPLETION
def test_the_text_is_what_stands_behind_the_prompt(model: AnyTaskModel) -> None:
    output = model(prompt=PROMPTS[0], strategy="greedy", max_new_tokens=8)
    prompt = [token.id for token in output.tokens]
    whole = model.tokenizer.decode([*prompt, *generated_ids(output)], skip_special_tokens=True)
    assert model.tokenizer.decode(prompt, skip_special_tokens=True) + output.text == whole


@TRANSLATION
def test_candidates_are_the_decoded_hypotheses(model: AnyTaskModel) -> None:
    encoded = model.preprocess(model.inputs_type(text=SOURCES[0], num_beams=3))
    (hypotheses,) = model.forward(encoded)
    output = model(text=SOURCES[0], num_beams=3)
    assert [each.text for each in output.translations] == [
        model.tokenizer.decode(list(each.ids), skip_special_tokens=True).strip() for each in hypotheses
    ]
    assert generated_ids(output) == hypotheses[0].ids
