"""The files for hosts name settings, paths, routes and versions that there are, and nginx passes a run on."""

import re
import ssl
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from gradio_client import Client

from demo.page import build_demo
from demo.settings import VARIABLES, Settings
from demo.tabs.history import FORGOTTEN
from tests.api.server import ROOT, Server, serving
from tests.proxied import NGINX, OPENSSL, port_of, proxying, readable_by_nginx

_HOSTS = ["Dockerfile", "compose.yaml", "deploy/clearhead.service", "deploy/nginx.conf", "docs/hosting.md"]
_FOR_COMPOSE_ONLY = {"CLEARHEAD_DATABASE_PASSWORD"}
_DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_UNIT = (ROOT / "deploy" / "clearhead.service").read_text(encoding="utf-8")


def told(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def front_matter() -> dict[str, Any]:
    block = told("README.md").split("---\n")[1]
    return dict(yaml.safe_load(block))


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
    front = front_matter()
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
def test_history_says_that_a_space_forgets_where_it_does(
    environment: dict[str, str], forgets: bool, service_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_environment()
    assert settings.forgets_at_restart == forgets
    assert (settings.framed_by == "https://huggingface.co") == bool(environment)
    page = build_demo(service_with(settings)).get_config_file()
    assert (FORGOTTEN in str(page["components"])) == forgets


@pytest.fixture
def service_with(tmp_path: Path) -> Any:
    from demo.log.session_log import SessionLog
    from demo.runs import DemoService
    from models.loading.store import ModelStore

    log = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3")
    return lambda settings: DemoService(settings, ModelStore(settings.model_mb * 10**6), log)


@pytest.fixture(scope="module")
def behind_nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str, Path]]:
    if not (NGINX and OPENSSL):
        pytest.skip("nginx or openssl is not installed")
    folder = readable_by_nginx(tmp_path_factory.mktemp("proxied"))
    told_by_host = {"CLEARHEAD_ROOT_PATH": "/clearhead", "CLEARHEAD_HOST_PASSWORD": "a password"}
    with serving(folder, **told_by_host) as server, proxying(folder, port_of(server)) as (plain, safe, certificate):
        yield server, plain, safe, certificate


def test_a_run_goes_through_nginx_under_a_path_of_its_own(behind_nginx: tuple[Server, str, str, Path]) -> None:
    _, plain, safe, certificate = behind_nginx
    moved = httpx.get(f"{plain}/clearhead/")
    assert moved.status_code == 301
    assert moved.headers["location"].startswith("https://")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(verify=trusted, timeout=60) as browser:
        page = browser.get(f"{safe}/clearhead/")
        assert f'"root":"{safe}/clearhead"' in page.text
        assert page.headers["content-encoding"] == "gzip"
        assert page.headers["strict-transport-security"]
        assert "nonce-" in page.headers["content-security-policy"]
        assert browser.get(f"{safe}/clearhead/healthz").text == "alive"
        assert browser.get(f"{safe}/clearhead/host").status_code == 401
        assert browser.get(f"{safe}/host").status_code == 404
    client = Client(f"{safe}/clearhead/", ssl_verify=str(certificate), verbose=False, analytics_enabled=False)
    answer = client.predict(text="A quiet, generous film.", api_name="/sentiment")
    (run,) = client.predict(api_name="/session_runs")
    assert run["id"] == answer["run_id"]


def test_tokens_pass_nginx_one_by_one(behind_nginx: tuple[Server, str, str, Path]) -> None:
    _, _, safe, certificate = behind_nginx
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(verify=trusted, timeout=60) as browser:
        address = f"{safe}/clearhead/gradio_api/call/completion"
        data = ["Once upon a time", 20, "greedy", 0.8, 50, 0.95, 4, 0, ""]
        event = browser.post(address, json={"data": data}).raise_for_status().json()["event_id"]
        with browser.stream("GET", f"{address}/{event}") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert "content-encoding" not in answer.headers
            assert "event: complete" in list(answer.iter_lines())
