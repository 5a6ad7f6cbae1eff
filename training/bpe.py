"""The two BPE tokenizers, and the normalisation of typographic characters to plain ones."""

import json
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

# Windows-1252 punctuation and letters, which are control characters in text that was read as Latin-1.
OF_WINDOWS = tuple(
    (chr(byte), character)
    for byte in range(0x80, 0xA0)
    if (character := bytes([byte]).decode("cp1252", errors="ignore"))
)
# Characters typed for an apostrophe. NFKC would turn some of them into a space and an accent.
APOSTROPHES = "‘’‛ʹʻʼʽ′‵՚׳ꞌ＇´΄´᾽᾿"
BETWEEN_LETTERS = ((rf"(?<=[\p{{L}}\p{{M}}])[`｀{APOSTROPHES}](?=\p{{L}})", "'"),)
# Characters that lose their meaning under NFKC: 10² is not 102, nor 2½ 21/2.
KEPT = "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ½¼¾⅓⅔⅕⅖⅗⅘⅛⅜⅝⅞ªº™″"
# The first of 32 noncharacters, which Unicode reserves for use within a program.
_FIRST_FREE = 0xFDD0


def replacing(patterns: Sequence[tuple[str, str]]) -> normalizers.Normalizer:
    """A normalizer that replaces each pattern by its plain text, in their order."""
    return normalizers.Sequence([normalizers.Replace(Regex(pattern), plain) for pattern, plain in patterns])


def as_typed() -> normalizers.Normalizer:
    """The normalizer that each bundled tokenizer begins with; tokens keep their offsets in the typed text.

    Ligatures, full-width, mathematical and similar letters become plain ones (Unicode's NFKC), except for `KEPT`.
    """
    # NFKC has no exceptions, so a noncharacter stands in for each of `KEPT` meanwhile.
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

    transformers rebuilds the normalizer of a `BertTokenizer` at each load, so it is saved as the generic class.
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


END_OF_TEXT = "<|endoftext|>"
PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
SPACE = "▁"
# Words keep their apostrophe (l', don'), figures stand alone and punctuation never joins a word, so that numbers
# and unseen names are spelt out rather than guessed.
PIECES = Regex(rf"{SPACE}?[\p{{L}}\p{{M}}]+'?|{SPACE}?\p{{N}}|{SPACE}?[^\p{{L}}\p{{M}}\p{{N}}{SPACE}]|{SPACE}")
MODEL_MAX_LENGTH = 512
# Invisible characters.
UNSEEN = r"[\u00ad\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\ufe0f\ufeff]"
# Typographic characters, which phones type too, and the plain ones that the corpora have.
STRAIGHT = ((f"[{APOSTROPHES}]", "'"), ("[“”„‟″]", '"'), ("[‐‑‒–−]", "-"), ("…", "..."))
# Bring visitors' texts and reviews into the form of the cleaned documents: one space between words, a blank line
# between paragraphs.
AS_PROSE = (
    *STRAIGHT,
    (UNSEEN, ""),
    (r"\s*<br\s*/?>\s*", "\n"),
    (r"\s*\n\s*", "\n\n"),
    (r"[^\S\n]+", " "),
)
PLAIN = (
    *STRAIGHT,
    ("[—―]", " - "),
    (rf"{UNSEEN}|[^\P{{Cc}}\s]", ""),
    (r"\s+", " "),
)


def translation_tokenizer(texts: Iterable[str], vocab_size: int, alphabet: int = 160) -> PreTrainedTokenizerFast:
    """Train one vocabulary for two languages; characters outside the `alphabet` commonest are spelt in UTF-8 bytes."""
    normalizer = normalizers.Sequence([as_typed(), replacing(PLAIN), normalizers.Strip()])
    pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always"),
            pre_tokenizers.Split(PIECES, behavior="isolated"),
        ]
    )
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    learner = Tokenizer(models.BPE(unk_token=UNK))
    learner.normalizer, learner.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(byte_pieces),
        special_tokens=[PAD, EOS, UNK],
        limit_alphabet=alphabet,
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    # The byte pieces are added after training: as special tokens they would vanish from decoded text.
    vocab = learned["vocab"] | {piece: len(learned["vocab"]) + at for at, piece in enumerate(byte_pieces)}
    merges = [tuple(merge) for merge in learned["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=UNK, byte_fallback=True))
    tokenizer.add_special_tokens([PAD, EOS, UNK])
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", pair=f"$A {EOS} $B {EOS}", special_tokens=[(EOS, vocab[EOS])]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1, right=0),
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNK,
        model_max_length=MODEL_MAX_LENGTH,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def byte_level_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Train GPT-2's byte-level BPE: every byte is a piece, so nothing is unknown; one token begins and ends a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([as_typed(), replacing(AS_PROSE)])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        unk_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        model_max_length=MODEL_MAX_LENGTH,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
