"""Looking again at a run: with heads off, with another word, for what each token did; never logged, soon answered."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from demo.log.session_log import SessionLog
from demo.looks import AttentionSource
from demo.runs import OUR_FAULT, DemoService
from demo.settings import Limits, Settings
from models.errors import InputError
from models.loading.store import ModelStore
from models.outputs import SentimentOutput, SwitchedOff, TranslationOutput, generated_ids
from models.registry import Task, find
from tests.service.scripted import ScriptedModel, ScriptedStore, TextInput

LOVELY = {"text": "What a lovely film."}


@pytest.fixture(scope="module")
def store() -> ModelStore:
    return ModelStore()


@pytest.fixture
def service(store: ModelStore, tmp_path: Path) -> DemoService:
    return DemoService(Settings(limits=Limits(word=40)), store, SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3"))


@pytest.fixture
def source(service: DemoService) -> AttentionSource:
    return service.run("visitor", Task.SENTIMENT, LOVELY).source


def test_a_layer_that_is_switched_off_changes_the_answer_and_no_other_run(
    service: DemoService, source: AttentionSource, store: ModelStore
) -> None:
    changed = service.ablate(source, layer=0)
    before, after = cast(SentimentOutput, changed.before), cast(SentimentOutput, changed.after)
    shown = cast(SentimentOutput, service.run("visitor", Task.SENTIMENT, LOVELY).output)
    assert before == store.load(find("sentiment")).exact(**LOVELY)
    assert (before.label, before.tokens, before.checkpoint.engine) == (shown.label, shown.tokens, "torch")
    assert [each.score for each in before.scores] == pytest.approx([each.score for each in shown.scores], abs=1e-4)
    assert before.scores != after.scores
    assert changed.source == replace(source, switched_off=SwitchedOff("encoder", 0))
    assert len(service.history("visitor")) == 2


def test_attention_without_a_head_is_that_of_the_model_without_it(
    service: DemoService, source: AttentionSource, store: ModelStore
) -> None:
    changed = service.ablate(source, layer=0, head=3)
    # While somebody listens, transformers reads, with the head and without it, and adds up in one order.
    listening = store.load(find("sentiment")).network.base_model.register_forward_pre_hook(lambda *_: None)
    whole, part = (service.attention(each)["encoder"].weights for each in (source, changed.source))
    listening.remove()
    assert (whole[0] == part[0]).all()
    assert np.abs(whole[1] - part[1]).max() > 1e-3


def test_each_kind_of_attention_of_a_translation_can_be_switched_off(service: DemoService) -> None:
    source = service.run("visitor", Task.TRANSLATION, {"text": "The dog sleeps.", "num_beams": 1}).source
    changed = [service.ablate(source, 0, kind=kind) for kind in ("", "cross", "encoder", "decoder")]
    assert changed[0] is not changed[1]
    assert changed[0].after == changed[1].after
    assert len({str(cast(TranslationOutput, each.after).translations) for each in changed}) == 3
    assert all(each.source.written == generated_ids(each.after) for each in changed)


def test_another_word_gives_another_answer_and_its_own_attention(service: DemoService, source: AttentionSource) -> None:
    changed = service.replace_token(source, 3, "dreadful")
    assert dict(changed.source.inputs)["text"] == "What a dreadful film."
    assert [cast(SentimentOutput, each).label for each in (changed.before, changed.after)] == ["positive", "negative"]
    assert "dreadful" in [token.text for token in service.attention(changed.source)["encoder"].key_tokens]
    masked = service.replace_token(source, 3, "")
    assert dict(masked.source.inputs)["text"] == "What a [MASK] film."


def test_a_change_can_be_made_upon_a_change(service: DemoService, source: AttentionSource, store: ModelStore) -> None:
    first = service.replace_token(source, 3, "dreadful")
    second = service.replace_token(first.source, 4, "book")
    assert dict(second.source.inputs)["text"] == "What a dreadful book."
    assert second.before == first.after
    off = cast(SentimentOutput, service.ablate(second.source, 0).before)
    after = cast(SentimentOutput, second.after)
    assert off == store.load(find("sentiment")).exact(text="What a dreadful book.")
    assert off.tokens == after.tokens
    assert [each.score for each in off.scores] == pytest.approx([each.score for each in after.scores], abs=1e-4)


def test_a_look_that_was_just_taken_is_not_taken_again(
    service: DemoService, source: AttentionSource, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Callable[[], Any]] = [
        lambda: service.attribution(source),
        lambda: service.ablate(source, 1).after,
        lambda: service.replace_token(source, 3, "dull").after,
    ]
    first = [look() for look in looks]
    model = store.load(find(source.checkpoint))
    monkeypatch.setattr(model, "forward", lambda _encoded: pytest.fail("asked again"))
    assert [look() for look in looks] == first


def test_attribution_of_the_answer_and_of_another_label(service: DemoService, source: AttentionSource) -> None:
    answer = service.attribution(source)
    other = service.attribution(source, "negative")
    assert (answer.target, other.target) == ("positive", "negative")
    assert [token.text for token in answer.tokens] == ["[CLS]", "what", "a", "lovely", "film", ".", "[SEP]"]
    assert answer.scores.index(max(answer.scores)) == 3


@pytest.mark.parametrize(
    ("look", "field"),
    [
        (lambda service, source: service.ablate(source, 99), "layer"),
        (lambda service, source: service.ablate(source, 0, 99), "head"),
        (lambda service, source: service.ablate(source, 0, kind="cross"), "kind"),
        (lambda service, source: service.replace_token(source, 99, "x"), "position"),
        (lambda service, source: service.replace_token(source, 0, "x"), "position"),
        (lambda service, source: service.replace_token(source, 1, "x" * 41), "token"),
        (lambda service, source: service.replace_token(source, 1, 5), "token"),
        (lambda service, source: service.attribution(source, "mixed"), "target"),
        (lambda service, source: service.attribution(source, "x" * 41), "target"),
        (lambda service, source: service.attribution(source, "\ud800"), "target"),
    ],
)
def test_what_cannot_be_looked_at_is_said_in_one_sentence(
    look: Callable[[DemoService, AttentionSource], Any], field: str, service: DemoService, source: AttentionSource
) -> None:
    with pytest.raises(InputError) as refused:
        look(service, source)
    assert refused.value.field == field


def test_a_text_that_grows_too_long_by_a_word_is_refused(service: DemoService, source: AttentionSource) -> None:
    service = DemoService(Settings(limits=Limits(text=20)), service._store, service._runs)
    with pytest.raises(InputError, match="at most 20"):
        service.replace_token(source, 3, "magnificent")


def test_a_failure_of_ours_is_told_without_its_details(tmp_path: Path) -> None:
    def failing(_inputs: Any) -> Any:
        raise RuntimeError("a secret at /home/host/weights")

    store = ScriptedStore(ScriptedModel(failing, TextInput))
    service = DemoService(Settings(), cast(ModelStore, store), SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3"))
    broken = AttentionSource(Task.SENTIMENT, "clearhead-sentiment", (("text", "no"),), ())
    with pytest.raises(InputError) as told:
        service.ablate(broken, 0)
    assert told.value.sentence == OUR_FAULT
