"""The endpoints that follow a decoder: its strategies as one tree, and a text that goes on from another token."""

from typing import TypedDict, cast

import gradio as gr

from demo.api.contract import CheckpointUsed, Completion, checkpoint_used, completion
from demo.api.endpoint import add_endpoint, run_to_read, session_to_log
from demo.limits import whole_number
from demo.runs import DemoService, fork_fields
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.outputs import CompletionOutput, DecodeTree
from models.registry import Task


class Node(TypedDict):
    """A token behind its `parent` (node 0, the prompt, has -1); log-probabilities are natural and the model's own.

    `kept` says whether beam search went on with this draft or finished it, `weighed` whether it looked at it at all;
    `strategies` are those whose final text holds it.
    """

    id: int
    parent: int
    token: str
    token_id: int
    step: int
    log_probability: float
    total: float
    kept: bool
    weighed: bool
    ended: bool
    strategies: list[str]


class StrategyResult(TypedDict):
    """What a strategy wrote behind the prompt, and the log-probability of all of it."""

    strategy: str
    text: str
    log_probability: float


class Tree(TypedDict):
    """The nodes, each after its parent, and the texts of greedy search, beam search and sampling."""

    checkpoint: CheckpointUsed
    nodes: list[Node]
    texts: list[StrategyResult]


def add_decoder_endpoints(service: DemoService) -> None:
    """Add the endpoints of the decoder."""

    def decode_tree(
        prompt: str,
        num_beams: int = 4,
        steps: int = 12,
        checkpoint: str = "",
        temperature: float = 0.8,
        top_k: int = 50,
        top_p: float = 0.95,
        seed: int = 0,
        loop_guard: int = 4,
    ) -> Tree:
        """Grow greedy search, beam search and sampling from one prompt as a tree, dropped drafts included.

        Args:
            prompt: The text to continue; empty to start from nothing.
            num_beams: How many drafts beam search keeps, from 1 to 8.
            steps: How many tokens to write, from 1 to 40.
            checkpoint: The name of a checkpoint; empty for the bundled one.
            temperature: For sampling, from 0.05 to 5.
            top_k: For sampling: choose among the k likeliest tokens; 0 for all.
            top_p: For sampling: choose among the likeliest tokens that make up this probability, from 0.01 to 1.
            seed: For sampling: the random seed.
            loop_guard: For sampling: so many tokens in a row are drawn no third time, from 0 (let them) to 20.
        """
        fields = {
            "prompt": prompt,
            "max_new_tokens": whole_number(steps, "The number of steps", "steps"),
            "num_beams": num_beams,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            "loop_guard": loop_guard,
        }
        return _tree(service.decode_tree(fields, checkpoint))

    def fork(request: gr.Request, run_id: str, step: int, token_id: int) -> Completion:
        """Write a completion again from one of its tokens on, with another token in its place and the same settings.

        Args:
            run_id: The run_id of an earlier completion.
            step: Which of its tokens gives way, counted from 1; those before it stay.
            token_id: The id of the token to put in its place, such as one of its alternatives.
        """
        run = run_to_read(service, request, run_id)
        if run.task is not Task.COMPLETION:
            raise InputError("Only a completion can go on from another token here.", "run_id")
        step = whole_number(step, "The step", "step")
        token_id = whole_number(token_id, "The id of the token", "token_id")
        fields = fork_fields(run, service.output_of(run), step, token_id)
        done = service.run(session_to_log(service, request), run.task, fields, run.checkpoint)
        return completion(done.run, cast(CompletionOutput, done.output))

    for endpoint in (decode_tree, fork):
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def _tree(tree: DecodeTree) -> Tree:
    used = tree.checkpoint
    return {
        "checkpoint": checkpoint_used(used),
        "nodes": [
            {
                "id": node.id,
                "parent": node.parent,
                "token": node.token,
                "token_id": node.token_id,
                "step": node.depth,
                "log_probability": node.log_probability,
                "total": node.total,
                "kept": node.kept,
                "weighed": node.weighed,
                "ended": node.ended,
                "strategies": list(node.strategies),
            }
            for node in tree.nodes
        ],
        "texts": [
            {"strategy": each.strategy, "text": each.text, "log_probability": each.log_probability}
            for each in tree.texts
        ],
    }
