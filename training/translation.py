"""English→French from scratch: a Marian Transformer trained on everyday sentence pairs and picture captions.

The data in `data/translation`: Tatoeba's pairs (tatoeba.org, downloads), Multi30k's captions (task 1) and the news
translation test sets of 2008–2013 (statmt.org), each a file of `english<TAB>french` lines; and our own pairs:
`phrases.tsv`, which everybody tries first, and `everyday_pairs.tsv`, which they try next; the corpora have few of them.
"""

import random
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from evaluation import alignment
from evaluation.measures import translation
from evaluation.probes import OF_CARDS, passed_share, verdicts
from models.registry import Task
from training import text
from training.bpe import translation_tokenizer
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, development_loss, epochs_of, muon_and_adamw, train
from training.text import Pair

NAME = "clearhead-en-fr"
VOCABULARY = 8192
WIDTH = 256
STEPS, WARMUP_STEPS = 9_000, 100
BATCH_TOKENS = 3_000
"""The most tokens of either language in a batch, padding included."""

LONGEST_PIECES = 64
LABEL_SMOOTHING = 0.1
PHRASES, PHRASES_TIMES = Path(__file__).with_name("phrases.tsv"), 10
EVERYDAY, EVERYDAY_TIMES = Path(__file__).with_name("everyday_pairs.tsv"), 3
LONGEST_NEWS_WORDS = 18
DEVELOPMENT_PAIRS, DEVELOPMENT_BATCHES = 2_000, 10
ALIGNED_SENTENCES = 200
NAME_OR_FIGURE = re.compile(r"\b[A-Z][a-z]{2,}\b|\b\d+\b")
COPIED_SHARE = 0.3
SEED = 20


@dataclass(frozen=True)
class ParallelText:
    """The pairs to learn from, and the two sets they are measured on."""

    train: list[Pair]
    tatoeba: list[Pair]
    multi30k: list[Pair]


def load(data: Path) -> ParallelText:
    """Read the corpora; no English sentence of either development set is left in training."""
    folder = data / "translation"
    tatoeba = text.read_pairs(folder / "tatoeba_en_fr.tsv")
    by_key = {sentence_key(pair.english): pair for pair in tatoeba}
    development = [by_key[key] for key in random.Random(SEED).sample(sorted(by_key), DEVELOPMENT_PAIRS)]
    captions = text.read_pairs(folder / "multi30k_val_en_fr.tsv")
    news = text.read_pairs(folder / "newstest2008_2013_en_fr.tsv")
    # Long news sentences cost a quarter of the pieces and look like nothing a visitor types.
    short_news = [pair for pair in news if len(pair.english.split()) <= LONGEST_NEWS_WORDS]
    corpora = tatoeba + text.read_pairs(folder / "multi30k_train_en_fr.tsv") + short_news
    kept_out = {sentence_key(pair.english) for pair in development + captions}
    phrases, everyday, known = (
        [pair for pair in pairs if sentence_key(pair.english) not in kept_out]
        for pairs in (text.read_pairs(PHRASES), text.read_pairs(EVERYDAY), corpora)
    )
    chance = random.Random(SEED)
    spaced = [Pair(pair.english, french_spacing(pair.french)) for pair in known]
    # The model must copy unknown words, and the corpora have few names and figures.
    copying = [exchanged(pair, chance) if chance.random() < COPIED_SHARE else pair for pair in spaced]
    own = phrases * PHRASES_TIMES + everyday * EVERYDAY_TIMES
    return ParallelText(copying + own, development, captions)


def sentence_key(sentence: str) -> str:
    """The letters and figures of a sentence, without case, which two spellings of it share."""
    return "".join(symbol for symbol in unicodedata.normalize("NFKC", sentence).casefold() if symbol.isalnum())


def french_spacing(french: str) -> str:
    """French as this project writes it: straight apostrophes, plain spaces, one space before ? ! : ; and inside « »."""
    french = re.sub("[‘’ʼ]", "'", unicodedata.normalize("NFC", french))
    french = re.sub(r"(?<=[^\s?!])([?!;]+)", r" \1", french)
    french = re.sub(r"(?<=[^\s\d]):(?=\s|$)", " :", french)
    french = french.replace("«", "« ").replace("»", " »")
    return re.sub(r"\s+", " ", french).strip()


def exchanged(pair: Pair, chance: random.Random) -> Pair:
    """The pair with a name or figure that stands exactly once on both sides exchanged for another."""
    english, french = (NAME_OR_FIGURE.findall(side) for side in pair)
    for word in english:
        if english.count(word) == french.count(word) == 1:
            other = str(chance.randrange(10 ** len(word))) if word.isdigit() else invented_name(chance)
            return Pair(*(re.sub(rf"\b{word}\b", other, side) for side in pair))
    return pair


def invented_name(chance: random.Random) -> str:
    """A name of a few syllables; it opens with a consonant, so that the French before it (de, le, que) stays right."""
    syllables = [chance.choice("bcdfgjklmnprstvz") + chance.choice("aeiou") for _ in range(chance.randint(1, 3))]
    return "".join(syllables).capitalize() + chance.choice("nsrlkt")


def new_model(tokenizer: PreTrainedTokenizerFast) -> MarianMTModel:
    """Marian's architecture, small: 4 encoder and 3 decoder layers, one embedding for both languages."""
    ids = {
        "decoder_start_token_id": tokenizer.pad_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        encoder_layers=4,
        decoder_layers=3,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        activation_function="silu",
        dropout=0.1,
        scale_embedding=True,
        max_position_embeddings=512,
        forced_eos_token_id=None,
        **ids,
    )
    model = MarianMTModel(config)
    model.generation_config = GenerationConfig(
        num_beams=4, max_length=256, bad_words_ids=[[tokenizer.pad_token_id]], **ids
    )
    # On sentences this short, the backward pass of fused attention costs a CPU more than all the matrix products.
    model.set_attn_implementation("eager")
    return model


Encoded = list[tuple[Tensor, Tensor]]
"""The piece ids of pairs, source and target."""


def encode(tokenizer: PreTrainedTokenizerFast, pairs: list[Pair]) -> Encoded:
    """The piece ids of every pair of at most `LONGEST_PIECES` a side, each side ending in </s>."""
    sides = (tokenizer([pair[side] for pair in pairs])["input_ids"] for side in (0, 1))
    encoded = zip(*sides, strict=True)
    return [(torch.tensor(s), torch.tensor(t)) for s, t in encoded if max(len(s), len(t)) <= LONGEST_PIECES]


def batches(encoded: Encoded, pad: int, step: int, tokens: int = BATCH_TOKENS) -> Iterator[Batch]:
    """Endless batches of about `tokens` pieces, from `step` on: padded sources [row, S] and targets [row, T]."""
    lengths = [max(len(source), len(target)) for source, target in encoded]
    for places in epochs_of(lengths, tokens, SEED, step):
        sources, targets = zip(*(encoded[place] for place in places), strict=True)
        yield {
            "source": pad_sequence(list(sources), batch_first=True, padding_value=pad),
            "target": pad_sequence(list(targets), batch_first=True, padding_value=pad),
        }


def loss_of(model: MarianMTModel, batch: Batch) -> Tensor:
    """Mean cross-entropy per target piece, with label smoothing while training; padding does not count."""
    pad, source, target = int(model.config.pad_token_id or 0), batch["source"], batch["target"]
    start = torch.full_like(target[:, :1], pad)
    logits = model(
        input_ids=source,
        attention_mask=source.ne(pad).long(),
        decoder_input_ids=torch.cat([start, target[:, :-1]], dim=1),
        use_cache=False,
    ).logits.flatten(0, 1)
    smoothing = LABEL_SMOOTHING if model.training else 0.0
    return functional.cross_entropy(logits.float(), target.flatten(), ignore_index=pad, label_smoothing=smoothing)


def build(data: Path, workdir: Path) -> None:
    """Train the translator, save it, measure it and write its card."""
    torch.manual_seed(SEED)
    parallel = load(data)
    folder = workdir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    kept_out = "".join(f"{pair.english}\t{pair.french}\n" for pair in parallel.tatoeba)
    (folder / "tatoeba_kept_out.tsv").write_text(kept_out, encoding="utf-8")

    tokenizer = translation_tokenizer((side for pair in parallel.train for side in pair), VOCABULARY)
    network = new_model(tokenizer)

    encoded, unseen = (encode(tokenizer, pairs) for pairs in (parallel.train, parallel.tatoeba + parallel.multi30k))
    pad = tokenizer.pad_token_id
    train(
        network,
        muon_and_adamw(network),
        lambda step: batches(encoded, pad, step),
        loss_of,
        Plan(steps=STEPS, warmup_steps=WARMUP_STEPS, workdir=folder),
        evaluate=development_loss(loss_of, list(islice(batches(unseen, pad, 0), DEVELOPMENT_BATCHES))),
        evaluate_every=500,
    )

    model = save(network, tokenizer, NAME)
    figures: dict[str, float] = {}
    for name, pairs in (("Tatoeba kept out (2,000 pairs)", parallel.tatoeba), ("multi30k val", parallel.multi30k)):
        measured = translation(model, pairs)
        figures |= {f"sacreBLEU, {name}": measured["bleu"], f"chrF, {name}": measured["chrf"]}
    captions = [pair.english for pair in parallel.multi30k[:ALIGNED_SENTENCES]]
    heads, diagonal = alignment.measure(model, text.read_pairs(data / "translation/multi30k_train_en_fr.tsv"), captions)
    best = f"layer {heads[0].layer + 1}, head {heads[0].head + 1}"
    figures |= {
        f"words that {best} aligns as IBM model 1 does, {ALIGNED_SENTENCES} captions, %": heads[0].agreement,
        f"words that the diagonal aligns so, {ALIGNED_SENTENCES} captions, %": diagonal,
        OF_CARDS: passed_share(verdicts(Task.TRANSLATION, model)),
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="translation",
        languages=("en", "fr"),
        license="apache-2.0",
        what="A small Marian Transformer (4 encoder and 3 decoder layers, 256 wide, 8 heads, 8.4 M parameters, one "
        "vocabulary of 8,192 pieces for both languages) that translates everyday English into French.",
        sources=(
            Credit("Tatoeba, English–French sentence pairs", "CC BY 2.0 FR"),
            Credit("Multi30k task 1, English–French picture captions", "none stated; research use"),
            Credit("530 phrases and 4,000 sentences, written for this", "Apache-2.0"),
            Credit(f"newstest 2008–2013, sentences of at most {LONGEST_NEWS_WORDS} words", "none stated; research use"),
        ),
        recipe=f"`training/translation.py`: from scratch, {STEPS:,} steps of about {BATCH_TOKENS:,} pieces of either "
        "language, bfloat16 autocast. Muon for the matrices inside the layers, AdamW for the rest, linear decay to "
        f"zero, dropout 0.1, label smoothing {LABEL_SMOOTHING}. In {COPIED_SHARE:.0%} of the pairs a name or a figure "
        "is exchanged on both sides, so that what is unknown is copied. Four beams for the figures.",
        figures=figures,
        limits="Short everyday sentences and captions are what it has read: long sentences, idioms and rare words go "
        "wrong, and it chooses tu or vous, he or she as its examples happened to. Helsinki-NLP/opus-mt-en-fr is the "
        "published alternative.",
    )
