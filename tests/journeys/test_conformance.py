"""The MCP conformance suite sees no difference between a server and a pruned gateway before it.

Two pinned versions: the published one (to 2025-11-25), and the one that knows 2026-07-28. Both
speak HTTP only, so server and gateway stand behind the same bridge; the backend's own endpoint is
judged as it is. TOOLCRIB_ALL_CONFORMANCE=1 adds
servers of the other era than the host's, and the gateway in through mode.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
SUITE = ROOT / ".servers" / "conformance" / "node_modules"
SHIM = ROOT / "tests" / "servers" / "conformance" / "node20.mjs"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402
import web_client  # noqa: E402

Checks = dict[tuple[str, str], str]  # (scenario, check) -> its worst status
WORST = ("FAILURE", "WARNING", "SKIPPED", "SUCCESS")
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\dZ-]+$")
PUBLISHED = ("conformance", "--suite", "all")
OLD = ("conformance-next", "--requirements", "2025-11-25")
NEW = ("conformance-next", "--requirements", "2026-07-28")
# what the bridge or the server has not: extensions, optional headers, streams taken up again
LEFT_OUT = ("tasks-", "http-", "server-sse-polling")
HEADERS = "http-header-validation"  # which the endpoint has

pytestmark = [
    pytest.mark.skipif(
        not (SUITE / "conformance").is_dir() or not shutil.which("node"),
        reason="make servers installs the conformance suite",
    ),
    pytest.mark.timeout(300),
]
more = pytest.mark.skipif(
    not os.environ.get("TOOLCRIB_ALL_CONFORMANCE"), reason="set TOOLCRIB_ALL_CONFORMANCE=1"
)


def launch(eras: str) -> dict:
    server = str(FAKES / "conformance_server.py")
    return {"command": sys.executable, "args": [server], "env": {"SERVER_ERAS": eras}}


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Checks]:
    """judge(suite, command, env): every check of a run."""

    def run(suite: tuple[str, ...], command: list[str], env: dict[str, str], name: str) -> Checks:
        out = tmp_path / name
        bridge = subprocess.Popen(
            [sys.executable, str(FAKES / "conformance_bridge.py"), *command],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            url = f"http://localhost:{int(bridge.stdout.readline())}/mcp"
            script = SUITE / suite[0] / "dist" / "index.js"
            node = ["node", "--import", str(SHIM), str(script), "server", "--url", url]
            subprocess.run(
                [*node, *suite[1:], "-o", str(out)], capture_output=True, timeout=240, cwd=tmp_path
            )
        finally:
            bridge.stdin.close()
            bridge.wait(30)
            bridge.stdout.close()
        return read(out)

    return run


def read(out: Path) -> Checks:
    found: Checks = {}
    for file in out.glob("server-*/checks.json"):
        scenario = STAMP.sub("", file.parent.name.removeprefix("server-"))
        for check in json.loads(file.read_text(encoding="utf-8")):
            if check["status"] == "INFO":  # traffic, not a verdict
                continue
            key = scenario, check["id"]
            found[key] = min(found.get(key, "SUCCESS"), check["status"], key=WORST.index)
    return found


def failed(checks: Checks) -> set[tuple[str, str]]:
    return {
        key
        for key, status in checks.items()
        if status in ("FAILURE", "WARNING") and not key[0].startswith(LEFT_OUT)
    }


@pytest.fixture
def direct(judge) -> Callable[..., Checks]:
    def run(suite, eras="both"):
        one = launch(eras)
        return judge(suite, [one["command"], *one["args"]], one["env"], "direct")

    return run


@pytest.fixture
def gateway(judge, tmp_path: Path) -> Callable[..., Checks]:
    def run(suite, *args, eras="both"):
        home = tmp_path / "home"
        gateway_store.stock(home, {"ref": launch(eras)}, settings={"new_tools": "on"})
        env = {
            "TOOLCRIB_HOME": str(home),
            "TOOLCRIB_MODELS": str(tmp_path / "no-models"),
            "PYTHONPATH": str(ROOT),
        }
        command = raw_host.gateway_command("--profile", "default", *args)
        return judge(suite, command, env, "gateway")

    return run


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Checks]]:
    """endpoint(suite): every check of a run against the backend's own HTTP endpoint."""
    home, port = tmp_path / "home", web_client.free_port()
    gateway_store.stock(home, {"ref": launch("both")}, settings={"new_tools": "on"})
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))

    def toolcrib(*words: str) -> str:
        command = [sys.executable, "-m", "ui.main", "backend", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run(suite: tuple[str, ...]) -> Checks:
        toolcrib("http", "on", "--port", str(port))
        origin = f"http://localhost:{port}"
        monkeypatch.setenv("MCP_ORIGIN", origin)
        monkeypatch.setenv("MCP_TOKEN", toolcrib("http", "token"))
        out = tmp_path / "endpoint"
        given = (*suite, "-o", str(out), "--url", f"{origin}/mcp/default/ref")
        script = SUITE / given[0] / "dist" / "index.js"
        shims = ["--import", str(SHIM), "--import", str(SHIM.with_name("bearer.mjs"))]
        command = ["node", *shims, str(script), "server", *given[1:]]
        subprocess.run(command, capture_output=True, timeout=240, cwd=tmp_path)
        return read(out)

    yield run
    toolcrib("stop")


@pytest.mark.parametrize(("suite", "least"), [(PUBLISHED, 43), (NEW, 120)])
def test_the_backends_own_endpoint_passes_what_the_suite_asks(endpoint, suite, least):
    checks = endpoint(suite)
    assert failed(checks) == set() and len(checks) >= least
    headers = {key[1]: status for key, status in checks.items() if key[0] == HEADERS}
    assert set(headers.values()) <= {"SUCCESS"} and bool(headers) == (suite == NEW)


@pytest.mark.parametrize(("suite", "least"), [(PUBLISHED, 44), (NEW, 100)])
def test_a_pruned_server_is_judged_as_the_server_itself(direct, gateway, suite, least):
    alone = direct(suite)
    assert failed(alone) == set() and len(alone) >= least
    assert gateway(suite, "--server", "ref") == alone


@more
@pytest.mark.parametrize(("suite", "eras"), [(OLD, "modern"), (NEW, "modern")])
def test_a_server_of_one_era_is_judged_as_one_of_both(direct, gateway, suite, eras):
    assert gateway(suite, "--server", "ref", eras=eras) == direct(suite)


@more
def test_a_stateless_host_finds_nothing_wrong_with_an_older_server(gateway):
    wrong = failed(gateway(NEW, "--server", "ref", eras="legacy"))
    # these need tools that only a stateless server has
    assert all(scenario.startswith("input-required-result-") for scenario, _ in wrong)


@more
def test_through_toolcrib_only_what_calls_a_tool_by_its_bare_name_differs(direct, gateway):
    differ = {scenario for scenario, _ in failed(gateway(PUBLISHED)) - failed(direct(PUBLISHED))}
    assert all(
        scenario.startswith(("tools-call-", "elicitation-", "json-schema-")) for scenario in differ
    )
