"""The About tab's button makes the published models the defaults of the page, its endpoints and its next start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client

from demo.recorded import recorded
from models.registry import STANDARD, Task, checkpoints_for
from tests.api.server import serving
from tests.hub import Hub, hub_of
from tests.models.architectures import FAMILIES, save_tiny
from tests.web.calls import Page

FETCH, BACK = "Fetch the published models", "Back to the bundled models"
PUBLISHED = [each.name for each in STANDARD.values()]
BUNDLED = [checkpoints_for(task)[0].name for task in STANDARD]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    for task, checkpoint in STANDARD.items():
        save_tiny(FAMILIES[checkpoint.family], task, folder / checkpoint.name)
    with hub_of(folder) as hub:
        yield hub


def press(page: Page, button: str) -> dict[str, Any]:
    """What the event of a button of the About tab ends with."""
    config = page.config
    (pressed,) = [each["id"] for each in config["components"] if button in str(each["props"].get("value"))]
    (event,) = [each["id"] for each in config["dependencies"] if [pressed, "click"] in each["targets"]]
    return page.queued(event, [])


def begins_with(page: Page) -> list[str]:
    """The models of tasks with a standard one that are chosen on a page opened now, in the order of the tabs."""
    pickers = [each["props"] for each in page.config["components"] if each["props"].get("label") == "Model"]
    chosen = [each["value"] for each in pickers if each["value"] in (*BUNDLED, *PUBLISHED)]
    return chosen[: len(STANDARD)]


def answers_with(page: Page) -> str:
    client = Client(page.server.url, verbose=False, analytics_enabled=False)
    return str(client.predict(text="A quiet film.", api_name="/sentiment")["checkpoint"]["name"])


def test_the_host_alone_makes_published_models_the_defaults_and_bundled_ones_again(hub: Hub, tmp_path: Path) -> None:
    environment = hub.environment(tmp_path / "cache")
    settings = {name: environment[name] for name in ("HF_HOME", "HF_ENDPOINT")} | {"CLEARHEAD_ENGINE": "torch"}
    with serving(tmp_path, **settings) as server:
        refused = press(Page(server, "a visitor's page", {"X-Forwarded-For": "203.0.113.9"}), FETCH)
        assert "only from the machine that serves this page" in str(refused["output"]) and hub.requests == []
        page = Page(server, "the host's own page")
        assert begins_with(page) == BUNDLED and answers_with(page) == BUNDLED[1]
        done = press(page, FETCH)
        assert done["success"], done
        assert begins_with(page) == PUBLISHED and answers_with(page) == PUBLISHED[1]
        # What a page shows before anything was asked stays the recorded answer, under the name of its own model.
        components = str(page.config["components"])
        for task in Task:
            assert f'<span title="{recorded(task).run.checkpoint}">' in components
    with serving(tmp_path, **settings) as server:
        page = Page(server, "the page after a restart")
        assert begins_with(page) == PUBLISHED and answers_with(page) == PUBLISHED[1]
        assert press(page, BACK)["success"]
        assert begins_with(page) == BUNDLED and answers_with(page) == BUNDLED[1]
