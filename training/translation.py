"""English→French from scratch: a Marian Transformer trained on everyday sentence pairs and picture captions.

The data, as `data/translation`: Tatoeba's pairs (tatoeba.org, downloads), Multi30k's captions (task 1) and the news
translation test sets of 2008–2013 (statmt.org), each a file of `english<TAB>french` lines.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch
from sacrebleu import CHRF, corpus_bleu
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, MarianConfig, MarianMTModel, PreTrainedTokenizerFast
from transformers.models.marian.modeling_marian import (
    MarianDecoder,
    MarianDecoderLayer,
    MarianEncoder,
    MarianEncoderLayer,
)

from evaluation import alignment
from evaluation.probes import OF_CARDS, bundled_share
from models.registry import Task
from training.bpe import translation_tokenizer
from training.cards import CHECKPOINTS, Card, Credit, save_tokenizer, write_card
from training.everyday import everyday
from training.loop import Plan, device, train
from training.marks import made_up, with_marks
from training.pair_batches import TOKENS_PER_BATCH, Encoded, batches_of, encode, smoothed_loss
from training.pairs import Pair, english_keys, french_spacing, keep_out, lone_words, read_pairs, with_copying, without
from training.small_gpt import muon_and_adamw, to_whole_steps

NAME = "clearhead-en-fr"
STEPS = 2280
WARMUP_STEPS = 100
VOCABULARY = 8192
# Then on, at a part of the rates, with phrases that everybody tries first and the corpora hardly have.
PHRASES = Path(__file__).with_name("phrases.tsv")
MORE_STEPS, MORE_WARMUP_STEPS = 503, 20
MORE_RATES = 0.15
PHRASES_TIMES = 25
# Then with marks that the corpora hardly have.
MARKS_STEPS = 1300
MARKS_RATES = 0.3
OWN_SENTENCES_TIMES = 50
# At last for long, with every pair made new each time that it is read, and with dropout: what has been read more than
# five times is remembered, not learnt.
LONG_STEPS, LONG_WARMUP_STEPS = 4900, 100
LONG_RATES, LONG_HELD = 0.6, 0.3
DROPOUT, MERGES_LEFT_OUT = 0.1, 0.1
LONG_MARKED = 0.15
LONG_PHRASES_TIMES, LONG_OWN_SENTENCES_TIMES = 10, 20
LONGEST_NEWS_WORDS = 18
DEVELOPMENT_PAIRS = 2000
SEED = 20
ALIGNED_SENTENCES = 200


@dataclass(frozen=True)
class ParallelText:
    """The pairs and the phrases to learn from, and the two sets they are measured on."""

    train: list[Pair]
    phrases: list[Pair]
    tatoeba: list[Pair]
    multi30k: list[Pair]


def load(data: Path) -> ParallelText:
    """Read the three corpora; no English sentence of either development set is left in training."""
    folder = data / "translation"
    tatoeba, development = keep_out(read_pairs(folder / "tatoeba_en_fr.tsv"), DEVELOPMENT_PAIRS, SEED)
    captions = read_pairs(folder / "multi30k_val_en_fr.tsv")
    news = read_pairs(folder / "newstest2008_2013_en_fr.tsv")
    # Long news sentences cost a quarter of the pieces and look like nothing a visitor types.
    short_news = [pair for pair in news if len(pair.english.split()) <= LONGEST_NEWS_WORDS]
    pairs = tatoeba + read_pairs(folder / "multi30k_train_en_fr.tsv") + short_news
    kept_out = english_keys(development + captions)
    spaced = [Pair(pair.english, french_spacing(pair.french)) for pair in without(pairs, kept_out)]
    return ParallelText(spaced, without(read_pairs(PHRASES), kept_out), development, captions)


def new_model(tokenizer: PreTrainedTokenizerFast) -> MarianMTModel:
    """Marian's architecture, small: 4 encoder and 3 decoder layers 256 wide, one embedding for both languages."""
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=256,
        encoder_layers=4,
        decoder_layers=3,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        activation_function="silu",
        dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config)
    model.generation_config = GenerationConfig(
        num_beams=4,
        max_length=256,
        bad_words_ids=[[tokenizer.pad_token_id]],
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return model


def set_dropout(model: MarianMTModel, share: float) -> None:
    """Let so many of what embeddings and sublayers give be left out while training; attention loses nothing."""
    for module in model.modules():
        if isinstance(module, MarianEncoder | MarianDecoder | MarianEncoderLayer | MarianDecoderLayer):
            module.dropout = share


@torch.inference_mode()
def translate(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, texts: list[str], beams: int = 4) -> list[str]:
    """The best translation of each text by beam search, in the order of `texts`."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    answers = [""] * len(texts)
    for _, group in groupby(enumerate(order), key=lambda item: item[0] // 50):
        chosen = [at for _, at in group]
        inputs = tokenizer([texts[at] for at in chosen], return_tensors="pt", padding=True).to(model.device)
        written: Tensor = model.generate(  # type: ignore[assignment, misc]
            **inputs, num_beams=beams, max_length=min(256, 3 * inputs["input_ids"].shape[1] + 10)
        )
        for at, text in zip(chosen, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True):
            answers[at] = text
    return answers


def scores(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, pairs: list[Pair]) -> dict[str, float]:
    """sacreBLEU and chrF of beam search against the one reference translation of each pair."""
    written = translate(model, tokenizer, [pair.english for pair in pairs])
    references = [[pair.french for pair in pairs]]
    bleu, chrf = corpus_bleu(written, references).score, CHRF().corpus_score(written, references).score
    return {"sacreBLEU": round(bleu, 1), "chrF": round(chrf, 1)}


def development_loss(pairs: list[tuple[Tensor, Tensor]], pad: int) -> Callable[[MarianMTModel], dict[str, float]]:
    """A measure for the loop: mean loss per piece over pairs kept out, without smoothing."""
    sources, targets = (pad_sequence(list(side), True, pad) for side in zip(*pairs, strict=True))

    def evaluate(model: MarianMTModel) -> dict[str, float]:
        batch = {"source": sources.to(device()), "target": targets.to(device())}
        return {"development_loss": round(smoothed_loss(model, batch).item(), 4)}

    return evaluate


def write_pairs(pairs: list[Pair], file: Path) -> None:
    """Keep development pairs as a file that the quality benchmark reads."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{pair.english}\t{pair.french}\n" for pair in pairs), encoding="utf-8")


def build(data: Path, workdir: Path, steps: int = STEPS) -> None:
    """Train the translator from `data` and leave it in `workdir/checkpoint` as float16 safetensors."""
    torch.manual_seed(SEED)
    text = load(data)
    write_pairs(text.tatoeba, workdir / NAME / "tatoeba_kept_out.tsv")
    tokenizer = translation_tokenizer((side for pair in text.train for side in pair), VOCABULARY)
    model = new_model(tokenizer)
    # On sentences this short, the backward pass of fused attention costs the CPU more than all the matrix products.
    model.set_attn_implementation("eager")
    pad = tokenizer.pad_token_id
    words, measure = lone_words(text.train, SEED), development_loss(encode(tokenizer, text.tatoeba[:300]), pad)

    def learn(read: Callable[[int], Encoded], rates: float, plan: Plan) -> None:
        train(
            model,
            muon_and_adamw(
                model, muon_rate=0.02 * rates, adamw_rate=2e-3 * rates, weight_decay=0.05, betas=(0.9, 0.98)
            ),
            lambda step: batches_of(read, pad, SEED, step),
            smoothed_loss,
            plan,
            evaluate=measure,
            evaluate_every=500,
        )

    def learn_alike(pairs: list[Pair], rates: float, plan: Plan) -> None:
        encoded = encode(tokenizer, pairs)
        learn(lambda _: encoded, rates, plan)

    def made_new(epoch: int) -> Encoded:
        seed = SEED + 3 + epoch
        pairs = with_marks(with_copying(text.train, seed), seed, LONG_MARKED)
        own = made_up(seed, LONG_OWN_SENTENCES_TIMES) + everyday(seed, LONG_OWN_SENTENCES_TIMES)
        phrases = text.phrases * LONG_PHRASES_TIMES
        return encode(tokenizer, pairs + words + without(own, kept_out) + phrases, MERGES_LEFT_OUT)

    kept_out = english_keys(text.tatoeba + text.multi30k)
    folder = workdir / NAME
    learn_alike(with_copying(text.train, SEED) + words, 1.0, Plan(steps, WARMUP_STEPS, folder))
    phrases = text.phrases * PHRASES_TIMES
    more = Plan(MORE_STEPS, MORE_WARMUP_STEPS, folder / "more")
    learn_alike(with_copying(text.train, SEED + 1) + words + phrases, MORE_RATES, more)
    marked = with_marks(with_copying(text.train, SEED + 2), SEED) + made_up(SEED, OWN_SENTENCES_TIMES)
    marks = Plan(MARKS_STEPS, MORE_WARMUP_STEPS, folder / "marks")
    learn_alike(marked + words + phrases, MARKS_RATES, marks)
    set_dropout(model, DROPOUT)
    learn(made_new, LONG_RATES, Plan(LONG_STEPS, LONG_WARMUP_STEPS, folder / "long", held=LONG_HELD))
    set_dropout(model, 0.0)
    to_whole_steps(model)
    model.half().save_pretrained(CHECKPOINTS / NAME)
    save_tokenizer(tokenizer, CHECKPOINTS / NAME)
    figures = figures_of(model.float().cpu(), tokenizer, text) | aligned(data)
    figures[OF_CARDS] = bundled_share(Task.TRANSLATION)
    print(figures)
    write_card(card(figures))


def figures_of(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, text: ParallelText) -> dict[str, float]:
    """sacreBLEU and chrF on both development sets."""
    sets = {"Tatoeba kept out (2,000 pairs)": text.tatoeba, "multi30k val": text.multi30k}
    measured = {name: scores(model, tokenizer, pairs) for name, pairs in sets.items()}
    return {f"{kind}, {name}": value for name, found in measured.items() for kind, value in found.items()}


def aligned(data: Path) -> dict[str, float]:
    """How well the best cross-attention head aligns words, and the diagonal; layers and heads count from 1 here."""
    train, development = (data / f"translation/multi30k_{part}_en_fr.tsv" for part in ("train", "val"))
    measured = alignment.measure(NAME, train, development, ALIGNED_SENTENCES)
    best = measured.heads[0]
    name = f"layer {best.layer + 1}, head {best.head + 1}"
    return {
        f"words that {name} aligns as IBM model 1 does, {ALIGNED_SENTENCES} captions, %": best.agreement,
        f"words that the diagonal aligns so, {ALIGNED_SENTENCES} captions, %": measured.diagonal,
    }


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
            Credit("730 phrases and sentences, written for this", "Apache-2.0"),
            Credit(f"newstest 2008–2013, sentences of at most {LONGEST_NEWS_WORDS} words", "none stated; research use"),
        ),
        recipe=f"`training/translation.py`: from scratch, {STEPS} steps of about {TOKENS_PER_BATCH} pieces, three and "
        "a half passes over 165,600 pairs and single words found in them, bfloat16 autocast on the CPU. Muon (0.02) "
        "for the matrices inside the layers, AdamW (2e-3) for the rest, linear decay to zero, label smoothing 0.1, no "
        f"dropout. Then {MORE_STEPS} steps at {MORE_RATES} of the rates, the phrases among them. Names, figures and "
        "symbols are exchanged on both sides of some pairs, so that what is unknown is copied. Then "
        f"{MARKS_STEPS} steps at {MARKS_RATES} of the rates, 30% of the pairs with marks on both sides: quotation "
        "marks, dashes, prices, symbols, addresses, words of other scripts. Then "
        f"{LONG_STEPS} steps at {LONG_RATES} of the rates, held for {LONG_HELD:.0%} of them and down to zero, with "
        f"dropout ({DROPOUT}), English read without {MERGES_LEFT_OUT:.0%} of its merges (BPE-dropout), pairs made new "
        "each time that they are read, and sentences with hours, ages, dates and the like. At last the weights inside "
        "the layers are rounded to whole multiples, at most 127, of a power of two for each output. Four beams for the "
        "figures. These weights were rounded before the part with marks and before the long one as well, their "
        "vocabulary was learned before typographic marks were read as plain ones, and the long part read its first "
        "pass with the first 162 phrases alone: `docs/experiments/generators.md`.",
        figures=figures,
        limits="Short everyday sentences and captions are what it has read: long sentences, idioms and rare words go "
        "wrong, addresses and words of other scripts are not always copied whole, and it chooses tu or vous, he or she "
        "as its examples happened to. Helsinki-NLP/opus-mt-en-fr is the "
        "published alternative.",
    )
