"""Every shipped step shows what its sentence says: each claim is computed from the numbers that the step draws."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from demo.lectures import LectureStep, TaskView, lectures_of
from demo.log.session_log import SessionLog
from demo.runs import DemoService, Finished
from demo.settings import Limits, Settings
from demo.walk.steps import STEPS
from demo.walk.view import Inside, InsideRequest, look, look_at_source
from models.inside.outputs import Look
from models.inside.parameters import published_sizes
from models.loading.store import ModelStore
from models.outputs import (
    Attention,
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    Token,
    generated_ids,
)
from models.registry import Task

SHIPPED = lectures_of(None, tuple(step.key for step in STEPS), Limits())
Claim = Callable[["Seen"], None]
CLAIMS: dict[tuple[str, int], Claim] = {}


class Seen:
    """A step and the ways to the numbers that it draws."""

    def __init__(self, service: DemoService, step: LectureStep) -> None:
        self.service, self.step = service, step

    @property
    def inside(self) -> Inside:
        return self.service.inside

    @property
    def request(self) -> InsideRequest:
        assert isinstance(self.step.view, InsideRequest)
        return self.inside.checked(self.step.view)[0]

    @property
    def view(self) -> TaskView:
        assert isinstance(self.step.view, TaskView)
        return self.step.view

    def answer(self, **changes: object) -> Finished:
        return self.service.answer(self.view.task, {**self.view.fields, **changes}, self.view.checkpoint)

    def attention(self, kind: str = "encoder") -> Attention:
        return self.service.attention(self.answer().source)[kind]

    def look(self) -> Look:
        return look_at_source(self.inside, self.request)

    def completion(self, **changes: object) -> CompletionOutput:
        output = self.answer(**changes).output
        assert isinstance(output, CompletionOutput)
        return output


def claim(lecture: str, number: int) -> Callable[[Claim], Claim]:
    def remember(check: Claim) -> Claim:
        CLAIMS[lecture, number] = check
        return check

    return remember


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> DemoService:
    folder = tmp_path_factory.mktemp("claims")
    return DemoService(Settings(), ModelStore(), SessionLog(f"sqlite:///{folder}/runs.sqlite3"))


@pytest.mark.parametrize(
    ("lecture", "number"),
    [(name, number) for name, each in SHIPPED.items() for number in range(1, len(each.steps) + 1)],
)
def test_a_step_shows_what_its_sentence_says(service: DemoService, lecture: str, number: int) -> None:
    CLAIMS[lecture, number](Seen(service, SHIPPED[lecture].steps[number - 1]))


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text.strip() for token in tokens]


def ordered(seen: Look) -> list[tuple[str, float]]:
    """What the followed token gives its weight to, most first."""
    row = seen.numbers.weights[seen.position]
    return sorted(zip(texts(seen.tokens), map(float, row), strict=True), key=lambda each: -each[1])


@claim("attention", 1)
def _(seen: Seen) -> None:
    pieces = [piece.piece for piece in seen.inside.tokens(seen.request)[0].pieces]
    assert {"it", "animal", "street"} <= set(pieces)


@claim("attention", 2)
def _(seen: Seen) -> None:
    embedded = seen.inside.embeddings(seen.request)
    assert embedded.summed.shape[1] == 384
    assert embedded.tokens[seen.request.position].text == "it"
    np.testing.assert_allclose(sum(embedded.parts.values()), embedded.summed, atol=1e-5)
    assert "position" in embedded.parts


@claim("attention", 3)
def _(seen: Seen) -> None:
    looked = seen.look()
    assert looked.tokens[looked.position].text == "it"
    (first, largest), (second, share), *_ = ordered(looked)
    assert first == "animal" and 0.4 < largest < 0.6, "“animal” gets the largest share, about half"
    assert second == "[CLS]" and share > 0.2, "much of the rest falls to [CLS]"


@claim("attention", 4)
def _(seen: Seen) -> None:
    looked = seen.look()
    assert looked.tokens[looked.position].text == "it"
    assert ordered(looked)[0][0] == "tired"
    assert ordered(looked)[0][1] > 0.8, "nearly all"


@claim("attention", 5)
def _(seen: Seen) -> None:
    assert "it" in texts(seen.attention().query_tokens)
    assert seen.view.place.how == "mean"


@claim("attention", 6)
def _(seen: Seen) -> None:
    bert, gpt = (
        look(seen.inside, replace(seen.request, checkpoint=name, position=-1))
        for name in ("clearhead-minilm", "clearhead-stories")
    )
    later = np.triu_indices(len(gpt.tokens), 1)
    assert (gpt.numbers.weights[later] == 0).all() and gpt.numbers.masked[later].all(), "their shares are 0"
    assert (bert.numbers.weights[np.triu_indices(len(bert.tokens), 1)] > 0).all(), "BERT looks both ways"


@claim("attention", 7)
def _(seen: Seen) -> None:
    names = [stage.name.lower() for stage in seen.look().block.stages]
    assert seen.look().block.deviation < 1e-4, "the stations lead to the layer's own output"
    assert len(names) >= 4


@claim("attention", 8)
def _(seen: Seen) -> None:
    steps = seen.inside.translation(seen.request)
    assert "".join(each.token.text for each in steps.generated).replace("</s>", "").strip().startswith("La voiture")
    looks = steps.cross.mean(axis=(0, 1)).argmax(axis=-1)
    assert len({int(place) for place in looks}) > 3, "where it looks moves along"


@claim("bert", 1)
def _(seen: Seen) -> None:
    output = seen.answer().output
    assert isinstance(output, FillMaskOutput)
    assert len(output.predictions) == 1


@claim("bert", 2)
def _(seen: Seen) -> None:
    attention = seen.attention()
    words = texts(attention.query_tokens)
    blank = words.index("[MASK]")
    row = attention.weights[seen.view.place.layer - 1, :, blank].mean(axis=0)
    assert row[1:blank].max() > 0.02 and row[blank + 1 : -1].max() > 0.02, "from both sides"


@claim("bert", 3)
def _(seen: Seen) -> None:
    output = seen.answer().output
    assert isinstance(output, FillMaskOutput)
    assert output.predictions[0][0].text == "dog"


@claim("bert", 4)
def _(seen: Seen) -> None:
    pieces = seen.inside.tokens(seen.request)[0].pieces
    assert {piece.segment for piece in pieces} == {0, 1}
    assert all(piece.attended for piece in pieces)


@claim("bert", 5)
def _(seen: Seen) -> None:
    embedded = seen.inside.embeddings(seen.request)
    assert set(embedded.parts) == {"token", "segment", "position"}
    assert embedded.normed is not None
    lengths = [np.linalg.norm(vectors, axis=1) for vectors in (embedded.summed, embedded.normed)]
    assert lengths[1].std() / lengths[1].mean() < lengths[0].std() / lengths[0].mean(), "evened out by layer norm"


@claim("bert", 6)
def _(seen: Seen) -> None:
    lens = look(seen.inside, seen.request).lens
    assert lens is not None
    best = [layer.guesses[0].text for layer in lens.layers]
    answer = seen.service.answer(Task.FILL_MASK, {"text": seen.request.text, "top_k": 1}).output
    assert isinstance(answer, FillMaskOutput)
    assert best[-1] == answer.predictions[0][0].text, "what the model would put in the blank"
    assert len(set(best)) > 1, "the guess changes on the way up"


@claim("bert", 7)
def _(seen: Seen) -> None:
    output = seen.answer().output
    assert isinstance(output, SentimentOutput)
    assert output.label == "positive"


@claim("bert", 8)
def _(seen: Seen) -> None:
    output = seen.answer().output
    assert isinstance(output, QuestionAnsweringOutput)
    assert output.answers[0].text == "1271"


@claim("bert", 9)
def _(seen: Seen) -> None:
    count = seen.inside.parameters(seen.request)
    assert sum(part.recomputed for part in count.parts) == count.total
    stated = {size.name: size.stated_millions for size in published_sizes()}
    assert {name: stated[name] for name in ("BERT-base", "BERT-large")} == {"BERT-base": 110, "BERT-large": 340}


@claim("gpt-2", 1)
def _(seen: Seen) -> None:
    texts_in = {each.scheme: each for each in seen.inside.tokens(seen.request)}
    assert any(piece.piece.startswith("Ġ") for piece in texts_in["byte-level"].pieces)


@claim("gpt-2", 2)
def _(seen: Seen) -> None:
    numbers = look(seen.inside, seen.request).numbers
    assert numbers.masked[np.triu_indices(len(numbers.masked), 1)].all()


@claim("gpt-2", 3)
def _(seen: Seen) -> None:
    lens = look(seen.inside, seen.request).lens
    assert lens is not None and lens.about == "next word"
    assert len(lens.layers) == 1 + seen.look().layers, "the guess after every layer"


@claim("gpt-2", 4)
def _(seen: Seen) -> None:
    for token in seen.completion().generated:
        assert token.probability >= max(each.score for each in token.alternatives)


@claim("gpt-2", 5)
def _(seen: Seen) -> None:
    assert seen.completion().text == seen.completion().text, "the seed is fixed"
    assert seen.completion().text != seen.completion(seed=2).text


@claim("gpt-2", 6)
def _(seen: Seen) -> None:
    hot, usual = (seen.completion(**{"temperature": temperature}) for temperature in (2.0, 0.8))
    mean = [np.mean([token.probability for token in each.generated]) for each in (hot, usual)]
    assert mean[0] < mean[1], "all tokens almost equally likely"


@claim("gpt-2", 7)
def _(seen: Seen) -> None:
    assert any(token.barred for token in seen.completion().generated), "the loop guard bars something"
    sentences = seen.completion(loop_guard=0).text.split(". ")
    assert max(map(sentences.count, sentences)) >= 3, "without it the model says the same again and again"


@claim("gpt-2", 8)
def _(seen: Seen) -> None:
    beam, greedy = seen.completion(), seen.completion(strategy="greedy")
    likelihood = [sum(np.log(token.probability) for token in each.generated) for each in (beam, greedy)]
    if generated_ids(beam) == generated_ids(greedy):
        assert likelihood[0] == pytest.approx(likelihood[1])
    else:
        assert likelihood[0] > likelihood[1], "it ends with a likelier text"


@claim("gpt-2", 9)
def _(seen: Seen) -> None:
    written = seen.completion().text.removeprefix(str(seen.view.fields["prompt"]))
    words = [word for word in written.replace(",", " ").split() if word]
    assert "green" not in words[:1] or len(set(words)) == 1, "this small model does not go on with the pattern"


@claim("gpt-2", 10)
def _(seen: Seen) -> None:
    stated = [size.stated_millions for size in published_sizes() if size.name.startswith("GPT-2")]
    assert stated == [117, 345, 762, 1542]
