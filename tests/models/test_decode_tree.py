"""The tree of three strategies: its paths are what `generate` writes, and its numbers are the model's own."""

from collections.abc import Iterator

import pytest
import torch

from models.errors import InputError
from models.explain.strategy_tree import decode_tree
from models.outputs import DecodeTree
from models.registry import Task
from models.tasks.base import AnyTaskModel
from models.tasks.text_generation import TextGeneration
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import whole_characters

PROMPT = "The boats turned"
EVERY = pytest.mark.parametrize("which", [*FITTING[Task.COMPLETION], "clearhead-stories"])


@pytest.fixture
def model(which: str, tiny: TinyModel, bundled: BundledModel) -> Iterator[AnyTaskModel]:
    yield bundled(which) if which.startswith("clearhead") else tiny(which, Task.COMPLETION)


def grown(model: AnyTaskModel, **changes: object) -> DecodeTree:
    assert isinstance(model, TextGeneration)
    return decode_tree(model, model.inputs_type(**{"prompt": PROMPT, "num_beams": 3, "max_new_tokens": 8, **changes}))


def path_of(tree: DecodeTree, strategy: str) -> tuple[int, ...]:
    return tuple(node.token_id for node in tree.nodes if strategy in node.strategies)


@pytest.mark.parametrize("num_beams", [1, 2, 5, 8])
@EVERY
def test_greedy_and_beam_search_write_what_generate_writes(model: AnyTaskModel, num_beams: int) -> None:
    tree = grown(model, num_beams=num_beams)
    ids = torch.from_numpy(model.preprocess(model.inputs_type(prompt=PROMPT)).ids)
    for strategy, beams in (("greedy", 1), ("beam", num_beams)):
        (theirs,) = model.network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            num_beams=beams,
            max_new_tokens=8,
            pad_token_id=0,
            logits_processor=whole_characters(model),
        )
        expected = tuple(theirs[ids.shape[1] :].tolist())
        assert path_of(tree, strategy) == tree.text_of(strategy).ids == expected[: len(path_of(tree, strategy))]
        assert set(expected[len(path_of(tree, strategy)) :]) <= {0, model.network.generation_config.pad_token_id}


@EVERY
def test_sampling_draws_the_text_of_its_seed(model: AnyTaskModel) -> None:
    settings = {"seed": 4, "temperature": 1.5, "top_k": 0, "top_p": 1.0}
    alone = model(prompt=PROMPT, strategy="sample", max_new_tokens=8, **settings)
    assert grown(model, **settings).text_of("sample").text == alone.text


@EVERY
def test_every_node_stands_behind_its_parent_with_the_models_own_number(model: AnyTaskModel) -> None:
    tree = grown(model)
    root, *others = tree.nodes
    assert (root.id, root.parent, root.depth, root.total) == (0, -1, 0, 0.0)
    assert [node.id for node in tree.nodes] == list(range(len(tree.nodes)))
    prompt = model.preprocess(model.inputs_type(prompt=PROMPT)).ids[0].tolist()
    texts = {0: prompt}
    for node in others:
        parent = tree.nodes[node.parent]
        assert node.parent < node.id and node.depth == parent.depth + 1
        assert node.total == pytest.approx(parent.total + node.log_probability)
        texts[node.id] = [*texts[node.parent], node.token_id]
    for node in others[:: max(1, len(others) // 12)]:
        with torch.inference_mode():
            logits = model.network(input_ids=torch.tensor([texts[node.parent]])).logits[0, -1]
        assert node.log_probability == pytest.approx(float(logits.log_softmax(-1)[node.token_id]), rel=1e-3, abs=1e-4)


@EVERY
def test_beams_that_were_dropped_are_told_from_those_that_went_on(model: AnyTaskModel) -> None:
    tree = grown(model)
    parents = {node.parent for node in tree.nodes if node.weighed}
    for depth in range(1, 8):
        weighed = [node for node in tree.nodes if node.depth == depth and node.weighed]
        on = [node for node in weighed if node.kept and not node.ended]
        assert len(on) == 3
        dropped = [node for node in weighed if not node.kept]
        assert dropped and not parents & {node.id for node in dropped}
    assert all(node.kept for node in tree.nodes if "beam" in node.strategies)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"max_new_tokens": 41}, "from 1 to 40"), ({"max_new_tokens": 0}, "from 1 to 40"), ({"num_beams": 9}, "1 to 8")],
)
@pytest.mark.parametrize("which", ["gpt2"])
def test_what_is_out_of_range_is_refused(model: AnyTaskModel, changes: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        grown(model, **changes)
