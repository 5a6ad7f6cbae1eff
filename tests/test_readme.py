"""The README is true of the settings, endpoints, make targets and files."""

import ast
import json
import re
from pathlib import Path

import pytest

from demo.settings import VARIABLES, Settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def rows(first_column: str) -> list[list[str]]:
    """The rows of the README's tables whose first cell matches, cell by cell."""
    table = [line.strip("| \n").split(" | ") for line in README.splitlines() if line.startswith("|")]
    return [cells for cells in table if re.fullmatch(first_column, cells[0])]


def test_the_settings_table_names_every_variable_that_is_read() -> None:
    assert list(VARIABLES) == [cells[0].strip("`") for cells in rows("`CLEARHEAD_.*`")]


@pytest.mark.parametrize("cells", rows("`CLEARHEAD_.*`"), ids=lambda cells: cells[0])
def test_a_setting_has_the_default_that_the_table_says(cells: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name, default = cells[0].strip("`"), cells[1]

    def given(value: str) -> Settings:
        monkeypatch.setenv(name, value)
        return Settings.from_environment()

    plain = Settings()
    if default.isdigit():
        assert given(default) == plain
        assert given(str(int(default) + 1)) != plain
    else:
        other = {
            "CLEARHEAD_PRECISION": "float32",
            "CLEARHEAD_ENGINE": "torch",
            "CLEARHEAD_BACKEND": "ray://host:8000",
            "CLEARHEAD_LOG": "json",
            "CLEARHEAD_DEFAULTS": "published",
        }
        assert given(other.get(name, "7861")) != plain


def test_the_endpoint_table_is_the_apps_own() -> None:
    golden = json.loads((ROOT / "tests" / "api" / "endpoints.json").read_text(encoding="utf-8"))
    named = golden.get("named_endpoints", golden)
    told = {}
    for cells in rows("`/[a-z_]+`"):
        told[cells[0].strip("`")] = [re.split("=", each.strip("` "))[0] for each in cells[1].split(",") if "`" in each]
    assert set(told) == set(named)
    for endpoint, parameters in told.items():
        assert parameters == [each["parameter_name"] for each in named[endpoint]["parameters"]], endpoint


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_make_target_and_linked_file_is_there(text: str) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"\bmake ([a-z]+)", text)) <= {*targets}
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link


def test_the_tree_names_files_that_are_there() -> None:
    tree = README.split("## How it is built")[1].split("```")[1]
    folder = ROOT
    for line in tree.strip().splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            folder = ROOT / name if name.endswith("/") else ROOT
            assert (ROOT / name).exists(), name
        else:
            assert (folder / name).exists(), f"{folder.name}/{name}"


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_python_examples_are_python(code: str) -> None:
    ast.parse(code)


def test_every_dependency_is_explained() -> None:
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name = re.split(r"[=\[]", line)[0]
            assert name in README.split("### Why each dependency is there")[1], name
