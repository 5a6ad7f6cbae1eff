"""Completion from scratch: GPT-2's architecture, small, trained on stories for children and on film reviews.

The data, as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales behind
FairytaleQA, children's books of Project Gutenberg, and the unlabelled reviews of IMDb (Maas et al., 2011), as plain
text; as `data/imdb`, its labelled reviews for training.
"""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

from evaluation.perplexity import perplexity_per_word
from models.decoding.sampling import LOOP_GUARD
from training import stories
from training.adapters import mean_of
from training.bpe import byte_level_tokenizer
from training.cards import CHECKPOINTS, Card, Credit, save_tokenizer, write_card
from training.expectations import DRAWS
from training.loop import Batch, Plan, train
from training.masked_lm import published_encoder
from training.small_gpt import (
    DEEPER,
    borrow_embeddings,
    deepened,
    muon_and_adamw,
    new_model,
    repeat_positions,
    to_whole_steps,
)
from training.teacher import REVIEWS, STORIES, Answers
from training.windows import CERTAIN, LONG_WINDOW, PIECES, SEED, WINDOW, Part, Source, join, learn_to_begin, windows_of
from training.writing import FORESEEN, WRITTEN, sources_of_a_teacher

NAME = "clearhead-stories"
MUON_RATE, ADAMW_RATE = 0.02, 3e-3
# Short windows first, which cost less; then some for the places that only long windows have; then more and more
# reviews, which are the hardest to learn. Then two more layers, and stronger weight decay: what has been read many
# times is remembered rather than understood. Then a larger model says what it expects: one text so teaches more. At
# last simple stories that it writes: what a small model is to tell to its end it must have read often.
PARTS = (
    Part("short", (0.05, 0.10, 0.45, 0.40), (0.10, 0.15, 0.40, 0.35), steps=1640, warmup_steps=100, rates=1.0),
    Part("long", (0.10, 0.15, 0.40, 0.35), (0.10, 0.15, 0.40, 0.35), steps=240, warmup_steps=20, rates=0.3, long=4),
    Part(
        "more",
        (0.05, 0.08, 0.22, 0.65),
        (0.08, 0.10, 0.22, 0.60),
        steps=1907,
        warmup_steps=60,
        rates=0.8,
        long=1,
        all_long_from=0.8,
    ),
    Part(
        "again",
        (0.04, 0.07, 0.14, 0.75),
        (0.06, 0.09, 0.15, 0.70),
        steps=2207,
        warmup_steps=60,
        rates=0.8,
        held=0.4,
        long=1,
        all_long_from=0.85,
    ),
    Part(
        "reviews",
        (0.03, 0.05, 0.12, 0.80),
        (0.03, 0.04, 0.08, 0.85),
        steps=11_500,
        warmup_steps=60,
        rates=0.8,
        held=0.1,
        opened=0.15,
        long=3,
        all_long_from=0.65,
    ),
    Part(
        "deeper",
        (0.03, 0.04, 0.08, 0.85),
        (0.03, 0.04, 0.08, 0.85),
        steps=9960,
        warmup_steps=60,
        rates=0.55,
        opened=0.15,
        long=3,
        all_long_from=0.65,
        decay=0.15,
        embeddings_decay=0.1,
    ),
    Part(
        "taught",
        (0.02, 0.03, 0.07, 0.20, 0.68),
        (0.02, 0.03, 0.07, 0.20, 0.68),
        steps=3100,
        warmup_steps=40,
        rates=0.09,
        opened=0.15,
        long=4,
        decay=0.07,
        embeddings_decay=0.05,
    ),
    Part(
        "taught more",
        (0.02, 0.03, 0.07, 0.06, 0.82),
        (0.02, 0.03, 0.07, 0.06, 0.82),
        steps=6240,
        warmup_steps=40,
        rates=0.15,
        opened=0.15,
        long=4,
        decay=0.07,
        embeddings_decay=0.05,
    ),
    Part(
        "stories",
        (0.02, 0.03, 0.07, 0.22, 0.30, 0.36),
        (0.02, 0.03, 0.07, 0.22, 0.30, 0.36),
        steps=1900,
        warmup_steps=30,
        rates=0.15,
        opened=0.22,
        opened_of=(0.04, 0.05, 0.05, 0.05, 0.09, 0.72),
        long=4,
        decay=0.07,
        embeddings_decay=0.05,
    ),
)
"""Of short stories, fairy tales, books, reviews; reviews that a larger model foresaw; stories that it wrote."""
AVERAGED = (0.4, 0.6)
"""The shares of the weights before and after the last part: of its stories and of what it cost, this keeps the most."""
BEGINNINGS = (0.05, 0.05, 0.06, 0.12, 0.0, 0.72)
"""The sources' shares of what is written behind nothing at all."""
VOCABULARY = 8192
EVALUATED_EVERY = 250
DEVELOPMENT_CHARACTERS = 60_000


def next_piece_loss(model: GPT2LMHeadModel, batch: Batch) -> Tensor:
    """Mean cross-entropy of what is to follow every piece given those before it, over windows [B, L + 1]."""
    logits = model(input_ids=batch["pieces"][:, :-1], use_cache=False).logits
    return Answers(batch["answers"], batch["shares"]).loss(logits)


def development(tokenizer: PreTrainedTokenizerFast, text: stories.Prose) -> Callable[[nn.Module], dict[str, float]]:
    """A measure for the loop: perplexity per word on the beginning of each text kept out."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {
            name: round(perplexity_per_word(model, tokenizer, kept_out[:DEVELOPMENT_CHARACTERS]), 1)
            for name, kept_out in (("books", text.books_kept_out), ("reviews", text.reviews_kept_out))
        }

    return evaluate


def optimizers_of(model: GPT2LMHeadModel, part: Part) -> list[torch.optim.Optimizer]:
    """Muon and AdamW as `part` has them."""
    return muon_and_adamw(
        model,
        muon_rate=MUON_RATE * part.rates,
        adamw_rate=ADAMW_RATE * part.rates,
        weight_decay=part.decay,
        betas=(0.9, 0.95),
        embeddings_decay=part.embeddings_decay,
    )


def figures_of(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, sources: list[Source], text: stories.Prose
) -> dict[str, float]:
    """Perplexity on what was kept out, and what can be counted in seeded samples."""
    short, unguarded = (
        [stories.sample(model, tokenizer, "", seed, 60, guard) for seed in range(20)] for guard in (LOOP_GUARD, 0)
    )
    long = [stories.sample(model, tokenizer, "", seed, 120) for seed in range(100, 300)]
    for pieces in short:
        print(tokenizer.decode(pieces), end="\n---\n", flush=True)
    return {
        "perplexity per word, two children's books kept out": perplexity_per_word(
            model, tokenizer, text.books_kept_out
        ),
        "perplexity per word, 500 film reviews kept out": perplexity_per_word(model, tokenizer, text.reviews_kept_out),
        "samples of 60 tokens that repeat a 4-gram three times, of 20": sum(map(stories.repeats_phrase, short)),
        "the same without the page's loop guard": sum(map(stories.repeats_phrase, unguarded)),
        "samples of 120 tokens with 40 in a row from training, of 200": len(
            stories.copied(long, [source.pieces for source in sources])
        ),
    }


def build(data: Path, workdir: Path) -> None:
    """Train the completion model from `data` and save it among the checkpoints."""
    torch.manual_seed(SEED)
    text = stories.load(data)
    folder = workdir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "books_kept_out.txt").write_text(text.books_kept_out, encoding="utf-8")
    (folder / "reviews_kept_out.txt").write_text(text.reviews_kept_out, encoding="utf-8")
    by_source = [text.short_stories, text.fairy_tales, text.books, text.reviews]
    tokenizer = byte_level_tokenizer((document for documents in by_source for document in documents), VOCABULARY)
    model = new_model(tokenizer)
    borrow_embeddings(model, tokenizer, published_encoder())
    sources = [join(tokenizer, documents) for documents in by_source]
    of_a_teacher = sources_of_a_teacher(tokenizer, text, folder)
    measure = development(tokenizer, text)
    for part in PARTS:
        if part.name == "long":
            repeat_positions(model, WINDOW)
        elif part.name == "deeper":
            model = deepened(model, tokenizer)
        while len(sources) < len(part.first):
            sources.append(next(of_a_teacher))
        before = copy.deepcopy(model.state_dict())
        train(
            model,
            optimizers_of(model, part),
            partial(windows_of, sources, part=part),
            next_piece_loss,
            Plan(steps=part.steps, warmup_steps=part.warmup_steps, workdir=folder / part.name, held=part.held),
            evaluate=measure,
            evaluate_every=EVALUATED_EVERY,
        )
    model.load_state_dict(mean_of([before, model.state_dict()], AVERAGED))
    learn_to_begin(model, sources, BEGINNINGS)
    to_whole_steps(model)
    model.half().save_pretrained(CHECKPOINTS / NAME)
    save_tokenizer(tokenizer, CHECKPOINTS / NAME)
    figures = figures_of(model.float().cpu(), tokenizer, sources, text)
    print(figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    parts = "; ".join(
        f"{part.steps} steps at {part.rates} of the rates, {part.opened:.0%} of the windows opened, shares from "
        f"{part.first} to {part.last}"
        for part in PARTS
    )
    deeper, taught, _, told = PARTS[-4:]
    return Card(
        name=NAME,
        task="text-generation",
        languages=("en",),
        license="apache-2.0",
        what=f"A small GPT-2 ({len(DEEPER)} layers, 384 wide, 6 heads, 14 M parameters, a vocabulary of its own of "
        "8,192 byte-level pieces) that writes plain English stories and film reviews. An empty prompt starts a text; "
        "`<|endoftext|>` ends one.",
        sources=(
            Credit("TinyStories, its first 1,727 stories", "CDLA-Sharing-1.0"),
            Credit("278 fairy tales, the texts behind FairytaleQA", "Apache-2.0"),
            Credit("58 children's books of Project Gutenberg", "public domain in the United States"),
            Credit("71,700 film reviews of IMDb (Maas et al., 2011), without labels", "none stated; research use"),
            Credit("all-MiniLM-L6-v2, whose word embeddings the model's own start from", "Apache-2.0"),
            Credit("SmolLM2-135M-Instruct, whose expectations and stories the last parts learn", "Apache-2.0"),
        ),
        recipe=f"`training/text_generation.py`: steps of {PIECES} pieces, in windows of {WINDOW} at first and of "
        f"{LONG_WINDOW} at last; bfloat16 products on the CPU. Muon ({MUON_RATE}) for the matrices inside the blocks, "
        f"AdamW ({ADAMW_RATE}) for the rest, in parts that each decay to zero, with the sources' shares of a batch "
        "(short stories, fairy tales, books, reviews; reviews that a larger model has read, and stories that it has "
        f"written): {parts}. Opened windows are the start token and the beginning of a paragraph; in the last part "
        f"{told.opened_of[-1]:.0%} of them are that of a story that the larger model has written. The part of "
        f"{deeper.steps} steps begins with two layers more, which add nothing at first; its weight decay is "
        f"{deeper.decay}, and {deeper.embeddings_decay} for the words' vectors ({PARTS[0].decay} and none before; "
        f"{taught.decay} and {taught.embeddings_decay} in the last three "
        "parts). These are distillation (Hinton et al., 2015): SmolLM2-135M-Instruct, itself trained on reviews for "
        f"{REVIEWS.steps} steps, has read {FORESEEN / 1e6:.1f} M pieces of them, and where its tokens and the pieces "
        f"begin together, {DRAWS} draws from what it expects have {1 - CERTAIN:.0%} of the weight, the piece that does "
        f"follow the rest. Trained on the short stories for {STORIES.steps} steps instead, it has written "
        f"{WRITTEN / 1e6:.1f} M pieces of others, each from the first words of one of these, and what it "
        "expected in them is learnt in the same way. The weights are "
        f"{AVERAGED[1]} of those after the last part and {AVERAGED[0]} of those before it, and the vector of the first "
        "place is then learnt anew for beginnings. At last the weights inside the blocks are rounded to whole "
        "multiples, at most 127, of a power of two for each output.",
        figures=figures,
        limits="It has read stories for children and film reviews and little else: it knows no facts, follows no "
        "instruction, and loses the thread after a few sentences. Old books and anonymous reviews bring their views "
        "with them.",
    )
