"""Eleven sentiment classifiers from before Transformers, from a bag of words to a language model's vectors.

Each reads ids `[row, word]`, padded with `PAD` on the right, and returns the log-odds `[row]` that a text is positive;
the probability is their sigmoid.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.before.words import PAD
from models.wording import Sentence

WIDTH = 100
"""The number of components of a word's vector."""

STATES = 100
"""The number of components of a recurrent network's state, in each direction."""

LANGUAGE_STATES = 256
FILTERS, SPANS = 64, (2, 3, 4)
HIDDEN_LAYERS = 2
FROZEN_FEATURES = 64
DROPOUT = 0.4


class Bag(nn.Module):
    """Bag of words, or of n-grams: each of these features has one weight, and the weights are added."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Embedding(features, 1, padding_idx=PAD)
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.zeros_(self.weight.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """The log-odds `[row]`."""
        added: Tensor = self.weight(ids).sum(dim=1)[:, 0]
        return added + self.bias


class OfVectors(nn.Module):
    """A network that turns words into vectors, these into `features` `[row, feature]`, and adds these with weights."""

    def __init__(self, words: int, features: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, WIDTH, padding_idx=PAD)
        self.out = nn.Linear(features, 1)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, ids: Tensor) -> Tensor:
        """The log-odds `[row]`."""
        return self.score(self.vectors(ids), ids != PAD)

    def score(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The log-odds `[row]` from word vectors `[row, word, WIDTH]`; `seen` `[row, word]` is false for padding."""
        logits: Tensor = self.out(self.dropout(self.features(self.dropout(vectors), seen)))
        return logits[:, 0]

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The features `[row, feature]`."""
        raise NotImplementedError


class ContinuousBag(OfVectors):
    """CBOW: the words' vectors are added; hidden layers may read their sum (deep CBOW), or their mean (averaging)."""

    def __init__(self, words: int, layers: int = 0, *, averaged: bool = False) -> None:
        super().__init__(words, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(layers))
        self.averaged = averaged
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The sum or mean of the vectors or, with hidden layers, the output of the last one, `[row, feature]`."""
        if self.averaged and self.training:
            # Iyyer et al. drop whole words in training.
            seen = seen & (torch.rand(seen.shape, device=seen.device) > DROPOUT / 2)
        found = (vectors * seen[..., None]).sum(dim=1)
        if self.averaged:
            found = found / seen.sum(dim=1, keepdim=True).clamp(min=1)
        for layer in self.layers:
            found = functional.relu(layer(found)) if self.averaged else torch.tanh(layer(found))
        return found


class Convolution(OfVectors):
    """Kim's network: filters slide over spans of two to four words, and the greatest value of each counts."""

    def __init__(self, words: int) -> None:
        super().__init__(words, FILTERS * len(SPANS))
        self.filters = nn.ModuleList(nn.Conv1d(WIDTH, FILTERS, span, padding=span - 1) for span in SPANS)
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """Each filter's greatest value over all spans that hold a word: max over time."""
        vectors = vectors * seen[..., None]
        return torch.cat([each.amax(dim=2) for each in self.places(vectors, seen.sum(dim=1))], dim=1)

    def places(self, vectors: Tensor, lengths: Tensor) -> list[Tensor]:
        """For each span size, the filters' values `[row, filter, place]`; place p is the span that ends at word p."""
        found = []
        for span, layer in zip(SPANS, self.filters, strict=True):
            values = functional.relu(layer(vectors.transpose(1, 2)))
            beyond = torch.arange(values.shape[2], device=values.device) >= (lengths + span - 1)[:, None]
            found.append(values.masked_fill(beyond[:, None], 0.0))
        return found


class Recurrent(OfVectors):
    """An Elman network or an LSTM, perhaps bidirectional, whose features are its last state."""

    def __init__(self, words: int, cell: type[nn.RNNBase], *, both_ways: bool = False) -> None:
        super().__init__(words, STATES * (1 + both_ways))
        self.cell = cell(WIDTH, STATES, batch_first=True, bidirectional=both_ways)  # type: ignore[call-arg,arg-type]
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The last state; if bidirectional, the forward one after the last word and the backward one at the first."""
        states, size = states_of(self.cell, vectors, seen), self.cell.hidden_size
        last = states[torch.arange(len(states)), seen.sum(dim=1) - 1]
        return torch.cat([last[:, :size], states[:, 0, size:]], dim=1)


def states_of(cell: nn.RNNBase, vectors: Tensor, seen: Tensor) -> Tensor:
    """The states `[row, word, state]` of `cell` after each word; if it is bidirectional, the backward ones last."""
    packed = pack_padded_sequence(vectors, seen.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(cell(packed)[0], batch_first=True, total_length=vectors.shape[1])
    return states


class LanguageModel(nn.Module):
    """Two LSTMs: one reads forwards and predicts the next word, the other reads backwards and predicts the one before.

    Both share the words' vectors, which also serve as the output embedding.
    """

    def __init__(self, words: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, WIDTH, padding_idx=PAD)
        nn.init.normal_(self.vectors.weight, std=0.1)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True, bidirectional=True)
        self.guess = nn.ModuleList(nn.Linear(LANGUAGE_STATES, WIDTH) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(words))


class FineTuned(OfVectors):
    """ULMFiT's idea: the forward half of the language model is fine-tuned to classify.

    Its features are the last state, and the mean and the maximum of all states (concat pooling).
    """

    def __init__(self, words: int) -> None:
        super().__init__(words, 3 * LANGUAGE_STATES)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The pooled states `[row, feature]`."""
        states, lengths = states_of(self.cell, vectors, seen), seen.sum(dim=1)
        last = states[torch.arange(len(states)), lengths - 1]
        mean = (states * seen[..., None]).sum(dim=1) / lengths[:, None]
        return torch.cat([last, mean, states.masked_fill(~seen[..., None], -torch.inf).amax(dim=1)], dim=1)


class Frozen(OfVectors):
    """ELMo's idea: each word is represented by its vector and both states of a frozen language model.

    Only the layers above are trained: one of features, which are averaged over the words, and the output.
    """

    def __init__(self, words: int) -> None:
        super().__init__(words, FROZEN_FEATURES)
        # A lower rate: the language model was not trained on vectors of which so much is missing.
        self.dropout = nn.Dropout(DROPOUT / 4)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True, bidirectional=True)
        self.layer = nn.Linear(WIDTH + 2 * LANGUAGE_STATES, FROZEN_FEATURES)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The mean of the words' features, `[row, feature]`."""
        return (self.of_words(vectors, seen) * seen[..., None]).sum(dim=1) / seen.sum(dim=1, keepdim=True)

    def of_words(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The features `[row, word, feature]` of each word in its context."""
        return functional.relu(self.layer(torch.cat([vectors, states_of(self.cell, vectors, seen)], dim=2)))


@dataclass(frozen=True)
class Generation:
    """A kind of network: its `key` in files, when and where its idea was published, and `make`, which builds it.

    A `pretrained` one starts from the language model and knows the words of that and of sst2, others those of sst2
    alone.
    """

    key: str
    name: str
    year: int
    paper: str
    make: Callable[[int], nn.Module]
    pretrained: bool = False


GENERATIONS = (
    Generation("bag_of_words", Sentence("Bag of words"), 1954, "Harris, 1954", Bag),
    Generation("bag_of_ngrams", Sentence("Bag of n-grams"), 2012, "Wang and Manning, 2012", Bag),
    Generation("cbow", Sentence("CBOW"), 2013, "Mikolov et al., 2013", ContinuousBag),
    Generation("deep_cbow", Sentence("Deep CBOW"), 2013, Sentence("Mikolov et al., 2013, with hidden layers"),
               lambda words: ContinuousBag(words, HIDDEN_LAYERS)),
    Generation("deep_averaging", Sentence("Deep averaging network"), 2015, "Iyyer et al., 2015",
               lambda words: ContinuousBag(words, HIDDEN_LAYERS, averaged=True)),
    Generation("convolution", Sentence("Convolution"), 2014, "Kim, 2014", Convolution),
    Generation("elman", Sentence("Elman network"), 1990, "Elman, 1990", lambda words: Recurrent(words, nn.RNN)),
    Generation("lstm", Sentence("LSTM"), 1997, "Hochreiter and Schmidhuber, 1997",
               lambda words: Recurrent(words, nn.LSTM)),
    Generation("bilstm", Sentence("Bidirectional LSTM"), 2005, "Graves and Schmidhuber, 2005",
               lambda words: Recurrent(words, nn.LSTM, both_ways=True)),
    Generation("fine_tuned", Sentence("LSTM, pre-trained and fine-tuned"), 2018, "Howard and Ruder, 2018 (ULMFiT)",
               FineTuned, pretrained=True),
    Generation("frozen", Sentence("Frozen vectors of a language model"), 2018, "Peters et al., 2018 (ELMo)", Frozen,
               pretrained=True),
)  # fmt: skip
"""Every network before BERT, in the order in which lectures teach them."""
