"""A head that was made to do one thing is said to do it, and one that does nothing in particular is not."""

import time

import numpy as np
import pytest

from models.explain.head_roles import ROLES, head_roles, is_punctuation
from models.outputs import Attention, HeadRole, Token

SENTENCE = "[CLS] the cat saw the other cat , and ran ; it hid [SEP]"
FRENCH = "Maria voit le chat de Paris </s>"
ENGLISH = "Maria sees the cat of Paris . </s>"
REST = 0.05


def tokens_of(text: str) -> tuple[Token, ...]:
    return tuple(Token(each, each, 1, special=each[0] in "[<") for each in text.split(" "))


def looking_at(targets: np.ndarray, *, causal: bool = False, rest: float = REST) -> np.ndarray:
    """Rows `[query, key]` that give all but `rest` to the cells in `targets`, and the rest to all that may be seen.

    A row without a target is a random one with most of its weight in one place, as from a head that does other things.
    """
    queries, keys = targets.shape
    seen = np.tril(np.ones_like(targets)) if causal else np.ones_like(targets)
    other = np.random.default_rng(3).permutation(max(queries, keys))[:queries] % keys
    rows = []
    for query in range(queries):
        wanted = targets[query] & seen[query]
        if not wanted.any():
            wanted = np.arange(keys) == (min(other[query], query) if causal else other[query])
        rows.append((1 - rest) * wanted / wanted.sum() + rest * seen[query] / seen[query].sum())
    return np.array(rows)


def attention(*heads: np.ndarray, text: str = SENTENCE, causal: bool = False) -> Attention:
    """One layer with these heads over `text`."""
    tokens = tokens_of(text)
    masked = np.triu(np.ones((len(tokens), len(tokens)), dtype=bool), k=1) & causal
    return Attention("decoder" if causal else "encoder", np.array([heads], dtype=np.float32), tokens, tokens, masked)


def cells(text: str, role: str) -> np.ndarray:
    """Where a head with this role looks, spelt out once more by hand."""
    words = text.split(" ")
    count = len(words)
    query, key = np.indices((count, count))
    names = np.array(words)
    return {
        "previous token": key == query - 1,
        "next token": key == query + 1,
        "same token": key == query,
        "first token": key == 0,
        "separator": np.broadcast_to(np.isin(names, ["[SEP]", "</s>"]), (count, count)) & (key != query),
        "punctuation": np.broadcast_to(np.isin(names, [",", ";", "."]), (count, count)) & (key != query),
        "same word elsewhere": (names[:, None] == names[None, :]) & (key != query) & np.char.isalpha(names)[:, None],
    }[role]


PLACED = ROLES[:-2]


@pytest.mark.parametrize("role", PLACED)
def test_a_head_made_for_one_role_has_it_and_the_share_behind_it(role: str) -> None:
    (found,) = head_roles(attention(looking_at(cells(SENTENCE, role))))
    assert found.role == role
    assert found.share == pytest.approx(1 - REST, abs=REST)


@pytest.mark.parametrize("role", [role for role in PLACED if role not in ("next token", "separator")])
def test_the_same_holds_for_a_decoder_that_may_not_look_ahead(role: str) -> None:
    text = "<s> the cat saw , the other cat ; and the cat ran off"
    (found,) = head_roles(attention(looking_at(cells(text, role), causal=True), text=text, causal=True))
    assert found.role == role
    assert found.share > 0.85


def test_the_share_is_the_mean_weight_over_the_words() -> None:
    targets = cells(SENTENCE, "previous token")
    weights = looking_at(targets, rest=0.3)
    (found,) = head_roles(attention(weights))
    words = [not token.special for token in tokens_of(SENTENCE)]
    assert found.share == pytest.approx((weights * targets).sum(axis=1)[words].mean(), abs=1e-5)


def test_special_tokens_do_not_decide_but_masks_do() -> None:
    text = "[CLS] [MASK] [MASK] [MASK] ran [SEP]"
    (found,) = head_roles(attention(looking_at(cells(text, "next token")), text=text))
    assert found.role == "next token"
    weights = looking_at(cells(SENTENCE, "next token"))
    weights[[0, -1]] = 1 / weights.shape[1]
    (found,) = head_roles(attention(weights))
    assert found.share == pytest.approx(1 - REST, abs=REST)


@pytest.mark.parametrize("causal", [False, True])
def test_an_even_spread_is_broad_and_nothing_else(causal: bool) -> None:
    nothing = np.zeros((14, 14), dtype=bool)
    even = np.tril(np.ones((14, 14))) if causal else np.ones((14, 14))
    assert nothing.shape[0] == len(tokens_of(SENTENCE))
    (found,) = head_roles(attention(even / even.sum(axis=1, keepdims=True), causal=causal))
    assert (found.role, found.share) == ("broad", pytest.approx(1))


def test_in_a_text_of_full_stops_an_even_spread_is_still_no_punctuation_head() -> None:
    text = "[CLS] a . . . . . . b [SEP]"
    (found,) = head_roles(attention(np.full((10, 10), 0.1), text=text))
    assert found.role == "broad"


@pytest.mark.parametrize("seed", range(20))
def test_heads_that_look_anywhere_have_none_of_the_roles(seed: int) -> None:
    """Each token looks mostly at one other, drawn from those that no role would choose."""
    random = np.random.default_rng(seed)
    allowed = np.ones((14, 14), dtype=bool)
    for role in PLACED:
        allowed &= ~cells(SENTENCE, role)
    targets = np.array([np.arange(14) == random.choice(np.flatnonzero(row)) for row in allowed])
    (found,) = head_roles(attention(looking_at(targets)))
    assert found.role == "none of these"
    assert found.share > 0.5


def test_random_permutations_have_none_of_the_roles() -> None:
    """A long text without repetition, each token looking at one that is drawn at random: chance makes no role."""
    random = np.random.default_rng(0)
    text = " ".join(f"w{number}" for number in range(40))
    heads = [looking_at(np.eye(40, dtype=bool)[random.permutation(40)]) for _ in range(144)]
    assert {found.role for found in head_roles(attention(*heads, text=text))} == {"none of these"}


def test_a_head_that_mostly_looks_at_the_separator_is_not_named_after_two_repeated_words() -> None:
    targets = cells(SENTENCE, "separator")
    repeated = cells(SENTENCE, "same word elsewhere")
    targets = np.where(repeated.any(axis=1, keepdims=True), repeated, targets)
    targets[1] = targets[4] = cells(SENTENCE, "separator")[1]
    (found,) = head_roles(attention(looking_at(targets)))
    assert found.role == "separator"


def test_pieces_of_a_repeated_word_count_as_that_word() -> None:
    text = "[CLS] par ##rot and par ##rot met [SEP]"
    targets = np.zeros((8, 8), dtype=bool)
    targets[[1, 2]] = np.isin(np.arange(8), [4, 5])
    targets[[4, 5]] = np.isin(np.arange(8), [1, 2])
    (found,) = head_roles(attention(looking_at(targets), text=text))
    assert found.role == "same word elsewhere"


def cross(targets: np.ndarray, text: str = ENGLISH) -> Attention:
    weights = looking_at(targets)[None, None].astype(np.float32)
    return Attention("cross", weights, tokens_of(FRENCH), tokens_of(text), np.zeros(targets.shape, dtype=bool))


def test_between_two_texts_there_is_no_previous_next_or_same_token() -> None:
    nothing_shared = "She sees her old cat in Rome </s>"
    for offset in (-1, 0, 1):
        (found,) = head_roles(cross(np.eye(7, 8, k=offset, dtype=bool), nothing_shared))
        assert found.role == "none of these"


def test_between_two_texts_the_other_roles_are_found() -> None:
    queries, keys = FRENCH.split(" "), ENGLISH.split(" ")
    same = np.array([[query == key and query.isalpha() for key in keys] for query in queries])
    for targets, role in (
        (np.tile(np.arange(8) == 0, (7, 1)), "first token"),
        (np.tile(np.arange(8) == 7, (7, 1)), "separator"),
        (np.tile(np.arange(8) == 6, (7, 1)), "punctuation"),
        (same, "same word elsewhere"),
    ):
        (found,) = head_roles(cross(targets))
        assert found.role == role


def test_of_sentences_that_are_read_one_by_one_each_has_a_first_token() -> None:
    """Two sentences of seven tokens, hidden from each other, and every token looks at its own sentence's first."""
    tokens = tokens_of(SENTENCE.replace("[CLS]", "see").replace("[SEP]", "."))
    masked = np.kron(~np.eye(2, dtype=bool), np.ones((7, 7), dtype=bool))
    weights = np.where(masked, 0, 0.05 / 6)
    weights[:7, 0] = weights[7:, 7] = 0.95
    made = Attention("encoder", weights[None, None].astype(np.float32), tokens, tokens, masked)
    (found,) = head_roles(made)
    assert (found.role, round(found.share, 2)) == ("first token", 0.95)


def test_a_text_too_short_to_show_a_habit_has_none() -> None:
    assert head_roles(attention(np.eye(3), text="[CLS] rain [SEP]")) == (HeadRole(0, 0, "none of these", 1.0),)


def test_heads_come_layer_by_layer() -> None:
    previous, following = (looking_at(cells(SENTENCE, role)) for role in ("previous token", "next token"))
    tokens = tokens_of(SENTENCE)
    weights = np.array([[previous, following], [following, previous]], dtype=np.float32)
    made = Attention("encoder", weights, tokens, tokens, np.zeros((14, 14), dtype=bool))
    assert [(each.layer, each.head, each.role.split()[0]) for each in head_roles(made)] == [
        (0, 0, "previous"), (0, 1, "next"), (1, 0, "next"), (1, 1, "previous")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [(".", True), (" ,", True), ("…", True), ("«", True), ("$", True), ("##-", True), ("a.", False), ("🙂", False),
     ("中", False), ("", False), (" ", False)],
)  # fmt: skip
def test_punctuation_is_told_from_words_and_emoji(text: str, expected: bool) -> None:
    assert is_punctuation(Token(text, text, 1)) is expected


def test_all_heads_of_a_base_model_at_512_tokens_are_quick() -> None:
    random = np.random.default_rng(0)
    weights = random.random((12, 12, 512, 512), dtype=np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    tokens = tuple(Token(f"w{number % 200}", f"w{number % 200}", number) for number in range(512))
    made = Attention("encoder", weights, tokens, tokens, np.zeros((512, 512), dtype=bool))
    started = time.process_time()
    assert len(head_roles(made)) == 144
    assert time.process_time() - started < 0.5
