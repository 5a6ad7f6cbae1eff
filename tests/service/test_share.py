"""The link of a shared run holds its key and view, and reads back as it was made."""

import pytest

from demo.reader.link import ReaderSettings, link_of

PLACE = ReaderSettings("cross", "head", layer=3, head=11, words=False, specials=False, step=7)


@pytest.mark.parametrize("place", [ReaderSettings(), PLACE, ReaderSettings("encoder", "rollout", layer=2)])
def test_a_link_comes_back_as_it_was_made(place: ReaderSettings) -> None:
    assert link_of(f"?shared=a-key_1#{place.as_fragment()}").place == place
    assert link_of(f"?__theme=dark&shared=a-key_1#{place.as_fragment()}").key == "a-key_1"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "#",
        "?shared=",
        "?shared=%00",
        "?shared=" + "k" * 65,
        "?shared=ключ",
        "?shared=a'%20OR%201",
        "http://[",
        "?" * 9_999,
    ],
)
def test_what_is_no_key_is_none(address: str) -> None:
    assert link_of(address).key == ""


@pytest.mark.parametrize(
    "fragment",
    ["layer=-1&head=x", "layer=99999999999999999999", "how=__class__", "layer=²", "words=&step=1e3", "layer"],
)
def test_what_is_no_setting_counts_as_not_given(fragment: str) -> None:
    assert link_of(f"?shared=a#{fragment}").place == ReaderSettings()
