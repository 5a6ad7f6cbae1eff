"""Completion from scratch: GPT-2's architecture, small, trained on stories for children and on film reviews.

The data, as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales of
FairytaleQA, children's books of Project Gutenberg, and the unlabelled reviews of IMDb (Maas et al., 2011), as plain
text. Of simple stories there are few, so a larger model writes more of them.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from evaluation.measures import text_generation
from evaluation.perplexity import perplexity_per_word
from training import stories
from training.bpe import byte_level_tokenizer
from training.cards import Card, Credit, save, write_card
from training.loop import Plan, muon_and_adamw, train
from training.stories import Prose

NAME = "clearhead-stories"
VOCABULARY = 8192
WIDTH = 384
STEPS, WARMUP_STEPS = 30_000, 100
PLACES = 512
ROWS, WINDOW = 16, 512
SHARES = (0.05, 0.05, 0.10, 0.60, 0.20)
"""Of the windows: short stories, fairy tales, books, reviews, stories that a larger model wrote."""

OPENED_SHARE = 0.2
WEIGHT_DECAY = 0.1
WRITTEN_STORIES = 10_000
EVALUATED_EVERY = 500
DEVELOPMENT_CHARACTERS = 60_000
SEED = 21


def new_model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """A model with 6 layers and 6 heads, its weights random."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=PLACES,
        n_embd=WIDTH,
        n_layer=6,
        n_head=6,
        # The same function as GPT-2's gelu_new, in one kernel.
        activation_function="gelu_pytorch_tanh",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=end,
        eos_token_id=end,
    )
    model = GPT2LMHeadModel(config)
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=0.8, top_p=0.95, bos_token_id=end, eos_token_id=end, pad_token_id=end
    )
    return model


def development(tokenizer: PreTrainedTokenizerFast, text: Prose) -> Callable[[nn.Module], dict[str, float]]:
    """A measure for the loop: perplexity per word on the beginning of each text kept out."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {
            name: round(perplexity_per_word(model, tokenizer, kept_out[:DEVELOPMENT_CHARACTERS]), 1)
            for name, kept_out in (("books", text.books_kept_out), ("reviews", text.reviews_kept_out))
        }

    return evaluate


def build(data: Path, workdir: Path) -> None:
    """Train the completion model, save it, measure it and write its card."""
    torch.manual_seed(SEED)
    text = stories.load(data)
    folder = workdir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "books_kept_out.txt").write_text(text.books_kept_out, encoding="utf-8")
    (folder / "reviews_kept_out.txt").write_text(text.reviews_kept_out, encoding="utf-8")
    written = stories.written_stories(text.short_stories, WRITTEN_STORIES, folder / "writer")
    by_source = [text.short_stories, text.fairy_tales, text.books, text.reviews, written]

    tokenizer = byte_level_tokenizer((document for documents in by_source for document in documents), VOCABULARY)
    model = new_model(tokenizer)

    sources = [stories.join(tokenizer, documents) for documents in by_source]
    train(
        model,
        muon_and_adamw(model, WEIGHT_DECAY),
        lambda step: stories.windows(sources, SHARES, ROWS, WINDOW, OPENED_SHARE, step),
        stories.next_piece_loss,
        Plan(steps=STEPS, warmup_steps=WARMUP_STEPS, workdir=folder),
        evaluate=development(tokenizer, text),
        evaluate_every=EVALUATED_EVERY,
    )

    saved = save(model, tokenizer, NAME)
    books, reviews = (text_generation(saved, kept_out) for kept_out in (text.books_kept_out, text.reviews_kept_out))
    figures = {
        "perplexity per word, two children's books kept out": books["perplexity_per_word"],
        "perplexity per word, 500 film reviews kept out": reviews["perplexity_per_word"],
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    shares = ", ".join(f"{share:.0%}" for share in SHARES)
    return Card(
        name=NAME,
        task="text-generation",
        languages=("en",),
        license="apache-2.0",
        what="A small GPT-2 (6 layers, 384 wide, 6 heads, 14 M parameters, a vocabulary of its own of 8,192 byte-level "
        "pieces) that writes plain English stories and film reviews. An empty prompt starts a text; `<|endoftext|>` "
        "ends one.",
        sources=(
            Credit("TinyStories, its first 1,727 stories", "CDLA-Sharing-1.0"),
            Credit("278 fairy tales, the texts behind FairytaleQA", "Apache-2.0"),
            Credit("58 children's books of Project Gutenberg", "public domain in the United States"),
            Credit("film reviews of IMDb (Maas et al., 2011), without labels", "none stated; research use"),
            Credit("SmolLM2-135M-Instruct, which wrote more short stories", "Apache-2.0"),
        ),
        recipe=f"`training/text_generation.py`: from scratch, {STEPS:,} steps of {ROWS} windows of {WINDOW} pieces, "
        f"bfloat16 autocast. Muon for the matrices inside the blocks, with weight decay {WEIGHT_DECAY}, AdamW for the "
        "rest, linear decay to zero. Of the windows "
        f"{shares} are of short stories, fairy tales, books, reviews and written stories, and {OPENED_SHARE:.0%} begin "
        "where a document does. SmolLM2-135M-Instruct, trained on the short stories for "
        f"{stories.WRITER_STEPS} steps, wrote the last kind, {WRITTEN_STORIES:,} at most, each from the first words of "
        "one of them.",
        figures=figures,
        limits="It has read stories for children and film reviews and little else: it knows no facts, follows no "
        "instruction, and loses the thread after a few sentences. Old books and anonymous reviews bring their views "
        "with them.",
    )
