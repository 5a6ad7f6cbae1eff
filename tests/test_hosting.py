"""The files for hosts name only settings, paths, routes and versions that exist."""

import re
import subprocess
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.nginx import NGINX
from demo.settings import VARIABLES, Settings
from tests.api.server import ROOT

_MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").iterdir())
_DEPLOYED = [str(path.relative_to(ROOT)) for path in (ROOT / "deploy").rglob("*") if path.is_file()]
_HOSTS = ["Dockerfile", "compose.yaml", "docs/hosting.md", *sorted(_DEPLOYED)]
_FOR_COMPOSE_ONLY = {"CLEARHEAD_DATABASE_PASSWORD"}
_DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_UNIT = (ROOT / "deploy" / "clearhead@.service").read_text(encoding="utf-8")


def told(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", _HOSTS)
def test_every_setting_that_is_named_is_read(path: str) -> None:
    named = set(re.findall(r"CLEARHEAD_[A-Z_]+", told(path))) - _FOR_COMPOSE_ONLY
    assert named - VARIABLES.keys() == set()


@pytest.mark.parametrize("path", _HOSTS)
def test_every_file_that_is_named_is_there(path: str) -> None:
    named = re.findall(
        r"\b(?:deploy|docs|tests)/[\w./@-]+\.\w+|\brequirements[\w-]*\.txt|\bconstraints\.txt", told(path)
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


def test_compose_starts_each_service_after_what_it_needs_and_not_without_secrets() -> None:
    services = yaml.safe_load(told("compose.yaml"))["services"]
    app = services["clearhead"]
    needed = {
        (name, other): each["condition"]
        for name in services
        for other, each in services[name].get("depends_on", {}).items()
    }
    assert needed == {
        ("clearhead", "database"): "service_healthy",
        ("clearhead", "limits"): "service_healthy",
        ("clearhead", "graphs"): "service_completed_successfully",
        ("proxy", "clearhead"): "service_healthy",
    }
    assert "healthcheck" in services["database"] and "healthcheck" in services["limits"]
    assert all(":?" in app["environment"][name] for name in ("CLEARHEAD_SECRET", "CLEARHEAD_HOST_PASSWORD"))
    assert app["environment"]["CLEARHEAD_DATABASE_URL"].startswith("postgresql+psycopg://")


def test_compose_opens_the_proxys_port_alone_and_lets_replicas_share_a_prepared_volume() -> None:
    services = yaml.safe_load(told("compose.yaml"))["services"]
    assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
    assert all(port.startswith("127.0.0.1:") for port in services["proxy"]["ports"])
    for name, each in services.items():
        assert each["security_opt"] == ["no-new-privileges:true"]
        assert name == "database" or (each["read_only"] is True and each["cap_drop"] == ["ALL"])
    assert services["graphs"]["volumes"] == services["clearhead"]["volumes"]
    assert services["graphs"]["image"] == services["clearhead"]["image"]
    host, at, _ = services["proxy"]["volumes"][0].split(":")
    assert (ROOT / host).is_file() and at in services["proxy"]["entrypoint"]


def test_composes_proxy_has_an_nginx_that_knows_its_file(tmp_path: Path) -> None:
    image = yaml.safe_load(told("compose.yaml"))["services"]["proxy"]["image"]
    version = tuple(map(int, re.findall(r"nginx:(\d+)\.(\d+)\.(\d+)", image)[0]))
    shown = told("deploy/compose-nginx.conf")
    assert re.search(r"server clearhead:7860 resolve\b", shown) and version >= (1, 27, 3)
    assert "sticky cookie" in shown and version >= (1, 29, 6)
    if NGINX is None:
        pytest.skip("nginx is not installed")
    older = re.sub(r"server clearhead:7860 resolve", "server 127.0.0.1:7860", shown)
    older = re.sub(r"sticky cookie .*", "", older).replace("/tmp/", f"{tmp_path}/")  # noqa: S108
    path = tmp_path / "nginx.conf"
    path.write_text(older, encoding="utf-8")
    checked = subprocess.run([NGINX, "-t", "-e", "stderr", "-c", str(path)], capture_output=True, text=True)  # noqa: S603
    assert checked.returncode == 0, checked.stderr


def manifests(kind: str) -> list[dict[str, Any]]:
    every = [each for path in _MANIFESTS for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    return [each for each in every if each["kind"] == kind]


_WORKLOADS = manifests("Deployment") + manifests("StatefulSet")


@pytest.mark.parametrize("workload", _WORKLOADS, ids=lambda each: each["metadata"]["name"])
def test_a_pod_may_do_no_more_than_a_container_of_compose(workload: dict[str, Any]) -> None:
    pod = workload["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    # With them, a Service named clearhead would set CLEARHEAD_PORT to something that is no port.
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    rights = container["securityContext"]
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["limits"]
    assert "readinessProbe" in container
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"] == labels
    assert [each["spec"]["selector"] for each in manifests("Service")].count(labels) == 1


def test_kubernetes_asks_routes_that_there_are_and_scales_by_a_number_that_there_is() -> None:
    (app,) = [each for each in _WORKLOADS if each["metadata"]["name"] == "clearhead"]
    (container,) = app["spec"]["template"]["spec"]["containers"]
    asked = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert asked == {"startup": "/healthz", "readiness": "/readyz", "liveness": "/healthz"}
    assert all(f'Route("{path}"' in told("demo/web/host.py") for path in asked.values())
    (scaler,) = manifests("HorizontalPodAutoscaler")
    # Otherwise each time that the file is applied would undo what the scaler did.
    assert "replicas" not in app["spec"]
    metric = scaler["spec"]["metrics"][0]["pods"]["metric"]["name"]
    assert f'metrics.read("{metric.removeprefix("clearhead_")}"' in told("demo/web/app.py")
    _, rule = yaml.safe_load_all(re.findall(r"```yaml\n(.*?)```", told("docs/hosting.md"), re.DOTALL)[0])
    assert rule["rules"][0]["seriesQuery"].startswith(f"{metric}{{")


def test_every_secret_is_in_the_example_without_its_value() -> None:
    (secret,) = manifests("Secret")
    assert set(secret["stringData"].values()) == {""}
    read = re.findall(r"secretKeyRef:\n +name: (\S+)\n +key: (\S+)", "".join(told(path) for path in _DEPLOYED))
    assert {name for name, _ in read} == {secret["metadata"]["name"]}
    assert {key for _, key in read} == secret["stringData"].keys()
    assert all(f"--from-literal={key}=" in told("docs/hosting.md") for key in secret["stringData"])


def test_the_ingress_leads_to_the_app_and_keeps_visitors_with_a_pod() -> None:
    (ingress,) = manifests("Ingress")
    ours = "nginx.ingress.kubernetes.io/"
    said = {name.removeprefix(ours): value for name, value in ingress["metadata"]["annotations"].items()}
    assert said["affinity"] == "cookie" and said["session-cookie-change-on-failure"] == "true"
    assert said["proxy-buffering"] == "off" and "non_idempotent" not in said["proxy-next-upstream"]
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    (service,) = [each for each in manifests("Service") if each["metadata"]["name"] == backend["name"]]
    assert backend["port"]["name"] in [port["name"] for port in service["spec"]["ports"]]


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
    # Its instances write the same two folders, so they are one user.
    assert "CLEARHEAD_PORT=%i" in _UNIT
    assert unit["User"] == "clearhead"


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
