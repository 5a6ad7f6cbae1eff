"""The completion model's gradients, and Muon's steps, in tiles, where a processor multiplies bfloat16.

A small network's products are a part of torch's time there; the rest is passes over memory between them. `native/` does
what lies between two products while the numbers are at hand: on two cores the gradients of 8,192 pieces take about
0.4 s instead of 1 in tiles of the processor's own (Intel AMX), and 2.1 s instead of 3.1 by its dot products of bfloat16
(AVX-512, on a Zen 4). It is compiled when it is first used. Where a processor has neither, or there is no compiler, or
an accelerator, torch does the same work, and what is learnt is the same but for rounding.
"""

import ctypes
import math
import shutil
import subprocess
import sys
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from training.answers import Answers

SOURCES = Path(__file__).parent / "native"
MOST_PLACES, HEAD_WIDTH, BLOCK = 512, 64, 32
# A thread's share of a batch is a multiple of this.
TOKENS_AT_ONCE = 1024
OF_A_LAYER = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")


def instructions() -> tuple[str, ...]:
    """What to tell a compiler of how this processor multiplies bfloat16; nothing where it does not."""
    if sys.platform != "linux" or torch.cuda.is_available():
        return ()
    if torch.cpu._is_amx_tile_supported():
        return ("-march=sapphirerapids",)
    return ("-march=x86-64-v4", "-mavx512bf16") if torch.cpu._is_avx512_bf16_supported() else ()


def compiler() -> str | None:
    """A compiler, where this processor has something for it to use."""
    return shutil.which("g++") or shutil.which("clang++") if instructions() else None


def suits(config: GPT2Config) -> bool:
    """Whether `native/` has the architecture: one width of heads, one kind of GELU, no dropout, tied embeddings."""
    return bool(
        config.n_embd == HEAD_WIDTH * config.n_head
        and config.n_embd % 128 == 0
        and config.vocab_size % 2048 == 0
        and config.n_positions == MOST_PLACES
        and config.n_inner in (None, 4 * config.n_embd)
        and config.activation_function == "gelu_pytorch_tanh"
        and config.tie_word_embeddings
        and not (config.resid_pdrop or config.embd_pdrop or config.attn_pdrop)
    )


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="tiles-")


@cache
def compiled(name: str, **shape: int) -> ctypes.CDLL | None:
    """`native/name.cpp` for a network of this shape, compiled into a folder that goes when Python does.

    None where there is no compiler, or one that does not know the processor's instructions.
    """
    with_what = compiler()
    if with_what is None:
        return None
    built = Path(_folder().name) / f"{name}-{len(list(Path(_folder().name).iterdir()))}.so"
    defined = [f"-DNETWORK_{each.upper()}={value}" for each, value in shape.items()]
    flags = ("-std=c++17", "-O3", *instructions(), "-w", "-shared", "-fPIC", "-pthread")
    command = [with_what, *flags, *defined, "-o", str(built), str(SOURCES / f"{name}.cpp")]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        print(f"Training goes on without tiles: {done.stderr.strip().partition(chr(10))[0]}", flush=True)
        return None
    return ctypes.CDLL(str(built))


def pointers(tensors: list[Tensor]) -> Any:
    """Where the numbers of each are, as C takes it."""
    if not all(tensor.is_contiguous() and tensor.dtype == torch.float32 for tensor in tensors):
        raise ValueError("Parameters are float32, each in one run.")
    return (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])


class Network:
    """The loss and the gradients of a model that `suits`, by `library`, for batches of `tokens` pieces in all."""

    def __init__(self, model: GPT2LMHeadModel, library: ctypes.CDLL, tokens: int) -> None:
        config, blocks = model.config, model.transformer
        modules = [blocks.get_submodule(f"h.{layer}.{name}") for layer in range(config.n_layer) for name in OF_A_LAYER]
        both = [(module.get_parameter("weight"), module.get_parameter("bias")) for module in (*modules, blocks.ln_f)]
        vectors = [parameter for pair in both for parameter in pair]
        self.parameters: list[Tensor] = [blocks.wte.weight, blocks.wpe.weight, *vectors]
        self._library = library
        self._library.network_new.restype, self._library.network_run.restype = ctypes.c_void_p, ctypes.c_double
        if tokens < TOKENS_AT_ONCE or tokens % TOKENS_AT_ONCE:
            raise ValueError(f"A batch is a multiple of {TOKENS_AT_ONCE} pieces.")
        threads = min(torch.get_num_threads(), tokens // TOKENS_AT_ONCE)
        while tokens % (threads * TOKENS_AT_ONCE):
            threads -= 1
        self._tokens, self._share = tokens, tokens // threads
        self._network = ctypes.c_void_p(self._library.network_new(tokens, threads))
        weakref.finalize(self, self._library.network_delete, self._network)

    def run(self, pieces: Tensor, answers: Answers | None = None) -> tuple[float, list[Tensor]]:
        """The mean loss over windows `pieces` [B, L + 1], of which L divides a thread's share, and its gradients.

        `answers` [B, L, k] are what is to follow; otherwise that is the piece that does. ArithmeticError where the
        largest score of a place is beyond 60 or below -60.
        """
        before, right = pieces[:, :-1].contiguous(), (answers or Answers.certain(pieces[:, 1:])).flat()
        window = before.shape[1]
        if before.numel() != self._tokens or self._share % window or window % BLOCK or window > MOST_PLACES:
            raise ValueError(f"These are not {self._tokens} pieces in windows that part {self._share} evenly.")
        gradients = [torch.empty_like(parameter) for parameter in self.parameters]
        loss = self._library.network_run(
            self._network,
            pointers(self.parameters),
            pointers(gradients),
            ctypes.c_void_p(before.data_ptr()),
            ctypes.c_void_p(right.pieces.data_ptr()),
            ctypes.c_void_p(right.shares.data_ptr()),
            right.pieces.shape[-1],
            window,
        )
        if math.isnan(loss):
            raise ArithmeticError("The scores of the pieces have grown too large to be exponentials.")
        return loss, gradients


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        network: Network,
        pieces: Tensor,
        answers: Answers | None,
        *parameters: Tensor,  # noqa: ARG004
    ) -> Tensor:
        """The mean loss; the gradients are known as soon as it is. `parameters` are the network's own."""
        loss, ctx.gradients = network.run(pieces, answers)
        return torch.tensor(loss)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients, times the one of the loss."""
        return None, None, None, *[gradient.mul_(grads[0]) for gradient in ctx.gradients]


_networks: weakref.WeakKeyDictionary[GPT2LMHeadModel, Network] = weakref.WeakKeyDictionary()


def next_piece_loss(model: GPT2LMHeadModel, pieces: Tensor, answers: Answers | None = None) -> Tensor | None:
    """Mean cross-entropy of every piece given those before it, over windows [B, L + 1]; none without tiles.

    `answers` [B, L, k] are what is to follow; otherwise that is the piece that does.
    """
    config = model.config
    if not suits(config):
        return None
    library = compiled("network", width=config.n_embd, layers=config.n_layer, words=config.vocab_size)
    if library is None:
        return None
    if model not in _networks:
        _networks[model] = Network(model, library, pieces[:, 1:].numel())
    network = _networks[model]
    loss: Tensor = _Loss.apply(network, pieces, answers, *network.parameters)  # type: ignore[no-untyped-call]
    return loss


class Muon(torch.optim.Muon):
    """torch's own, its steps made in tiles where all of its matrices are as wide one way, and no narrower the other.

    Rates are adjusted to a matrix's shape as by its inventor.
    """

    def __init__(self, parameters: Sequence[Tensor], lr: float, weight_decay: float) -> None:
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, adjust_lr_fn="original")
        width = min(parameters[0].shape)
        self._muons = None
        suited = width % 32 == 0 and all(suits_muon(parameter, width) for parameter in parameters)
        library = compiled("muon", width=width) if suited else None
        if library is not None:
            self._library = library
            self._library.muons_new.restype = ctypes.c_void_p
            self._muons = ctypes.c_void_p(self._library.muons_new(torch.get_num_threads()))
            weakref.finalize(self, self._library.muons_delete, self._muons)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step, as torch's."""
        if self._muons is None or closure is not None:
            return super().step(closure)  # type: ignore[no-untyped-call]
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
            count = len(parameters)
            self._library.muons_step(
                self._muons,
                count,
                pointers(parameters),
                pointers([parameter.grad for parameter in parameters]),
                pointers([self.state[parameter]["momentum_buffer"] for parameter in parameters]),
                (ctypes.c_int * count)(*[parameter.shape[0] for parameter in parameters]),
                (ctypes.c_int * count)(*[parameter.shape[1] for parameter in parameters]),
                *map(ctypes.c_float, (group["lr"], group["weight_decay"], group["momentum"])),
            )
        return None


def suits_muon(parameter: Tensor, width: int) -> bool:
    """Whether a matrix is `width` one way, and a multiple of 32 up to four times that the other way."""
    return min(parameter.shape) == width and max(parameter.shape) <= 4 * width and max(parameter.shape) % 32 == 0
