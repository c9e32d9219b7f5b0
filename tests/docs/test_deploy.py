"""The files of deploy/: their configurations load, their commands parse, their names fit."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sanitizer.cli.api import serve
from sanitizer.proxy.configuration import Configuration
from sanitizer.text.policy import Policy

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extras docs and test")
DEPLOY = Path(__file__).parent.parent.parent / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNIT = (DEPLOY / "sanitizer.service").read_text()
VALUES = yaml.safe_load((DEPLOY / "helm/sanitizer/values.yaml").read_text())
CONFIGURATIONS = {
    "proxy.toml": (DEPLOY / "proxy.toml").read_text(),
    "compose-proxy.toml": (DEPLOY / "compose-proxy.toml").read_text(),
    "values.yaml": VALUES["configuration"],
}
DATABASE = "postgresql://made-up@host/database"
_SECRET = re.compile(r'"file:([^"]+)"')


def secrets(name: str) -> set[str]:
    """Names of the files that a configuration reads secrets from."""
    return {Path(path).name for path in _SECRET.findall(CONFIGURATIONS[name])}


def test_the_page_for_operators_shows_a_configuration_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DEPLOY.parent / "docs/operations.md").read_text("utf-8")
    (small, personnel, shown) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "key").write_text("a made-up key of sixteen letters")
    monkeypatch.setenv("SANITIZER_DATABASE", DATABASE)
    own = re.sub(r'"(file|command):[^"]+"', '"file:key"', shown)
    loaded = Configuration.of(own, tmp_path / "proxy.toml")
    assert loaded.storage is not None
    assert loaded.storage.source == "env:SANITIZER_DATABASE"
    taken = set(re.findall(r"^(\w+) = ", shown, re.M))
    read = (DEPLOY.parent / "sanitizer/proxy/configuration.py").read_text("utf-8")
    named = re.findall(r'\.(?:take|need|names|secret)\("(\w+)"', read)
    assert taken >= set(named), "it has every key"
    for name in ("OPENAI_API_KEY", "SALES_KEY", "PERSONNEL_KEY"):
        monkeypatch.setenv(name, f"a made-up key for {name}")
    (tmp_path / "personnel.toml").write_text(personnel)
    without = Configuration.of(small, tmp_path / "proxy.toml")
    assert [tenant.name for tenant in without.tenants] == ["sales", "personnel"]
    assert Policy.load(tmp_path / "personnel.toml").wire.notes == "text"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations_load(name: str, tmp_path: Path) -> None:
    for each in secrets(name):
        (tmp_path / "secrets").mkdir(exist_ok=True)
        made_up = DATABASE if each == "database-url" else f"made up, of {each}"
        (tmp_path / "secrets" / each).write_text(f"{made_up}\n")
    path = tmp_path / "proxy.toml"
    path.write_text(CONFIGURATIONS[name].replace("/run/secrets/", "secrets/"))
    loaded = Configuration.load(path)
    assert [tenant.name for tenant in loaded.tenants] == ["ada"]
    assert loaded.storage is not None
    assert loaded.storage.url == DATABASE


def test_what_compose_gives_the_proxy_is_what_its_configuration_reads() -> None:
    assert secrets("compose-proxy.toml") == set(COMPOSE["services"]["proxy"]["secrets"])
    for name, place in COMPOSE["secrets"].items():
        assert place == {"file": f"./secrets/{name}"}
    for place in COMPOSE["configs"].values():
        assert (DEPLOY / place["file"]).is_file()


def test_what_the_unit_gives_the_service_is_what_the_example_reads() -> None:
    given = re.findall(r"^LoadCredential=([\w-]+):/etc/sanitizer/secrets/\1$", UNIT, re.M)
    assert set(given) == secrets("proxy.toml")


def test_secrets_are_neither_committed_nor_built_into_an_image() -> None:
    root = DEPLOY.parent
    assert "deploy/secrets" in (root / ".dockerignore").read_text().splitlines()
    assert "deploy/secrets/" in (root / ".gitignore").read_text().splitlines()


def commands() -> list[list[str]]:
    """What image and unit run."""
    image = (DEPLOY / "Dockerfile").read_text()
    found = [re.search(rf"^{key} (\[.*\])$", image, re.M) for key in ("ENTRYPOINT", "CMD")]
    started = re.search("^ExecStart=(.*)$", UNIT, re.M)
    assert all(found)
    assert started
    return [
        [part for each in found if each for part in yaml.safe_load(each[1])],
        shlex.split(started[1]),
    ]


@pytest.mark.parametrize("command", commands(), ids=["image", "unit"])
def test_commands_have_the_options_that_there_are(command: list[str]) -> None:
    program, name, *arguments = command
    assert (Path(program).name, name) == ("sanitizer", "serve")
    # The help names are the program's: click keeps those of the first context for all others.
    given = serve.make_context("serve", arguments, help_option_names=["-h", "--help"]).params
    assert given["config"] == Path("/etc/sanitizer/proxy.toml")


def test_ports_are_the_proxys_own() -> None:
    port = next(each.default for each in serve.params if each.name == "port")
    assert f"server proxy:{port} " in (DEPLOY / "nginx.conf").read_text()
    assert f"EXPOSE {port}\n" in (DEPLOY / "Dockerfile").read_text()
    assert VALUES["service"]["port"] == port
