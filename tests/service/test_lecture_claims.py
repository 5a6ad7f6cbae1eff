"""Every shipped step shows what its sentence says: each claim is computed from the numbers that the step draws."""

from dataclasses import replace
from itertools import combinations
from time import perf_counter

import numpy as np
import pytest

from demo.lectures import LectureStep, TaskView, lectures_of
from demo.runs import DemoService, Finished
from demo.settings import Limits
from demo.walk.memory import memory_picture
from demo.walk.steps import STEPS
from demo.walk.view import Inside, InsideRequest
from models.inside.outputs import Look
from models.inside.parameters import published_sizes
from models.loading.store import ModelStore
from models.outputs.attention import Attention
from models.outputs.base import Token
from models.outputs.before import GenerationRow, GenerationsOutput
from models.outputs.encoders import (
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.vectors import TeachOutput, WordInContextOutput
from models.outputs.writing import CompletionOutput, generated_ids
from models.registry import Task, find
from models.tasks.teach import BAG_OF_WORDS, BERT, RANDOM_WEIGHTS, Teach, TeachInput, classifier

SHIPPED = lectures_of(None, tuple(step.key for step in STEPS), Limits())
ADDING_UP = ("bag_of_words", "cbow", "deep_cbow", "deep_averaging")
"""The models that add up numbers of words, wherever these stand."""


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text.strip() for token in tokens]


def ordered(seen: Look) -> list[tuple[str, float]]:
    """What the followed token gives its weight to, most first."""
    row = seen.numbers.weights[seen.position]
    return sorted(zip(texts(seen.tokens), map(float, row), strict=True), key=lambda each: -each[1])


class Seen:
    """A step, the ways to the numbers that it draws, and what its sentence claims: by lecture and number."""

    def __init__(self, service: DemoService, store: ModelStore, step: LectureStep) -> None:
        self.service, self.store, self.step = service, store, step

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
        return self.inside.look_at_source(self.request)

    def completion(self, **changes: object) -> CompletionOutput:
        output = self.answer(**changes).output
        assert isinstance(output, CompletionOutput)
        return output

    def names(self) -> NamesOutput:
        output = self.answer().output
        assert isinstance(output, NamesOutput)
        return output

    def pair(self, **changes: object) -> SentencePairOutput:
        output = self.answer(**changes).output
        assert isinstance(output, SentencePairOutput)
        return output

    def word(self) -> WordInContextOutput:
        output = self.answer().output
        assert isinstance(output, WordInContextOutput)
        return output

    def taught(self) -> TeachOutput:
        output = self.answer().output
        assert isinstance(output, TeachOutput)
        return output

    def generations(self) -> dict[str, GenerationRow]:
        output = self.answer().output
        assert isinstance(output, GenerationsOutput)
        return {each.key: each for each in output.rows}

    def attention_1(self) -> None:
        pieces = [piece.piece for piece in self.inside.tokens(self.request)[0].pieces]
        assert {"it", "animal", "street"} <= set(pieces)

    def attention_2(self) -> None:
        embedded = self.inside.embeddings(self.request)
        assert embedded.summed.shape[1] == 384
        assert embedded.tokens[self.request.position].text == "it"
        np.testing.assert_allclose(sum(embedded.parts.values()), embedded.summed, atol=1e-5)
        assert "position" in embedded.parts

    def attention_3(self) -> None:
        looked = self.look()
        assert looked.tokens[looked.position].text == "it"
        (first, largest), (second, share), *_ = ordered(looked)
        assert first == "animal" and 0.4 < largest < 0.6, "“animal” gets the largest share, about half"
        assert second == "[CLS]" and share > 0.2, "much of the rest falls to [CLS]"

    def attention_4(self) -> None:
        looked = self.look()
        assert looked.tokens[looked.position].text == "it"
        assert ordered(looked)[0][0] == "tired"
        assert ordered(looked)[0][1] > 0.8, "nearly all"

    def attention_5(self) -> None:
        assert "it" in texts(self.attention().query_tokens)
        assert self.view.place.how == "mean"

    def attention_6(self) -> None:
        bert, gpt = (
            self.inside.look(replace(self.request, checkpoint=name, position=-1))
            for name in ("clearhead-minilm", "clearhead-stories")
        )
        later = np.triu_indices(len(gpt.tokens), 1)
        assert (gpt.numbers.weights[later] == 0).all() and gpt.numbers.masked[later].all(), "their shares are 0"
        assert (bert.numbers.weights[np.triu_indices(len(bert.tokens), 1)] > 0).all(), "BERT looks both ways"

    def attention_7(self) -> None:
        names = [stage.name.lower() for stage in self.look().block.stages]
        assert self.look().block.deviation < 1e-4, "the stations lead to the layer's own output"
        assert len(names) >= 4

    def attention_8(self) -> None:
        steps = self.inside.translation(self.request)
        assert "".join(each.token.text for each in steps.generated).replace("</s>", "").strip().startswith("La voiture")
        looks = steps.cross.mean(axis=(0, 1)).argmax(axis=-1)
        assert len({int(place) for place in looks}) > 3, "where it looks moves along"

    def bert_1(self) -> None:
        output = self.answer().output
        assert isinstance(output, FillMaskOutput)
        assert len(output.predictions) == 1

    def bert_2(self) -> None:
        attention = self.attention()
        words = texts(attention.query_tokens)
        blank = words.index("[MASK]")
        row = attention.weights[self.view.place.layer - 1, :, blank].mean(axis=0)
        assert row[1:blank].max() > 0.02 and row[blank + 1 : -1].max() > 0.02, "from both sides"

    def bert_3(self) -> None:
        output = self.answer().output
        assert isinstance(output, FillMaskOutput)
        assert output.predictions[0][0].text == "dog"

    def bert_4(self) -> None:
        pieces = self.inside.tokens(self.request)[0].pieces
        assert {piece.segment for piece in pieces} == {0, 1}
        assert all(piece.attended for piece in pieces)

    def bert_5(self) -> None:
        embedded = self.inside.embeddings(self.request)
        assert set(embedded.parts) == {"token", "segment", "position"}
        assert embedded.normed is not None
        lengths = [np.linalg.norm(vectors, axis=1) for vectors in (embedded.summed, embedded.normed)]
        assert lengths[1].std() / lengths[1].mean() < lengths[0].std() / lengths[0].mean(), "evened out by layer norm"

    def bert_6(self) -> None:
        lens = self.inside.look(self.request).lens
        assert lens is not None
        best = [layer.guesses[0].text for layer in lens.layers]
        answer = self.service.answer(Task.FILL_MASK, {"text": self.request.text, "top_k": 1}).output
        assert isinstance(answer, FillMaskOutput)
        assert best[-1] == answer.predictions[0][0].text, "what the model would put in the blank"
        assert len(set(best)) > 1, "the guess changes on the way up"

    def bert_7(self) -> None:
        output = self.answer().output
        assert isinstance(output, SentimentOutput)
        assert output.label == "positive"

    def bert_8(self) -> None:
        output = self.answer().output
        assert isinstance(output, QuestionAnsweringOutput)
        assert output.answers[0].text == "1271"

    def bert_9(self) -> None:
        count = self.inside.parameters(self.request)
        assert sum(part.recomputed for part in count.parts) == count.total
        stated = {size.name: size.stated_millions for size in published_sizes()}
        assert {name: stated[name] for name in ("BERT-base", "BERT-large")} == {"BERT-base": 110, "BERT-large": 340}

    def gpt_2_1(self) -> None:
        texts_in = {each.scheme: each for each in self.inside.tokens(self.request)}
        assert any(piece.piece.startswith("Ġ") for piece in texts_in["byte-level"].pieces)

    def gpt_2_2(self) -> None:
        numbers = self.inside.look(self.request).numbers
        assert numbers.masked[np.triu_indices(len(numbers.masked), 1)].all()

    def gpt_2_3(self) -> None:
        lens = self.inside.look(self.request).lens
        assert lens is not None and lens.about == "next word"
        assert len(lens.layers) == 1 + self.look().layers, "the guess after every layer"

    def gpt_2_4(self) -> None:
        for token in self.completion().generated:
            assert token.probability >= max(each.score for each in token.alternatives)

    def gpt_2_5(self) -> None:
        assert self.completion().text == self.completion().text, "the seed is fixed"
        assert self.completion().text != self.completion(seed=2).text

    def gpt_2_6(self) -> None:
        hot, usual = (self.completion(**{"temperature": temperature}) for temperature in (2.0, 0.8))
        mean = [np.mean([token.probability for token in each.generated]) for each in (hot, usual)]
        assert mean[0] < mean[1], "all tokens almost equally likely"

    def gpt_2_7(self) -> None:
        assert any(token.barred for token in self.completion().generated), "the loop guard bars something"
        sentences = self.completion(loop_guard=0).text.split(". ")
        assert max(map(sentences.count, sentences)) >= 3, "without it the model says the same again and again"

    def gpt_2_8(self) -> None:
        beam, greedy = self.completion(), self.completion(strategy="greedy")
        likelihood = [sum(np.log(token.probability) for token in each.generated) for each in (beam, greedy)]
        if generated_ids(beam) == generated_ids(greedy):
            assert likelihood[0] == pytest.approx(likelihood[1])
        else:
            assert likelihood[0] > likelihood[1], "it ends with a likelier text"

    def gpt_2_9(self) -> None:
        written = self.completion().text.removeprefix(str(self.view.fields["prompt"]))
        words = [word for word in written.replace(",", " ").split() if word]
        assert "green" not in words[:1] or len(set(words)) == 1, "this small model does not go on with the pattern"

    def gpt_2_10(self) -> None:
        stated = [size.stated_millions for size in published_sizes() if size.name.startswith("GPT-2")]
        assert stated == [117, 345, 762, 1542]

    def how_bert_is_used_1(self) -> None:
        output = self.names()
        assert texts(output.tokens) == ["[CLS]", *(each.token.text for each in output.labels), "[SEP]"]
        assert [(each.text, each.label) for each in output.entities] == [("Jim Henson", "person")]
        labels = {each.token.text: each.label for each in output.labels}
        assert labels["puppet"] != "X" and labels["##eer"] == "X", "only the first piece of a word counts"
        assert all((each.label == "X") == each.token.text.startswith("##") for each in output.labels)

    def how_bert_is_used_2(self) -> None:
        output = self.names()
        assert [each.label for each in output.entities] == ["person", "place", "organisation"]
        found = [output.at(each.start).token for each in output.entities]
        assert {each.text for each in found} == {"washington"}
        assert len({each.id for each in found}) == 1, "one row of the table of embeddings"

    def how_bert_is_used_3(self) -> None:
        output = self.pair()
        read = texts(output.tokens)
        first = read.index("[SEP]")
        assert read[0] == "[CLS]" and read[-1] == "[SEP]" and read.count("[SEP]") == 2
        assert "store" in read[:first] and "milk" in read[first:]
        assert output.segments == (0,) * (first + 1) + (1,) * (len(read) - first - 1)
        assert output.follows > 0.5, "he would buy milk next"

    def how_bert_is_used_4(self) -> None:
        follows = self.pair().follows
        assert follows < 0.5, "penguins do not follow"
        assert follows < self.pair(b="He bought a gallon of milk.").follows - 0.2, "what followed a step ago"

    def how_bert_is_used_5(self) -> None:
        output = self.pair()
        implied = max(output.entailment, key=lambda each: each.score)
        assert implied.text == "contradiction" and implied.score > 0.5
        likeliest = self.pair(a="The man went to the store.", b="He bought a gallon of milk.")
        entailed = next(each.score for each in likeliest.entailment if each.text == "entailment")
        assert likeliest.follows > 0.5 > 2 * entailed, "next, and not implied"
        segments = np.array(output.segments)
        across = self.attention().weights * (segments[:, None] != segments)
        shares = across.sum(axis=-1).mean(axis=(0, 1))
        assert (shares > 0.05).all() and (shares < 0.95).all(), "from each token some of the weight crosses"

    def how_bert_is_used_6(self) -> None:
        output = self.word()
        money = {"banks", "banking", "credit", "investment", "lender", "securities", "savings", "monetary"}
        assert {each.text for each in output.static_neighbours} == money
        cosines = np.array(output.layers[output.telling])
        assert (cosines[np.triu_indices(5, 1)] < 0.99).all(), "a vector of its own in each sentence"
        river, others = [1, 3], [0, 2, 4]
        assert all("river" in each or "stream" in each for each in (output.occurrences[i].sentence for i in river))
        across = cosines[np.ix_(river, others)].max()
        assert across < cosines[1, 3] and across < cosines[np.ix_(others, others)].min(), "those of the river apart"

    def how_bert_is_used_7(self) -> None:
        output = self.word()
        fitting = [{word.text for word in each.fitting} for each in output.occurrences]
        thing, quality, act = fitting[0] | fitting[2], fitting[1] | fitting[4], fitting[3]
        assert not (thing & quality or thing & act or quality & act), "the words that fit tell them apart"
        assert "cold" in fitting[1] & fitting[4]
        for layer in (3, 4):
            cosines = np.array(output.layers[layer])
            pairs = {(i, k): cosines[i, k] for i in range(5) for k in range(i + 1, 5)}
            assert set(sorted(pairs, key=lambda pair: -pairs[pair])[:2]) == {(0, 2), (1, 4)}, "so do the vectors"
        assert {3, 4} <= {*range(1, output.depth - 1)}, "these are in the middle"

    def how_bert_is_used_8(self) -> None:
        model = self.store.load(find(self.view.checkpoint, Task.TEACH), task=Task.TEACH)
        assert isinstance(model, Teach)
        before = {name: each.clone() for name, each in model.network.state_dict().items()}
        output = self.taught()
        assert all((before[name] == each).all() for name, each in model.network.state_dict().items()), "as it is"
        assert output.predictions[0].label == "polite"
        assert output.accuracy > 0.8 and output.measured_on == "kept"
        inputs = TeachInput(tuple(map(tuple, self.view.fields["examples"])))
        encoded = model.preprocess(inputs)
        vectors = model.vectors(model.network.base_model, encoded.rows)
        start = perf_counter()
        classifier(BERT).fit(vectors, [label for _, label in encoded.examples])
        assert perf_counter() - start < 1, "in less than a second"

    def how_bert_is_used_9(self) -> None:
        output = self.taught()
        assert output.chance == 0.5, "guessing would get half"
        assert output.predictions[0].label == "question"
        curves = {each.representation: each for each in output.curve}
        assert {*curves} == {BERT, BAG_OF_WORDS, RANDOM_WEIGHTS}
        for place, count in enumerate(curves[BERT].examples_per_class):
            others = max(curves[name].accuracy[place] for name in (BAG_OF_WORDS, RANDOM_WEIGHTS))
            assert curves[BERT].accuracy[place] > others + 0.1 * (count >= 2), "worth more than both"

    def how_bert_is_used_10(self) -> None:
        tasks = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES, Task.SENTENCE_PAIR)
        networks = [self.store.load(find("", task)).network for task in tasks]
        trunks = [dict(each.base_model.named_parameters()) for each in networks]
        words = "embeddings.word_embeddings.weight"
        for network, trunk in zip(networks, trunks, strict=True):
            shapes, of_first = (
                {name: value.shape for name, value in each.items() if name.startswith("encoder.")}
                for each in (trunk, trunks[0])
            )
            assert shapes == of_first, "layers of the same shape"
            assert (trunk[words] == trunks[0][words]).all(), "the same embeddings"
            layers_and_embeddings = {id(value) for name, value in trunk.items() if not name.startswith("pooler.")}
            of_head = sum(each.numel() for each in network.parameters() if id(each) not in layers_and_embeddings)
            assert 0 < of_head < 0.01 * sum(each.numel() for each in network.parameters()), "a small head"
        last = [trunk["encoder.layer.5.output.dense.weight"] for trunk in trunks]
        assert all((one != other).any() for one, other in combinations(last, 2)), "tuned to each task"
        output = self.answer().output
        assert isinstance(output, SentimentOutput)
        assert output.label == "positive"

    def from_words_to_transformers_1(self) -> None:
        rows = self.generations()
        assert all(rows[each].positive == rows[each].changed_positive for each in ADDING_UP), "the same bag"
        assert rows["bert"].changes_its_mind

    def from_words_to_transformers_2(self) -> None:
        rows = self.generations()
        assert all(rows[each].label == "positive" for each in ADDING_UP)
        for name in ("bag_of_ngrams", "convolution"):
            assert rows[name].label == "negative" and rows[name].changes_its_mind

    def from_words_to_transformers_3(self) -> None:
        rows = self.generations()
        assert rows["bag_of_words"].label == "positive" and not rows["bag_of_words"].changes_its_mind
        for name in ("lstm", "bilstm", "fine_tuned"):
            assert rows[name].label == "negative" and rows[name].changes_its_mind

    def from_words_to_transformers_4(self) -> None:
        assert [name for name, row in self.generations().items() if row.label == "positive"] == ["bert"]

    def from_words_to_transformers_5(self) -> None:
        reading = self.service.generations(self.answer().source)
        assert {each.key for each in reading.untrained} == {"elman", "lstm"}
        for each in reading.untrained:
            assert each.lengths[-1] > 10_000 * each.lengths[0]
        assert self.generations()["bert"].label == "negative", "the last word decides"

    def from_words_to_transformers_6(self) -> None:
        rows = self.generations()
        assert len(rows) == 12 and all(row.label == "positive" for row in rows.values())

    def from_words_to_transformers_7(self) -> None:
        for token in self.completion().generated:
            assert token.alternatives and token.probability >= token.alternatives[0].score

    def from_words_to_transformers_8(self) -> None:
        output = self.word()
        seasons = {"autumn", "winter", "fall", "summer", "harvest", "rainy", "snow"}
        assert len(seasons & {each.text for each in output.static_neighbours}) == len(output.static_neighbours) - 1
        cosines = np.array(output.layers[output.telling])
        across = cosines[np.ix_([0, 2], [1, 3])].max()
        assert cosines[0, 2] > across and cosines[1, 3] > across, "the season's stand together, and the coil's"

    def from_words_to_transformers_9(self) -> None:
        output = self.answer().output
        assert isinstance(output, FillMaskOutput)
        assert {"side", "edge", "banks"} <= {each.text for each in output.predictions[0]}

    def from_words_to_transformers_10(self) -> None:
        (first, _), *_ = ordered(self.look())
        assert first == "animal", "it takes most from “animal”"

    def from_words_to_transformers_11(self) -> None:
        self.attention_2()

    def from_words_to_transformers_12(self) -> None:
        assert self.step.picture == 2
        assert "6 layers × 4 tokens = 24 more" in memory_picture(4, 6, 43)


@pytest.mark.parametrize(
    ("lecture", "number"),
    [(name, number) for name, each in SHIPPED.items() for number in range(1, len(each.steps) + 1)],
)
def test_a_step_shows_what_its_sentence_says(
    service: DemoService, store: ModelStore, lecture: str, number: int
) -> None:
    seen = Seen(service, store, SHIPPED[lecture].steps[number - 1])
    getattr(seen, f"{lecture}_{number}".replace("-", "_"))()
