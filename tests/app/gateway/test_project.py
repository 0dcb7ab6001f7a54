"""A session follows the policy file of the project it works in, once that is trusted."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import raw_host
from raw_host import text

from app.core.errors import ToolcribError
from app.gateway.project import find_policy, folders_of_roots
from app.policy import policy_file
from app.policy.policy_file import parse_policy
from app.policy.project_policy import narrowed, refusals, trust_file
from store import policies
from store.connection import open_store

pytestmark = pytest.mark.usefixtures("encoderless")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo" / "packages" / "one"
    folder.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    return folder


@pytest.fixture
def work(home: Path, stocked: Any) -> Any:
    """work(folder, *options) starts a gateway in a folder; all are closed at the end."""
    database = stocked({"probe": "ok", "other": "ok"})
    started = []

    def start(folder: Path, *options: str, roots: Path | None = None) -> Any:
        env = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
        command = raw_host.gateway_command("--profile", "default", *options)
        answers = {"roots/list": {"roots": [{"uri": roots.as_uri()}]}} if roots else None
        before = Path.cwd()
        os.chdir(folder)
        try:
            host = raw_host.RawHost(command, env, answers)
        finally:
            os.chdir(before)
        started.append(host)
        host.initialize({"roots": {}} if roots else {})
        return host

    yield start, database
    for host in started:
        host.close()


def policy(folder: Path, body: str) -> Path:
    file = folder.parents[1] / ".toolcrib.toml"
    file.write_text(f"version = 1\n{body}")
    return file


def trust(database: Path, file: Path) -> None:
    db = open_store(database)
    try:
        trust_file(db, file, time.time())
    finally:
        db.close()


def run(host: Any, tool: str = "probe/echo") -> str:
    return text(host.run(tool, {"text": "hi"}))


def test_an_untrusted_file_changes_nothing_and_is_named(work: Any, repository: Path) -> None:
    start, database = work
    file = policy(repository, '[tools]\noff = ["probe/echo"]\n')
    host = start(repository)
    assert run(host) == "hi"
    assert f"The project's policy {file} is not used until it is trusted" in host.search("echo")
    db = open_store(database)
    assert [row[0] for row in policies.all_policies(db)] == [str(file)]
    db.close()


def test_a_trusted_file_narrows_the_session_in_its_folder_and_no_other(
    work: Any, repository: Path, tmp_path: Path
) -> None:
    start, database = work
    trust(database, policy(repository, '[tools]\noff = ["probe/echo"]\n'))
    inside, outside = start(repository), start(tmp_path)
    assert "the policy file of the project leaves it out" in run(inside)
    assert run(outside) == "hi"
    assert run(inside, "other/echo") == "hi"
    assert "probe/echo" not in inside.search("return the given text")
    assert "probe/echo" in outside.search("return the given text")


def test_servers_that_the_file_does_not_name_are_not_reached(work: Any, repository: Path) -> None:
    start, database = work
    trust(database, policy(repository, 'servers = ["other"]\n'))
    host = start(repository)
    assert "no such tool" in run(host)
    assert run(host, "other/echo") == "hi"


def test_a_changed_text_counts_only_after_another_trust(work: Any, repository: Path) -> None:
    start, database = work
    file = policy(repository, '[tools]\noff = ["probe/echo"]\n')
    trust(database, file)
    host = start(repository)
    assert "leaves it out" in run(host)
    file.write_text('version = 1\n[tools]\noff = ["other/*"]\n')
    host.until(lambda: run(host) == "hi")
    assert run(host, "other/echo") == "hi"
    trust(database, file)
    host.until(lambda: "leaves it out" in run(host, "other/echo"))


def test_a_broken_file_is_named_with_line_and_key(work: Any, repository: Path) -> None:
    start, _database = work
    policy(repository, "[tools]\nof = []\n")
    host = start(repository)
    assert run(host) == "hi"
    assert ".toolcrib.toml, line 3: tools.of is not a key" in host.search("echo")


def test_one_server_alone_is_narrowed_too(work: Any, repository: Path) -> None:
    start, database = work
    trust(database, policy(repository, '[tools]\noff = ["probe/echo"]\n'))
    host = start(repository, "--server", "probe")
    assert "echo" not in [tool["name"] for tool in host.tools()]
    assert "leaves it out" in text(host.call("echo", {"text": "hi"}))


def test_tools_that_are_always_included_are_listed(work: Any, repository: Path) -> None:
    start, database = work
    trust(database, policy(repository, '[tools]\nalways_include = ["probe/echo"]\n'))
    assert "probe__echo" in [tool["name"] for tool in start(repository).tools()]


def test_roots_lead_to_the_file_where_the_working_folder_does_not(
    work: Any, repository: Path, tmp_path: Path
) -> None:
    start, database = work
    trust(database, policy(repository, '[tools]\noff = ["probe/echo"]\n'))
    host = start(tmp_path, roots=repository)
    host.notify("notifications/initialized")
    host.until(lambda: "leaves it out" in run(host))


def test_a_policy_narrows_settings_and_never_widens_them() -> None:
    stored = {
        "servers": ["a", "b"],
        "budget": {"tokens": 1_000},
        "gateway": {"loaded_tools": 5},
        "scopes": {"a/*": ["user:ann", "user:ben"]},
        "preconditions": {"a/*": ["milestone(x)"]},
    }
    body = """version = 1
servers = ["b", "c"]
[budget]
max_tools = 9
max_schema_tokens = 5000
[tools]
confirm = ["b/drop"]
[routing]
k = 3
[scopes]
"a/*" = ["user:ann", "user:eve"]
[conditions]
"a/*" = ["milestone(y)"]
"""
    made = narrowed(stored, parse_policy(body.encode(), "p"))
    assert made["servers"] == ["b"]
    assert made["budget"] == {"tokens": 1_000, "max_tools": 9}
    assert made["gateway"]["loaded_tools"] == 5 and made["gateway"]["approve"] == ["b/drop"]
    assert made["routing"] == {"k": 3}
    assert made["scopes"] == {"a/*": ["user:ann"]}
    assert made["preconditions"] == {"a/*": ["milestone(x)", "milestone(y)"]}
    assert stored["servers"] == ["a", "b"]


def test_what_a_file_asks_for_beyond_the_profile_is_refused_by_name() -> None:
    body = 'version = 1\nservers = ["a", "z"]\n[tools]\nalways_include = ["a/off", "a/on"]\n'
    lines = refusals(parse_policy(body.encode(), "p"), ["a/on"], ["a"])
    assert lines == (
        "z: the profile does not have this server.",
        "a/off: no such tool is on in the profile; a policy switches none on.",
    )


def test_a_file_that_cannot_be_used_is_not_trusted(db: Any, tmp_path: Path) -> None:
    file = tmp_path / ".toolcrib.toml"
    file.write_text("version = 3\n")
    with pytest.raises(ToolcribError, match="was not trusted"):
        trust_file(db, file, 1.0)
    assert policies.trust_of(db, str(file)).digest == ""


def test_gateway_and_command_line_look_in_the_same_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = ["home", "home/repo", "home/repo/sub", "home/repo/.git", "out", "out/deep/er"]
    for place in places:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    for file in ("home", "home/repo", "out"):
        (tmp_path / file / ".toolcrib.toml").write_text("version = 1\n")
    for place in [*places, "home/other"]:
        folder = tmp_path / place
        expected = policy_file.find_policy(folder)
        assert find_policy(str(folder)) == (str(expected) if expected else ""), place
    assert find_policy("") == ""


def test_a_running_session_follows_the_file_of_its_profile(
    work: Any, repository: Path, tmp_path: Path
) -> None:
    from app.export.policy_writing import use_file

    start, database = work
    file = tmp_path / "policy.toml"
    file.write_text('version = 1\n[tools]\noff = ["probe/echo"]\n')
    db = open_store(database)
    use_file(db, "default", file)
    db.close()
    host = start(repository)
    assert "it is turned off in this profile" in run(host)
    file.write_text('version = 1\n[tools]\noff = ["other/*"]\n')
    host.until(lambda: run(host) == "hi")
    assert "it is turned off in this profile" in run(host, "other/echo")
    file.write_text("version = 1\n[tools]\nof = []\n")
    assert run(host) == "hi"


@pytest.mark.parametrize(
    ("result", "folders"),
    [
        ({"roots": [{"uri": "file:///a%20b"}, {"uri": "https://x/y"}, 5]}, ["/a b"]),
        ({"roots": 5}, []),
        (None, []),
        ({"roots": [{"uri": "file://host/share"}, {"uri": 7}]}, []),
        ({"roots": [{"uri": "file://[bad"}, {"uri": "file:///a"}]}, ["/a"]),
    ],
)
def test_roots_are_taken_as_far_as_they_are_folders_here(result: Any, folders: list[str]) -> None:
    assert folders_of_roots(result) == folders


def test_the_verb_shows_trusts_and_distrusts(
    stocked: Callable[..., Path],
    home: Path,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from app.cli.main import run as toolcrib

    stocked({"probe": "ok"})
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    file = policy(repository, 'servers = ["probe", "z"]\n[tools]\noff = ["probe/echo"]\n')
    assert toolcrib(["policy", "show", str(repository)]) == 0
    shown = capsys.readouterr().out
    assert "not trusted" in shown and "Refused: z: the profile does not" in shown
    assert toolcrib(["policy", "trust", str(repository), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "trusted"
    assert toolcrib(["policy", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["policies"]
    assert listed == [{"path": str(file), "state": "trusted", "problem": ""}]
    assert toolcrib(["policy", "distrust", str(repository)]) == 0
    assert toolcrib(["policy", "distrust", str(repository)]) == 1
    assert toolcrib(["policy", "show", str(home)]) == 1
