"""A small tokenizer of each published kind, its vocabulary built from a few sentences."""

import io
import json
import string
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE
from transformers import (
    AlbertTokenizer,
    BartTokenizer,
    BertTokenizer,
    DistilBertTokenizer,
    ElectraTokenizer,
    GPT2Tokenizer,
    MarianTokenizer,
    OpenAIGPTTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    T5Tokenizer,
    XLNetTokenizer,
)

WINDOW = 128
SENTENCES = (
    "The old lighthouse keeper climbed the stairs every evening and lit the lamp.",
    "Who lit the lamp? A storm came over the hills, and the boats turned home.",
    "She reads a quiet book by the window while the rain falls on the garden.",
    "The market opens at seven; bread, cheese and apples are sold until noon.",
    "I would rather walk to the river than wait for the train.",
)
_LETTERS = string.ascii_letters + string.digits + string.punctuation


def _words(lower: bool) -> list[str]:
    """The different words of the sentences, in order."""
    text = " ".join(SENTENCES)
    words = "".join(letter if letter.isalnum() else " " for letter in text).split()
    return list(dict.fromkeys(word.lower() if lower else word for word in words if len(word) > 1))


def word_pieces() -> dict[str, int]:
    """BERT's kind of vocabulary: special tokens, letters, letters within a word, words."""
    letters = [letter for letter in _LETTERS if not letter.isupper()]
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*specials, *letters, *("##" + letter for letter in letters), *_words(lower=True)]
    return {piece: number for number, piece in enumerate(pieces)}


def unigrams(specials: list[str]) -> list[tuple[str, float]]:
    """SentencePiece's unigram vocabulary: special tokens, letters, words with the space in front."""
    letters = [("▁", -8.0), *((letter, -10.0) for letter in _LETTERS)]
    words = [("▁" + word, -6.0) for word in _words(lower=False) + _words(lower=True)]
    return list(dict([*((special, 0.0) for special in specials), *letters, *words]).items())


def byte_pairs(specials: list[str], end_of_word: str = "") -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of byte-level BPE, or of BPE with a mark at the end of each word."""
    tokenizer = Tokenizer(BPE())
    if end_of_word:
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        alphabet = [letter for letter in _LETTERS if not letter.isupper()]
        alphabet += [letter + end_of_word for letter in alphabet]
        texts = [*(sentence.lower() for sentence in SENTENCES), *alphabet[: len(alphabet) // 2]]
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=specials, end_of_word_suffix=end_of_word,
                                      initial_alphabet=alphabet[: len(alphabet) // 2], show_progress=False)  # fmt: skip
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        texts = list(SENTENCES)
        trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=specials, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def _with_byte_pairs(specials: list[str], around: str = "", **named: Any) -> PreTrainedTokenizerFast:
    """Byte-level BPE in transformers' generic class; `around` is the template of special tokens around a text."""
    tokenizer = Tokenizer(BPE(*byte_pairs(specials)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if around:
        pair, marks = f"{around} $B [SEP]", [(each, tokenizer.token_to_id(each)) for each in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single=around, pair=pair, special_tokens=marks)
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **named)


def _marian(folder: Path) -> MarianTokenizer:
    """Marian's own kind: two SentencePiece models and one vocabulary for both."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*SENTENCES, " ".join(_LETTERS)]), model_writer=model, vocab_size=200,
        hard_vocab_limit=False, character_coverage=1.0, minloglevel=2, unk_id=1, eos_id=0, bos_id=-1,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())] + ["<pad>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.spm").write_bytes(model.getvalue())
    (folder / "target.spm").write_bytes(model.getvalue())
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    return MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"),
                           source_lang="en", target_lang="fr", model_max_length=WINDOW)  # fmt: skip


def tiny_tokenizer(model_type: str, folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of `model_type`; Marian's reads its files from `folder`."""
    window = {"model_max_length": WINDOW}
    fairseq = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    # As published: the mask absorbs the space before it.
    mask = {"mask_token": AddedToken("<mask>", lstrip=True, special=True, normalized=False)}
    match model_type:
        case "bert" | "distilbert" | "electra":
            kinds = {"bert": BertTokenizer, "distilbert": DistilBertTokenizer, "electra": ElectraTokenizer}
            return kinds[model_type](vocab=word_pieces(), **window)
        case "roberta":
            return RobertaTokenizer(*byte_pairs(fairseq), **mask, **window)
        case "bart":
            return BartTokenizer(*byte_pairs(fairseq), **window)
        case "albert":
            return AlbertTokenizer(vocab=unigrams(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]), **window)
        case "xlnet":
            # As published: XLNet's positions are relative, and its tokenizer has no maximum length.
            specials = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
            return XLNetTokenizer(vocab=unigrams(specials))
        case "t5":
            return T5Tokenizer(vocab=unigrams(["<pad>", "</s>", "<unk>"]), extra_ids=0, **window)
        case "gpt2":
            return GPT2Tokenizer(*byte_pairs(["<|endoftext|>"]), **window)
        case "openai-gpt":
            return OpenAIGPTTokenizer(*byte_pairs(["<unk>"], end_of_word="</w>"), **window)
        case "llama":
            named = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
            return _with_byte_pairs(["<|endoftext|>"], **named, **window)
        case "modernbert":
            named = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP")}
            mask = {"mask_token": AddedToken("[MASK]", lstrip=True, special=True, normalized=False)}
            return _with_byte_pairs([*named.values(), "[MASK]"], "[CLS] $A [SEP]", **named, **mask, **window)
        case "marian":
            return _marian(folder)
        case _:
            raise KeyError(model_type)
