"""The real hosts: how each is started once, without a terminal, against the fake model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MODEL = "fake-model"
PROMPT = "please say hi"
CACHE = str(Path(__file__).resolve().parents[3] / ".servers" / "cache")
NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens there


@dataclass(frozen=True, slots=True)
class Stub:
    """The server that a host's own file names before Toolcrib has seen it."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    name: str = "stub"


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way to start the same host."""

    environ: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RealHost:
    """One host: its npm package, its files before the export, its command line."""

    id: str  # of resources/hosts.toml
    package: str
    program: str  # below node_modules
    arguments: tuple[str, ...]
    files: Callable[[Stub, int], dict[str, str]]  # path below HOME -> text; the model's port
    environ: Callable[[int], dict[str, str]] = lambda port: {}
    list_command: tuple[str, ...] = ()  # prints the configured servers, starts none
    before: Callable[[int], tuple[str, ...]] | None = None  # one command of the host to run first
    delay: float = 0.0  # seconds the model thinks, for hosts that connect late
    variants: Mapping[str, Variant] = field(default_factory=dict)


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def _json(value: Json) -> str:
    return json.dumps(value, indent=2) + "\n"


def _plain(stub: Stub, **more: Any) -> Json:
    """The entry most hosts know."""
    entry = {"command": stub.command, "args": list(stub.args), "env": dict(stub.env)}
    return {"mcpServers": {stub.name: {**entry, **more}}}


def _claude_code(stub: Stub, port: int) -> dict[str, str]:
    return {".claude.json": _json({"hasCompletedOnboarding": True, **_plain(stub, type="stdio")})}


def _codex(stub: Stub, port: int) -> dict[str, str]:
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in stub.env.items())
    text = f"""\
# a hand-written file
model = "{MODEL}"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{_url(port)}"
wire_api = "responses"
env_key = "FAKE_KEY"

[mcp_servers.{stub.name}] # the one server
command = {json.dumps(stub.command)}
args = {json.dumps(list(stub.args))}
env = {{ {table} }}
"""
    return {".codex/config.toml": text}


def _copilot_cli(stub: Stub, port: int) -> dict[str, str]:
    return {".copilot/mcp-config.json": _json(_plain(stub, type="local", tools=["*"]))}


def _opencode(stub: Stub, port: int) -> dict[str, str]:
    command, env = json.dumps([stub.command, *stub.args]), json.dumps(dict(stub.env))
    text = f"""\
{{
  // a hand-written file
  "$schema": "https://opencode.ai/config.json",
  "model": "fake/{MODEL}",
  "small_model": "fake/{MODEL}",
  "experimental": {{ "mcp_timeout": 60000 }},
  "provider": {{
    "fake": {{
      "npm": "@ai-sdk/openai-compatible",
      "options": {{ "baseURL": "{_url(port)}", "apiKey": "x" }},
      "models": {{ "{MODEL}": {{ "name": "fake", "tool_call": true }} }},
    }},
  }},
  "mcp": {{
    "{stub.name}": {{ "type": "local", "command": {command}, "environment": {env} }},
  }},
}}
"""
    # as after a first start, which would fetch both: a package for plugins, a list of models (two
    # seconds of each start without them)
    fetched: Json = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    own = ".config/opencode"
    return {
        f"{own}/opencode.jsonc": text,
        f"{own}/package-lock.json": _json(fetched),
        f"{own}/node_modules/.package-lock.json": _json(fetched),
        ".cache/opencode/models.json": "{}",
    }


def _gemini_cli(stub: Stub, port: int) -> dict[str, str]:
    settings: Json = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
        **_plain(stub),
    }
    return {".gemini/settings.json": _json(settings)}


def _qwen_code(stub: Stub, port: int) -> dict[str, str]:
    settings: Json = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
        **_plain(stub),
    }
    return {".qwen/settings.json": _json(settings)}


def _cline(stub: Stub, port: int) -> dict[str, str]:
    folder = ".cline/data/settings"
    quiet = {"telemetryOptOut": True, "autoUpdateEnabled": False}
    return {
        f"{folder}/global-settings.json": _json(quiet),
        f"{folder}/cline_mcp_settings.json": _json(_plain(stub, type="stdio")),
    }


def _factory_droid(stub: Stub, port: int) -> dict[str, str]:
    model = {
        "model": MODEL,
        "id": "custom:fake-0",
        "index": 0,
        "displayName": "fake",
        "baseUrl": _url(port),
        "apiKey": "x",
        "provider": "generic-chat-completion-api",
    }
    return {
        ".factory/settings.json": _json({"customModels": [model]}),
        ".factory/mcp.json": _json(_plain(stub, type="stdio", disabled=False)),
    }


HOSTS = (
    RealHost(
        "codex",
        "@openai/codex",
        "@openai/codex/bin/codex.js",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT),
        _codex,
        lambda port: {"FAKE_KEY": "x"},
        list_command=("mcp", "list", "--json"),
        variants={"gpt-5.5": Variant(arguments=("-m", "gpt-5.5"))},
    ),
    RealHost(
        "opencode",
        "opencode-linux-x64",
        "opencode-linux-x64/bin/opencode",
        ("run", PROMPT),
        _opencode,
        lambda port: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        list_command=("debug", "config"),
    ),
    RealHost(
        "copilot-cli",
        "@github/copilot",
        "@github/copilot/npm-loader.js",
        ("-p", PROMPT, "--allow-all-tools", "--no-auto-update", "--disable-builtin-mcps"),
        _copilot_cli,
        lambda port: {
            "COPILOT_PROVIDER_BASE_URL": _url(port),
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": MODEL,
            "COPILOT_OFFLINE": "true",
            "XDG_CACHE_HOME": CACHE,  # it unpacks 235 MB of its own there at its first start
        },
        list_command=("mcp", "list"),
    ),
    RealHost(
        "claude-code",
        "@anthropic-ai/claude-agent-sdk-linux-x64",
        "@anthropic-ai/claude-agent-sdk-linux-x64/claude",
        ("-p", PROMPT, "--allowedTools", "mcp__stub,mcp__toolcrib"),
        _claude_code,
        lambda port: {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_TIMEOUT": "60000",
            "MCP_CONNECT_TIMEOUT_MS": "60000",
        },
        variants={"without tool search": Variant({"ENABLE_TOOL_SEARCH": "false"})},
    ),
    RealHost(
        "gemini-cli",
        "@google/gemini-cli",
        "@google/gemini-cli/bundle/gemini.js",
        ("-p", PROMPT, "-y", "--skip-trust", "-m", "gemini-2.5-pro"),
        _gemini_cli,
        lambda port: {
            "GEMINI_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # it would start itself anew for more memory
        },
    ),
    RealHost(
        "qwen-code",
        "@qwen-code/qwen-code",
        "@qwen-code/qwen-code/cli.js",
        ("-p", PROMPT, "-y"),
        _qwen_code,
        lambda port: {
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": _url(port),
            "OPENAI_MODEL": MODEL,
            "HTTPS_PROXY": "",  # it would send even the loopback through it
            "HTTP_PROXY": "",
        },
    ),
    RealHost(
        "cline",
        "@cline/cli-linux-x64",
        "@cline/cli-linux-x64/bin/cline",
        ("-P", "openai-compatible", "-m", MODEL, "-k", "x", PROMPT),
        _cline,
        lambda port: {"CLINE_NO_AUTO_UPDATE": "1"},
        before=lambda port: ("auth", "openai", "-k", "x", "-m", MODEL, "-b", _url(port)),
    ),
    RealHost(
        "factory-droid",
        "@factory/cli-linux-x64",
        "@factory/cli-linux-x64/bin/droid",
        ("exec", "--auto", "high", "-m", "custom:fake-0", PROMPT),
        _factory_droid,
        lambda port: {
            "FACTORY_API_KEY": "x",
            "FACTORY_AIRGAP_ENABLED": "true",
            "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
            "FACTORY_DISABLE_KEYRING": "1",
            "FACTORY_TELEMETRY_INGEST_BASE_URL": NOBODY,
        },
        delay=2.0,
    ),
)


EVERYDAY = ("codex", "opencode", "copilot-cli", "claude-code", "gemini-cli")
ALL_VARIABLE = "TOOLCRIB_ALL_HOSTS"


def chosen(environ: Mapping[str, str]) -> list[RealHost]:
    """The hosts of the everyday tests; with TOOLCRIB_ALL_HOSTS=1 all of them."""
    everything = environ.get(ALL_VARIABLE, "") not in ("", "0")
    return [host for host in HOSTS if everything or host.id in EVERYDAY]


def real_host(host_id: str) -> RealHost:
    """The host with that id."""
    return next(host for host in HOSTS if host.id == host_id)
