"""The files for hosts name settings, paths, routes and versions that there are."""

import re
from configparser import RawConfigParser

import pytest
import yaml

from demo.settings import VARIABLES, Settings
from tests.api.server import ROOT

_HOSTS = ["Dockerfile", "compose.yaml", "deploy/clearhead.service", "deploy/nginx.conf", "docs/hosting.md"]
_FOR_COMPOSE_ONLY = {"CLEARHEAD_DATABASE_PASSWORD"}
_DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_UNIT = (ROOT / "deploy" / "clearhead.service").read_text(encoding="utf-8")


def told(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", _HOSTS)
def test_every_setting_that_is_named_is_read(path: str) -> None:
    named = set(re.findall(r"CLEARHEAD_[A-Z_]+", told(path))) - _FOR_COMPOSE_ONLY
    assert named - VARIABLES.keys() == set()


@pytest.mark.parametrize("path", _HOSTS)
def test_every_file_that_is_named_is_there(path: str) -> None:
    named = re.findall(
        r"\b(?:deploy|docs|tests)/[\w./-]+\.\w+|\brequirements[\w-]*\.txt|\bconstraints\.txt", told(path)
    )
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_the_image_copies_what_is_there_and_what_dockerignore_lets_in() -> None:
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", _DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    let_in = {line.strip("!/\n") for line in told(".dockerignore").splitlines() if line.startswith("!")}
    assert set(copied) == let_in
    assert all((ROOT / each).exists() for each in copied)
    assert told(".dockerignore").splitlines()[1] == "*"


def test_the_image_runs_as_the_user_that_a_space_has_and_asks_for_its_health() -> None:
    assert re.search(r"^USER 1000:1000$", _DOCKERFILE, re.MULTILINE)
    assert re.search(r"^VOLUME /var/lib/clearhead$", _DOCKERFILE, re.MULTILINE)
    health = _DOCKERFILE[_DOCKERFILE.index("HEALTHCHECK") :]
    assert '"/healthz"' in told("demo/web/host.py")
    assert "/healthz" in health
    assert "requirements-dev" not in _DOCKERFILE


def test_the_image_has_a_python_that_is_tested() -> None:
    versions = set(re.findall(r"^FROM python:(\d\.\d+)-", _DOCKERFILE, re.MULTILINE))
    tested = yaml.safe_load(told(".github/workflows/test.yml"))["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert len(versions) == 1
    assert versions <= set(tested)


@pytest.mark.parametrize("path", ["Makefile", "Dockerfile", "README.md", "docs/hosting.md"])
def test_openvino_is_installed_without_the_package_that_reports_its_use(path: str) -> None:
    commands = told(path).replace("\\\n", " ").replace("&&", "\n").splitlines()
    installing = [each for each in commands if re.search(r"(pip install|\(PIP\)).* requirements-openvino\.txt", each)]
    assert installing
    assert all("--no-deps" in each for each in installing)


def test_the_front_matter_is_what_a_space_reads() -> None:
    front = yaml.safe_load(told("README.md").split("---\n")[1])
    assert front["sdk"] == "docker"
    assert f"CLEARHEAD_PORT={front['app_port']}" in _DOCKERFILE
    assert f"EXPOSE {front['app_port']}" in _DOCKERFILE
    assert front["license"] == re.findall(r'^license = "(.+)"$', told("pyproject.toml"), re.MULTILINE)[0].lower()
    assert len(front["short_description"]) <= 60
    # The Hub's own list of colours.
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {front["colorFrom"], front["colorTo"]} <= colours


def test_compose_starts_the_app_after_its_database_and_not_without_secrets() -> None:
    services = yaml.safe_load(told("compose.yaml"))["services"]
    app, database = services["clearhead"], services["database"]
    assert app["depends_on"]["database"]["condition"] == "service_healthy"
    assert "healthcheck" in database
    assert "ports" not in database
    assert all(port.startswith("127.0.0.1:") for port in app["ports"])
    assert all(":?" in app["environment"][name] for name in ("CLEARHEAD_SECRET", "CLEARHEAD_HOST_PASSWORD"))
    assert app["environment"]["CLEARHEAD_DATABASE_URL"].startswith("postgresql+psycopg://")
    assert app["read_only"] is True
    assert app["cap_drop"] == ["ALL"]


def test_the_unit_writes_only_where_it_may() -> None:
    # systemd lets a name come up twice, which a parser of INI files does not.
    once = re.sub(r"^Environment=.*\n", "", _UNIT, flags=re.MULTILINE)
    parser = RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(once)
    unit = parser["Service"]
    hardened = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes"}
    assert hardened.items() <= dict(unit).items()
    database = re.findall(r"CLEARHEAD_DATABASE_URL=sqlite:///(\S+)", _UNIT)[0]
    assert database.startswith(f"/var/lib/{unit['StateDirectory']}/")
    assert f"/var/cache/{unit['CacheDirectory']}" in _UNIT
    assert unit["ExecStart"].endswith("app.py")


@pytest.mark.parametrize(
    ("environment", "forgets"),
    [
        ({"SPACE_ID": "somebody/clearhead"}, True),
        ({"SPACE_ID": "somebody/clearhead", "CLEARHEAD_DATABASE_URL": "sqlite:////data/sessions.sqlite3"}, False),
        ({"SPACE_ID": "somebody/clearhead", "CLEARHEAD_DATABASE_URL": "postgresql+psycopg://host/log"}, False),
        ({}, False),
    ],
)
def test_a_space_forgets_its_runs_unless_they_are_elsewhere(
    environment: dict[str, str], forgets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_environment()
    assert settings.forgets_at_restart == forgets
    assert (settings.framed_by == "https://huggingface.co") == bool(environment)
