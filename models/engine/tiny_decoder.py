"""A tiny decoder over characters, and its training on a text: GPT's design at a thousandth of its size."""

import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

from models.cancellation import go_on
from models.outputs.training import Learned, Sample

LAYERS, HEADS, WIDTH = 2, 4, 64
WINDOW, ROWS, RATE = 64, 12, 3e-3
KEPT_SHARE, SAMPLE_CHARACTERS = 0.1, 80


class Block(nn.Module):
    """A Transformer's layer: causal self-attention, then a feed-forward network, each after a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.inner_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.together = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, vectors: Tensor) -> Tensor:
        """`vectors` `[row, character, width]` with the outputs of both parts added to them."""
        rows, length, _ = vectors.shape
        split = self.query_key_value(self.attention_norm(vectors)).view(rows, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        vectors = vectors + self.together(mixed.transpose(1, 2).reshape(rows, length, WIDTH))
        added: Tensor = self.outer(gelu(self.inner(self.inner_norm(vectors))))
        return vectors + added


class Network(nn.Module):
    """A decoder: embeddings of characters and positions, two layers, and logits for the next character."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.characters, self.positions = nn.Embedding(characters, WIDTH), nn.Embedding(WINDOW, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)
        for table in (self.characters, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """The logits `[row, character, next]` after each of `ids` `[row, character]`."""
        vectors = self.characters(ids) + self.positions.weight[: ids.shape[1]]
        scores: Tensor = self.scores(self.norm(self.blocks(vectors)))
        return scores


class Training:
    """A network and the text that it learns, except the last tenth; `course` and `samples` are the reports so far."""

    def __init__(self, text: str, seed: int) -> None:
        self.text, self.alphabet = text, "".join(sorted(set(text)))
        self.ids = torch.tensor([self.alphabet.index(each) for each in text])
        self.read = len(text) - round(KEPT_SHARE * len(text))
        self.window = min(WINDOW, self.read - 1)
        # Not the process's generator, which all threads share: with it, no run could be repeated.
        self._chance = torch.Generator().manual_seed(seed)
        self.network = made(len(self.alphabet), self._chance)
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=RATE, weight_decay=0.0)
        self.step = 0
        self.course: list[Learned] = []
        self.samples: list[Sample] = []

    def learn(self, steps: int, ends: float) -> None:
        """Take `steps` steps, each on some windows of the text, or fewer if `time.monotonic()` reaches `ends`."""
        for _ in range(steps):
            go_on()
            starts = torch.randint(self.read - self.window, (ROWS, 1), generator=self._chance)
            rows = self.ids[starts + torch.arange(self.window + 1)]
            with torch.enable_grad():
                loss = cross_entropy(self.network(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
                loss.backward()
            self._optimizer.step()
            self._optimizer.zero_grad()
            self.step += 1
            if time.monotonic() >= ends:
                return

    def report(self, *, sample: bool) -> None:
        """Append the losses so far to `course`, and with `sample` a text that the network writes to `samples`."""
        self.course.append(measured(self.network, self.ids, self.read, self.window, self.step))
        if sample:
            text = written(self.network, self.ids[:1], self.alphabet, self.window, self._chance)
            self.samples.append(Sample(self.step, text))


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP to one thread: in a network of this size, two wait for each other on a busy machine."""
    # torch sets a number of its own when a thread first asks, which would undo the limit.
    torch.get_num_threads()
    with threadpool_limits(1, "openmp"):
        yield


def made(characters: int, chance: torch.Generator) -> Network:
    """A network with initial weights drawn from `chance` alone, scaled as those of `nn.Linear` and GPT-2."""
    network = Network(characters)
    with torch.no_grad():
        for each in network.modules():
            if isinstance(each, nn.Linear):
                bound = 1 / math.sqrt(each.in_features)
                each.weight.uniform_(-bound, bound, generator=chance)
                each.bias.zero_()
            elif isinstance(each, nn.Embedding):
                each.weight.normal_(std=0.02, generator=chance)
    return network


@torch.no_grad()
def measured(network: Network, ids: Tensor, learned: int, window: int, step: int) -> Learned:
    """Measure the losses of all characters but the first, each predicted from at most `window` characters before it.

    Windows overlap by half, so that all but the first characters have half a window before them.
    """
    half = max(1, window // 2)
    losses, right = torch.zeros(len(ids)), torch.zeros(len(ids), dtype=torch.bool)
    starts = sorted({*range(0, len(ids) - 1 - window, half), max(0, len(ids) - 1 - window)})
    rows = torch.stack([ids[start : start + window + 1] for start in starts])
    logits = network(rows[:, :-1])
    each = cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none").view(len(starts), -1)
    found = logits.argmax(dim=-1) == rows[:, 1:]
    counted = 0
    for row, start in enumerate(starts):
        # The window before has already predicted the others.
        new, end = counted - start, start + window
        losses[counted + 1 : end + 1], right[counted + 1 : end + 1] = each[row, new:], found[row, new:]
        counted = end
    read, kept = losses[1:learned], losses[learned:]
    return Learned(step, float(read.mean()), float(kept.mean()), float(right[1:learned].float().mean()))


@torch.no_grad()
def written(network: Network, first: Tensor, alphabet: str, window: int, chance: torch.Generator) -> str:
    """A text of `SAMPLE_CHARACTERS`: the `first` one, then each drawn from the network's probabilities."""
    ids = first
    for _ in range(SAMPLE_CHARACTERS - 1):
        go_on()
        shares = network(ids[None, -window:])[0, -1].softmax(dim=0)
        ids = torch.cat([ids, torch.multinomial(shares, 1, generator=chance)])
    return "".join(alphabet[each] for each in ids.tolist())


def longest_copy(sample: str, text: str) -> int:
    """The length of the longest run of characters of `sample` that stands in `text`."""
    return SequenceMatcher(None, sample, text, autojunk=False).find_longest_match().size


def digest_of(network: Network) -> str:
    """The first 12 hexadecimal digits of the sha256 of the network's parameters."""
    digest = hashlib.sha256()
    for each in network.parameters():
        digest.update(each.detach().numpy().tobytes())
    return digest.hexdigest()[:12]
