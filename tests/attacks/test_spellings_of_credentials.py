"""Fifty spellings of a credential in a server's arguments, and thirty values that are none."""

import base64
import json
import os
from pathlib import Path

import pytest

from app.hosts.display import launch_text, spec_text
from app.hosts.launch import LaunchSpec
from app.secrets.credentials import hide_in_args
from store.records import ServerSpec
from tests.fakes.verbs import Verbs, without_encoder

ROOT = Path(__file__).parents[2]
PASSWORD = "hunter2winter"
RANDOM = "q8ZkW3pLx0TnV5bY7cRd"
BASIC = base64.b64encode(f"admin:{RANDOM}".encode()).decode()
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r"
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SECRETS = (PASSWORD, RANDOM, BASIC, JWT[-20:], AWS[:13], AWS[-18:], "IOSFODNN7EXAMPL2", "482913")
SPELLINGS: tuple[tuple[str, ...], ...] = (
    (f"--api-key={PASSWORD}",),
    ("--token", PASSWORD),
    (f"--token:{PASSWORD}",),
    ("--apiKey", PASSWORD),
    (f"--API_KEY={PASSWORD}",),
    (f"-token={PASSWORD}",),
    (f'--token="{PASSWORD}"',),
    ("--client-secret", PASSWORD),
    ("--passphrase", PASSWORD),
    ("--dsn", PASSWORD),
    ("-H", f"Authorization: Bearer {PASSWORD}"),
    (f"--header=Authorization: Bearer {PASSWORD}",),
    (f"-HAuthorization: Bearer {PASSWORD}",),
    ("-H", f"X-Api-Key: {PASSWORD}"),
    ("--header", f"Authorization: Basic {BASIC}"),
    ("--headers", json.dumps({"Authorization": f"Bearer {PASSWORD}"})),
    ("--cookie", f"session={JWT}"),
    (f"Bearer {PASSWORD}",),
    (f"Authorization=Bearer {PASSWORD}",),
    (f"postgresql://admin:{PASSWORD}@db:5432/x",),
    (f"https://{RANDOM}@github.com/x/y",),
    (f"postgres://u:p@{PASSWORD}@h/d",),
    (f"redis://:{PASSWORD}@h:6379/0",),
    (f"https://h/x?api_key={PASSWORD}",),
    (f"https://h/x?a=1&access_token={PASSWORD}",),
    (f"https://h/x#token={PASSWORD}",),
    (f"https://h/c?sv=2020&sig={RANDOM}%3D",),
    (f"https://h/v1/{RANDOM}/mcp",),
    (BASIC,),
    (f"Basic {BASIC}",),
    (f"api_key={PASSWORD}",),
    (f"Api_Key={PASSWORD}",),
    ("-e", f"API_TOKEN={PASSWORD}"),
    (f"--env=OPENAI_API_KEY={PASSWORD}",),
    (f"-eAPI_TOKEN={PASSWORD}",),
    ("AKIAIOSFODNN7EXAMPL2",),
    ("ASIAIOSFODNN7EXAMPL2",),
    (AWS,),
    (f"AWS_SECRET_ACCESS_KEY={AWS}",),
    (JWT,),
    (f"Server=h;Database=d;User Id=sa;Password={PASSWORD};",),
    (f"Server=h;Uid=sa;Pwd={PASSWORD}",),
    (f"AccountName=a;AccountKey={RANDOM}==;EndpointSuffix=core",),
    (f"host=h user=u password={PASSWORD}",),
    (f"u/{PASSWORD}@//h:1521/x",),
    (json.dumps({"apiKey": PASSWORD}),),
    ("--config", json.dumps({"a": {"password": PASSWORD}})),
    (json.dumps({"pin": 482913}),),
    (json.dumps(json.dumps({"token": PASSWORD})),),
    (json.dumps(["--token", PASSWORD]),),
    (f"{{'token': '{PASSWORD}'}}",),
    ("-u", f"admin:{PASSWORD}"),
    (f"token: {PASSWORD}",),
    (f"sk_live_{RANDOM}",),
    (f"npm_{RANDOM}",),
    (f"hf_{RANDOM}",),
    (f"-----BEGIN PRIVATE KEY-----\nMIIEvQ{RANDOM}\n-----END PRIVATE KEY-----",),
)
HONEST: tuple[tuple[str, ...], ...] = (
    ("--port", "8080"),
    ("--host=127.0.0.1",),
    ("--verbose",),
    ("--root", "/home/user/projects/my-app"),
    ("C:\\Users\\me\\project",),
    ("./server.js",),
    ("~/notes",),
    ("https://mcp.example.com/sse",),
    ("https://api.example.com/v1/mcp?region=eu-west-1",),
    ("postgresql://localhost:5432/orders",),
    ("--model", "claude-3-5-sonnet-latest"),
    ("--mode=stdio",),
    ("--log-level", "debug"),
    ("--token-file", "/run/secrets/token"),
    ("--max-tokens", "4096"),
    ("--api-key-env", "OPENAI_API_KEY"),
    ("--api-url=https://api.example.com",),
    ("--token", "${GITHUB_TOKEN}"),
    ("-e", "GITHUB_TOKEN"),
    ("--timezone", "Europe/Berlin"),
    ("--date=2026-11-26",),
    ("--version", "1.18.34"),
    ("--scope", "@modelcontextprotocol/server-filesystem@2025.8.21"),
    ("--image", "ghcr.io/github/github-mcp-server:latest"),
    ("--allow", "read,write,execute"),
    ("--email", "someone@example.com"),
    ("--lang=en_US.UTF-8",),
    (json.dumps({"theme": "dark", "size": 12}),),
    ("--glob", "**/*.py"),
    ("--prompt", "Find the newest file"),
    ("--author", "Bearer of news"),
    ("--keyboard", "qwerty"),
)


def words(args: tuple[str, ...]) -> LaunchSpec:
    return LaunchSpec("stdio", "npx", ("-y", "@acme/server", *args))


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_there_are_fifty_spellings_and_thirty_honest_values() -> None:
    assert len(SPELLINGS) >= 50 and len(HONEST) >= 30


@pytest.mark.parametrize("args", SPELLINGS, ids=lambda args: args[-1][:30])
def test_no_spelling_of_a_credential_is_shown_or_stored(args: tuple[str, ...]) -> None:
    assert leaks(launch_text(words(args)).line) == []
    values: list[str] = []
    stored = hide_in_args(("-y", "@acme/server", *args), values, unknown=True)
    assert leaks(" ".join(stored)) == []
    spec = ServerSpec("stdio", "key", command="npx", args=tuple(stored))
    assert leaks(spec_text(spec).line) == []
    assert "@acme/server" in launch_text(words(args)).line


@pytest.mark.parametrize("args", HONEST, ids=lambda args: " ".join(args))
def test_an_honest_value_stays_readable(args: tuple[str, ...]) -> None:
    line = launch_text(words(args)).line
    assert "•" not in line and all(arg.replace('"', '\\"') in line for arg in args)


def test_what_runs_is_never_masked() -> None:
    odd = "x9k2q7w8e1r4t6y3"
    for launch in (
        LaunchSpec("stdio", "npx", ("-y", odd)),
        LaunchSpec("stdio", odd, ("--stdio",)),
        LaunchSpec("stdio", "uvx", ("--from", odd, "run")),
        LaunchSpec("stdio", "tool", (f"./{odd}/run",)),
    ):
        assert odd in launch_text(launch).line


def test_no_verb_prints_one(tmp_path: Path, verbs: Verbs) -> None:
    """The consent text of a scan, JSON, errors and logs, over a file with all of them."""
    servers = {f"s{n}": {"command": "no-such-program", "args": a} for n, a in enumerate(SPELLINGS)}
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    own = tmp_path / "own"
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {**plain, "HOME": str(home), "TOOLCRIB_HOME": str(own)}
    env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    without_encoder(own)
    printed = ""
    for verb in (
        ("scan",),
        ("scan", "--yes", "--json"),
        ("hosts", "--json"),
        ("server", "keep-values"),
        ("server", "edit", "s0", "--host", "cursor", "--command", "no-such-program x", "--dry-run"),
        ("export", "cursor", "--mode", "pruned", "--dry-run"),
        ("footprint", "--json"),
    ):
        done = verbs.run(*verb, env=env, cwd=tmp_path, given=b"n\n")
        out, errors = done.stdout.decode(), done.stderr.decode()
        printed += out
        assert "Traceback" not in errors, errors
        assert done.returncode in (0, 4, 5), (verb, errors)  # a refused one prints nothing
        assert leaks(out + errors) == [], verb
    assert "no-such-program" in printed
    kept = [file for file in own.rglob("*") if file.is_file() and file.name != "secrets.json"]
    assert [file.name for file in kept if leaks(file.read_bytes().decode("latin-1"))] == []
