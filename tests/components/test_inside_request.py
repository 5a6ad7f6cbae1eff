"""A view of the tab Inside is written into an address and read back, with defaults for what is misspelt."""

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from demo.recorded import inside_examples, recorded_tokens
from demo.walk.steps import STEPS
from demo.walk.view import InsideRequest, from_query

OTHERWISE = InsideRequest("tokens", "A text.", "clearhead-minilm", 1, 2, 3)


@given(
    st.builds(
        InsideRequest,
        st.sampled_from([step.key for step in STEPS]),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.sampled_from(["clearhead-minilm", "clearhead-stories"]),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(-99, 99),
    )
)
def test_a_view_is_the_same_after_its_address(request: InsideRequest) -> None:
    assert from_query(dict(parse_qsl(request.to_query()[1:], strict_parsing=True)), OTHERWISE) == request


def test_an_address_without_a_step_asks_for_nothing() -> None:
    assert from_query({"text": "A text.", "layer": "3"}, OTHERWISE) is None


def test_what_an_address_leaves_out_or_misspells_is_as_it_opens() -> None:
    assert from_query({"inside": "vectors"}, OTHERWISE) == InsideRequest(
        "vectors", "A text.", "clearhead-minilm", 1, 2, 3
    )
    odd = {"inside": "vectors", "layer": "two", "head": "9" * 5000, "position": "²"}
    assert from_query(odd, OTHERWISE) == InsideRequest("vectors", "A text.", "clearhead-minilm", 1, 2, 3)


def test_addresses_count_from_1_as_the_page_does_and_older_ones_from_0() -> None:
    asked = InsideRequest("head", "A text.", "clearhead-minilm", 3, 1, 10)
    assert "layer=4&head=2&position=11&from=1" in asked.to_query()
    older = {"inside": "head", "layer": "3", "head": "1", "position": "10"}
    assert from_query(older, OTHERWISE) == asked


def test_steps_are_in_order_and_have_keys_of_their_own() -> None:
    assert [step.number for step in STEPS] == sorted({step.number for step in STEPS})
    assert len({step.key for step in STEPS}) == len(STEPS)


def test_the_tab_opens_on_a_recorded_first_step() -> None:
    first = inside_examples()[0].request
    assert first.step == STEPS[0].key
    assert [text.scheme for text in recorded_tokens()] == ["wordpiece", "byte-level", "bpe"]
    assert len({example.label for example in inside_examples()}) == len(inside_examples()) >= 5
