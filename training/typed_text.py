"""How the bundled tokenizers read characters that people paste: as the plain ones that the corpora have."""

from collections.abc import Sequence

from tokenizers import Regex, normalizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

# Windows' punctuation and letters, left as control characters where its text was read as Latin-1.
OF_WINDOWS = tuple(
    (chr(byte), character)
    for byte in range(0x80, 0xA0)
    if (character := bytes([byte]).decode("cp1252", errors="ignore"))
)
# What is typed for an apostrophe. NFKC would make some of them a space and an accent.
APOSTROPHES = "‘’‛ʹʻʼʽ′‵՚׳ꞌ＇´΄´᾽᾿"
BETWEEN_LETTERS = ((rf"(?<=[\p{{L}}\p{{M}}])[`｀{APOSTROPHES}](?=\p{{L}})", "'"),)
# These say more than the letters, figures and marks that NFKC would put in their place: 10² is not 102, nor 2½ 21/2.
KEPT = "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ½¼¾⅓⅔⅕⅖⅗⅘⅛⅜⅝⅞ªº™″"
# Unicode leaves 32 numbers from here on to no character, for use within a program.
_FIRST_FREE = 0xFDD0


def replacing(patterns: Sequence[tuple[str, str]]) -> normalizers.Normalizer:
    """What stands where one of the patterns is, in their order."""
    return normalizers.Sequence([normalizers.Replace(Regex(pattern), plain) for pattern, plain in patterns])


def as_typed() -> normalizers.Normalizer:
    """The first step of each bundled tokenizer, which says where in the typed text every token stands.

    Ligatures, full-width, mathematical and the like letters become plain ones (Unicode's NFKC), apart from `KEPT`.
    """
    # NFKC knows no exceptions: meanwhile something that is no character stands for each.
    away = [(sign, chr(_FIRST_FREE + place)) for place, sign in enumerate(KEPT)]
    swaps = [*OF_WINDOWS, *away]
    return normalizers.Sequence([
        *(normalizers.Replace(sign, other) for sign, other in swaps),
        replacing(BETWEEN_LETTERS),
        normalizers.NFKC(),
        *(normalizers.Replace(other, sign) for sign, other in away),
    ])  # fmt: skip


def reading_as_typed(published: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    """BERT's `published` tokenizer with `as_typed` in front.

    transformers makes the normalizer of its own `BertTokenizer` anew at each load, so it is saved as the general class.
    """
    backend = published.backend_tokenizer
    backend.normalizer = normalizers.Sequence([as_typed(), backend.normalizer])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=published.unk_token,
        sep_token=published.sep_token,
        pad_token=published.pad_token,
        cls_token=published.cls_token,
        mask_token=published.mask_token,
        model_max_length=published.model_max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
