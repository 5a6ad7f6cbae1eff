"""Step 8 of the tab Inside: parameters counted from sizes are those in memory and papers; costs are the paper's."""

import pytest

from models.errors import InputError
from models.inside.formulas import layer_costs
from models.inside.parameters import count_parameters, gpt2_total, published_sizes
from models.registry import Task
from tests.models.conftest import BundledModel, TinyModel

NAMES = ("clearhead-minilm", "clearhead-sentiment", "clearhead-qa", "clearhead-en-fr", "clearhead-stories")


@pytest.mark.parametrize("name", NAMES)
def test_parts_counted_from_sizes_are_the_tensors_and_add_up(bundled: BundledModel, name: str) -> None:
    model = bundled(name)
    count = count_parameters(model)
    assert [each.recomputed for each in count.parts] == [each.held for each in count.parts]
    # `parameters` gives a tensor that two parts share once.
    assert sum(each.recomputed for each in count.parts) == sum(tensor.numel() for tensor in model.network.parameters())
    assert count.total == sum(each.recomputed for each in count.parts)
    assert count.width == model.network.config.hidden_size


@pytest.mark.parametrize("name", ["clearhead-minilm", "clearhead-en-fr", "clearhead-stories"])
def test_tied_weights_are_counted_once(bundled: BundledModel, name: str) -> None:
    network = bundled(name).network
    assert network.get_input_embeddings().weight is network.get_output_embeddings().weight
    twice = sum(tensor.numel() for _, tensor in network.named_parameters(remove_duplicate=False))
    assert count_parameters(bundled(name)).total < twice


@pytest.mark.parametrize(
    ("model_type", "task"),
    [("bert", Task.FILL_MASK), ("gpt2", Task.COMPLETION), ("llama", Task.COMPLETION), ("modernbert", Task.FILL_MASK)],
)
def test_other_sizes_are_counted_too(tiny: TinyModel, model_type: str, task: Task) -> None:
    count = count_parameters(tiny(model_type, task))
    assert [each.recomputed for each in count.parts] == [each.held for each in count.parts]
    assert sum(each.recomputed for each in count.parts) == count.total


def test_an_unknown_architecture_is_refused(tiny: TinyModel) -> None:
    with pytest.raises(InputError, match="not known here"):
        count_parameters(tiny("albert", Task.FILL_MASK))


def test_berts_sizes_are_the_papers() -> None:
    base, large = published_sizes()[:2]
    assert (base.parameters, large.parameters) == (109_482_240, 335_141_888)
    for size in (base, large):
        assert round(size.parameters / 1e7) * 10 == size.stated_millions
    assert [size.stated_millions for size in (base, large)] == [110, 340]


def test_gpt2s_four_sizes_are_the_papers() -> None:
    sizes = published_sizes()[2:]
    assert [round(size.parameters / 1e6) for size in sizes] == [117, 345, 762, 1542]
    assert [size.stated_millions for size in sizes] == [117, 345, 762, 1542]
    # As released, with the vocabulary of GPT-2 itself.
    released = [gpt2_total(size.layers, size.width, 50_257) for size in sizes]
    assert released == [124_439_808, 354_823_168, 774_030_080, 1_557_611_200]


def test_the_costs_of_layers_are_table_1() -> None:
    own, recurrent, convolution = layer_costs(length=10, width=4, kernel=3)
    assert (own.operations, own.sequential, own.path) == (10**2 * 4, 1, 1)
    assert (recurrent.operations, recurrent.sequential, recurrent.path) == (10 * 4**2, 10, 10)
    assert (convolution.operations, convolution.sequential, convolution.path) == (3 * 10 * 4**2, 1, 3)


@pytest.mark.parametrize(("length", "path"), [(1, 1), (3, 1), (4, 2), (9, 2), (10, 3), (27, 3)])
def test_convolutions_reach_three_times_as_far_with_each_layer(length: int, path: int) -> None:
    assert layer_costs(length, 8)[2].path == path
