"""The endpoints' schema is the recorded one, as a changed name breaks callers' code.

`python -m tests.api.test_schema` records them anew.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.api.server import Server, serving

RECORDED = Path(__file__).parent / "endpoints.json"


def schema_of(server: Server) -> dict[str, Any]:
    """What callers see of each endpoint."""
    info = httpx.get(f"{server.url}gradio_api/info", timeout=60).json()
    return {
        name: {
            "description": endpoint["description"],
            "parameters": [
                {
                    key: parameter[key]
                    for key in ("parameter_name", "parameter_has_default", "parameter_default", "type")
                }
                for parameter in endpoint["parameters"]
            ],
            "returns": [returned["type"] for returned in endpoint["returns"]],
        }
        for name, endpoint in info["named_endpoints"].items()
    }


def test_the_endpoints_are_as_recorded(server: Server) -> None:
    assert schema_of(server) == json.loads(RECORDED.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as running:
        RECORDED.write_text(json.dumps(schema_of(running), indent=1) + "\n")
