"""Completion from scratch: GPT-2's architecture, small, trained on stories for children and on film reviews.

The data, as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales behind
FairytaleQA, children's books of Project Gutenberg, and the unlabelled reviews of IMDb (Maas et al., 2011), as plain
text; as `data/imdb`, its labelled reviews for training.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import (
    AutoTokenizer,
    BertModel,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from benchmarks.perplexity import perplexity_per_word
from benchmarks.probes import OF_CARDS, bundled_share
from models.tasks import Task
from training import samples, stories
from training.bpe import byte_level_tokenizer
from training.cards import CHECKPOINTS, Card, write_card
from training.cards import Source as Licensed
from training.loop import Batch, Plan, train
from training.masked_lm import published_encoder
from training.optimizers import muon_and_adamw
from training.saving import save_tokenizer
from training.vocabulary_loss import vocabulary_loss
from training.whole_steps import to_whole_steps

NAME = "clearhead-stories"
STEPS = 1640
WARMUP_STEPS = 100
PIECES = 8192
WINDOW, LONG_WINDOW = 256, 512
# Short windows first, which cost less; then these many steps for the places that only long windows have.
LONG_STEPS, LONG_WARMUP_STEPS = 240, 20
MUON_RATE, ADAMW_RATE = 0.02, 3e-3
LONG_RATES = 0.3
# Then again from warm rates, with more reviews, which are the hardest to learn: short windows, every fourth long, and
# the last fifth all long.
MORE_STEPS, MORE_WARMUP_STEPS = 1907, 60
MORE_RATES = 0.8
EVERY_LONG = 4
# And once more in the same way, three quarters of it reviews, the rates held for a part of the steps.
AGAIN_STEPS, AGAIN_HELD = 2207, 0.4
VOCABULARY = 8192
EVALUATED_EVERY = 250
SEED = 21
# How many windows begin with the start token and a paragraph, as every visitor's text does.
OPENED_SHARE = 0.35
EMBEDDING_STD = 0.03
DEVELOPMENT_CHARACTERS = 60_000


@dataclass(frozen=True)
class Mixture:
    """What share of the rows each source has at the first and at the last of `steps`, and how long the windows are.

    The sources are short stories, fairy tales, books and reviews.
    """

    first: tuple[float, ...]
    last: tuple[float, ...]
    steps: int
    window_at: Callable[[int], int]

    def shares_at(self, step: int) -> list[float]:
        """The shares at `step`, on the way from the first to the last."""
        progress = min(1.0, step / self.steps)
        return [first + (last - first) * progress for first, last in zip(self.first, self.last, strict=True)]


@dataclass(frozen=True)
class Source:
    """One source as a single run of pieces [n], and the places where its paragraphs begin [p]."""

    pieces: Tensor
    openings: Tensor


def join(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> Source:
    """The documents one after another, each opened by the end-of-text token, which so ends the one before."""
    end = tokenizer.eos_token_id
    run: list[int] = []
    for pieces in tokenizer(documents, verbose=False)["input_ids"]:
        run += [end, *pieces]
    joined = torch.tensor([*run, end])
    breaks = [end, *tokenizer(stories.BETWEEN_PARAGRAPHS)["input_ids"][-1:]]
    broken = torch.isin(joined, torch.tensor(breaks))
    return Source(joined, (broken[:-1] & ~broken[1:]).nonzero().flatten() + 1)


def new_model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """GPT-2's architecture with 4 layers 384 wide and 6 heads."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=512,
        n_embd=384,
        n_layer=4,
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


@torch.no_grad()
def borrow_embeddings(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, encoder: Path) -> None:
    """Start each piece [384] from the mean of its word pieces in `encoder`, a BERT of the same width."""
    words = AutoTokenizer.from_pretrained(encoder)
    table = BertModel.from_pretrained(encoder, add_pooling_layer=False).embeddings.word_embeddings.weight
    table = (table - table.mean(0)) / table.std() * EMBEDDING_STD
    known = words.get_vocab()
    embedding = model.transformer.wte.weight
    for at in range(len(tokenizer)):
        text = tokenizer.decode([at])
        inside = "##" + text
        ids = [known[inside]] if inside in known else words(text, add_special_tokens=False)["input_ids"]
        if ids and words.unk_token_id not in ids:
            embedding[at] = table[ids].mean(0)


def mixtures(steps: int) -> tuple[Mixture, Mixture, Mixture, Mixture]:
    """Those of short windows, of long ones, and of the two parts after both."""
    first, last = (0.05, 0.10, 0.45, 0.40), (0.10, 0.15, 0.40, 0.35)

    def both(all_long_from: float) -> Callable[[int], int]:
        return lambda step: LONG_WINDOW if step % EVERY_LONG == EVERY_LONG - 1 or step > all_long_from else WINDOW

    return (
        Mixture(first, last, steps, lambda _step: WINDOW),
        Mixture(last, last, LONG_STEPS, lambda _step: LONG_WINDOW),
        Mixture((0.05, 0.08, 0.22, 0.65), (0.08, 0.10, 0.22, 0.60), MORE_STEPS, both(0.8 * MORE_STEPS)),
        Mixture((0.04, 0.07, 0.14, 0.75), (0.06, 0.09, 0.15, 0.70), AGAIN_STEPS, both(0.85 * AGAIN_STEPS)),
    )


def windows_of(sources: list[Source], step: int, mixture: Mixture) -> Iterator[Batch]:
    """Endless batches [PIECES / window, window + 1]; `OPENED_SHARE` of the rows are the start token and a paragraph."""
    end = sources[0].pieces[:1]
    while True:
        window, shares = mixture.window_at(step), mixture.shares_at(step)
        chance = random.Random(f"{SEED} {step} {window} {shares}")
        rows = []
        for source in chance.choices(sources, shares, k=PIECES // window):
            last = len(source.pieces) - window - 1
            if chance.random() < OPENED_SHARE:
                start = min(chance.choice(source.openings).item(), last)
                rows.append(torch.cat([end, source.pieces[start : start + window]]))
            else:
                start = chance.randrange(last)
                rows.append(source.pieces[start : start + window + 1])
        yield {"pieces": torch.stack(rows)}
        step += 1


def next_piece_loss(model: GPT2LMHeadModel, batch: Batch) -> Tensor:
    """Mean cross-entropy of every piece given those before it, over windows [B, L + 1]."""
    pieces = batch["pieces"]
    # Of short windows plain attention is the quicker one to differentiate.
    model.set_attn_implementation("eager" if pieces.shape[1] <= WINDOW + 1 else "sdpa")
    hidden = model.transformer(input_ids=pieces[:, :-1], use_cache=False).last_hidden_state
    return vocabulary_loss(hidden.flatten(0, 1), model.lm_head.weight, pieces[:, 1:].flatten())


def development(tokenizer: PreTrainedTokenizerFast, text: stories.Prose) -> Callable[[nn.Module], dict[str, float]]:
    """A measure for the loop: perplexity per word on the beginning of each text kept out."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {
            name: round(perplexity_per_word(model, tokenizer, kept_out[:DEVELOPMENT_CHARACTERS]), 1)
            for name, kept_out in (("books", text.books_kept_out), ("reviews", text.reviews_kept_out))
        }

    return evaluate


def optimizers_of(model: GPT2LMHeadModel, factor: float) -> list[torch.optim.Optimizer]:
    """Muon and AdamW at `factor` times their rates."""
    return muon_and_adamw(
        model, muon_rate=MUON_RATE * factor, adamw_rate=ADAMW_RATE * factor, weight_decay=0.05, betas=(0.9, 0.95)
    )


@torch.no_grad()
def repeat_positions(model: GPT2LMHeadModel) -> None:
    """Start the places [512] that short windows never reach from those that they do."""
    places = model.transformer.wpe.weight
    places[WINDOW:] = places[:WINDOW]


def figures_of(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, sources: list[Source], text: stories.Prose
) -> dict[str, float]:
    """Perplexity on what was kept out, and what can be counted in seeded samples."""
    short = [samples.sample(model, tokenizer, "", seed, 60) for seed in range(20)]
    long = [samples.sample(model, tokenizer, "", seed, 120) for seed in range(100, 300)]
    for pieces in short:
        print(tokenizer.decode(pieces), end="\n---\n", flush=True)
    return {
        "perplexity per word, two children's books kept out": perplexity_per_word(
            model, tokenizer, text.books_kept_out
        ),
        "perplexity per word, 500 film reviews kept out": perplexity_per_word(model, tokenizer, text.reviews_kept_out),
        "samples of 60 tokens that repeat a 4-gram three times, of 20": sum(map(samples.repeats_phrase, short)),
        "samples of 120 tokens with 40 in a row from training, of 200": len(
            samples.copied(long, [source.pieces for source in sources])
        ),
    }


def build(data: Path, workdir: Path, steps: int = STEPS) -> None:
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
    measure = development(tokenizer, text)
    short, long, more, again = mixtures(steps)

    def read(mixture: Mixture, rates: float, warmup_steps: int, workdir: Path, held: float = 0.0) -> None:
        train(
            model,
            optimizers_of(model, rates),
            lambda step: windows_of(sources, step, mixture),
            next_piece_loss,
            Plan(steps=mixture.steps, warmup_steps=warmup_steps, workdir=workdir, held=held),
            evaluate=measure,
            evaluate_every=EVALUATED_EVERY,
        )

    read(short, 1.0, WARMUP_STEPS, folder)
    repeat_positions(model)
    read(long, LONG_RATES, LONG_WARMUP_STEPS, folder / "long")
    read(more, MORE_RATES, MORE_WARMUP_STEPS, folder / "more")
    read(again, MORE_RATES, MORE_WARMUP_STEPS, folder / "again", AGAIN_HELD)
    model.set_attn_implementation("sdpa")
    to_whole_steps(model)
    model.half().save_pretrained(CHECKPOINTS / NAME)
    save_tokenizer(tokenizer, CHECKPOINTS / NAME)
    figures = figures_of(model.float().cpu(), tokenizer, sources, text)
    figures[OF_CARDS] = bundled_share(Task.COMPLETION)
    print(figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    moves = ", then ".join(f"from {part.first} to {part.last}" for part in mixtures(STEPS) if part.first != part.last)
    return Card(
        name=NAME,
        task="text-generation",
        languages=("en",),
        license="apache-2.0",
        what="A small GPT-2 (4 layers, 384 wide, 6 heads, 10 M parameters, a vocabulary of its own of 8,192 byte-level "
        "pieces) that writes plain English stories and film reviews. An empty prompt starts a text; `<|endoftext|>` "
        "ends one.",
        sources=(
            Licensed("TinyStories, its first 1,727 stories", "CDLA-Sharing-1.0"),
            Licensed("278 fairy tales, the texts behind FairytaleQA", "Apache-2.0"),
            Licensed("58 children's books of Project Gutenberg", "public domain in the United States"),
            Licensed("73,300 film reviews of IMDb (Maas et al., 2011), without labels", "none stated; research use"),
            Licensed("all-MiniLM-L6-v2, whose word embeddings the model's own start from", "Apache-2.0"),
        ),
        recipe=f"`training/text_generation.py`: {STEPS} steps of {PIECES} pieces in windows of {WINDOW}, {LONG_STEPS} "
        f"in windows of {LONG_WINDOW}, and {MORE_STEPS} and {AGAIN_STEPS} in both; bfloat16 autocast on the CPU. Muon "
        f"({MUON_RATE}) for the matrices inside the blocks, AdamW ({ADAMW_RATE}) for the rest, times {LONG_RATES} for "
        f"the long windows and {MORE_RATES} for the last two parts, each decaying to zero. The sources' shares of a "
        f"batch (short stories, fairy tales, books, reviews) move {moves}. {OPENED_SHARE:.0%} of the windows are the "
        "start token and the beginning of a paragraph. At last the weights inside the blocks are rounded to whole "
        "multiples, at most 127, of a power of two for each output.",
        figures=figures,
        limits="It has read stories for children and film reviews and little else: it knows no facts, follows no "
        "instruction, and loses the thread after a few sentences. Old books and anonymous reviews bring their views "
        "with them.",
    )
