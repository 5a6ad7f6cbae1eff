"""Model workers kept by Ray Serve: `python -m models.backend.ray_serve --replicas 2`, then pages ask them.

All checkpoints share one deployment: Serve sends a call to a replica that has its model, if there is one (model
multiplexing), starts replicas while more calls wait than `--waiting` and stops idle ones (autoscaling). `--own`
gives a checkpoint a deployment of its own. No passes are joined into batches: measured here, that made no answer
quicker (docs/experiments/engine.md).
"""

import argparse
import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

# Ray reads this when it is imported, and then reports no usage statistics.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray import serve
from starlette.requests import Request as Call
from starlette.responses import Response

from models.backend.worker import Worker
from models.engine import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import REGISTRY

_MODELS_OF_A_REPLICA = 20
_ROUTE = "/ask"


class Replica:
    """A `Worker` with the methods that Ray Serve calls."""

    def __init__(self, store: Callable[[], ModelStore]) -> None:
        self._worker = Worker(store())

    @serve.multiplexed(  # type: ignore[untyped-decorator]
        max_num_models_per_replica=_MODELS_OF_A_REPLICA
    )
    async def _serves(self, checkpoint: str) -> str:
        """Tell Serve that this replica has the model; the store loads and drops models by itself."""
        return checkpoint

    async def __call__(self, call: Call) -> Response:
        """The worker's response to `call`."""
        if name := serve.get_multiplexed_model_id():
            await self._serves(name)
        return await self._worker.answer(call)


def deploy(
    replicas: int,
    most: int,
    waiting: int,
    cpus: float,
    gpus: float,
    store: Callable[[], ModelStore],
    own: Sequence[str] = (),
) -> None:
    """Start the deployments, or update those that run; each worker makes a `store` of its own."""
    scaling: dict[str, Any] = {"min_replicas": replicas, "max_replicas": max(replicas, most)}
    scaling["target_ongoing_requests"] = waiting
    options: dict[str, Any] = {
        "autoscaling_config": scaling,
        "max_ongoing_requests": 4 * waiting,
        "ray_actor_options": {"num_cpus": cpus, "num_gpus": gpus},
        "logging_config": {"enable_access_log": False},
        "health_check_period_s": 2,
        "health_check_timeout_s": 10,
    }
    deployment = serve.deployment(**options)(Replica)
    serve.run(deployment.bind(store), name="models", route_prefix=_ROUTE)
    for checkpoint in own:
        alone = deployment.options(name=checkpoint).bind(store)
        serve.run(alone, name=checkpoint, route_prefix=f"{_ROUTE}/{checkpoint}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start Ray Serve on this machine, or in the cluster that `--address` names, and stay until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m models.backend.ray_serve", description=__doc__)
    parser.add_argument("--address", help="a Ray cluster that runs, such as auto; a new one on this machine without it")
    parser.add_argument("--host", default="127.0.0.1", help="where pages call (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="where pages call (default: 8000)")
    parser.add_argument("--replicas", type=int, default=2, help="how many workers there are at least (default: 2)")
    parser.add_argument("--most", type=int, default=0, help="how many there may be (default: no more)")
    parser.add_argument("--waiting", type=int, default=4, help="calls that a worker has at a time (default: 4)")
    parser.add_argument("--cpus", type=float, default=1, help="processors that a worker takes (default: 1)")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs that a worker takes (default: 0)")
    parser.add_argument("--model-mb", type=int, default=3000, help="megabytes of models in a worker (default: 3000)")
    parser.add_argument("--own", action="append", default=[], choices=list(REGISTRY), metavar="CHECKPOINT",
                        help="a checkpoint with workers of its own")  # fmt: skip
    asked = parser.parse_args(arguments)
    ray.init(asked.address, include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"host": asked.host, "port": asked.port, "request_timeout_s": None})
    store = partial(ModelStore, asked.model_mb * 10**6, DEFAULT_SETTINGS)
    deploy(asked.replicas, asked.most, asked.waiting, asked.cpus, asked.gpus, store, asked.own)
    print(f"* Workers answer at ray://{asked.host}:{asked.port}", flush=True)
    ended = threading.Event()
    # Ray's own answer to a signal is a stack trace.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    ended.wait()
    ray.shutdown()


if __name__ == "__main__":
    main()
