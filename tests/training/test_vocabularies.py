"""Two byte-level tokenizers: the pieces that tokens begin with, and where both begin together."""

from transformers import PreTrainedTokenizerFast

from training import vocabularies


def test_a_token_belongs_to_the_piece_that_it_begins_with(
    ours: PreTrainedTokenizerFast, theirs: PreTrainedTokenizerFast
) -> None:
    first = vocabularies.first_pieces(ours, theirs)
    assert first[theirs.eos_token_id] == ours.eos_token_id
    for token, string in enumerate(theirs.convert_ids_to_tokens(range(len(theirs)))):
        if token != theirs.eos_token_id:
            assert string.startswith(ours.convert_ids_to_tokens(int(first[token])))
    assert len(set(first.tolist())) > 250


def test_a_token_is_found_beside_a_piece_at_the_same_byte_only() -> None:
    # Ours: "ab" "c" "de" and the end; theirs: "a" "bc" "d" "e" and the end.
    pieces, tokens = {0: 10, 2: 11, 3: 12, 5: 0}, {0: 20, 1: 21, 3: 22, 4: 23, 5: 1}
    first = [0] * 24
    first[1], first[20], first[22] = 0, 10, 12
    assert vocabularies.tokens_beside(pieces, tokens, first) == [0, -1, 2, 4]
    # A token that begins with another piece than the one that stands there tells nothing of it.
    first[22] = 13
    assert vocabularies.tokens_beside(pieces, tokens, first) == [0, -1, -1, 4]
