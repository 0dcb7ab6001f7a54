"""Decision on sharing a running server: the user's word, else by its known features."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from store.serving import ServerRow, spec_fields
from store.typed import Json, object_or_empty

SHARED, PER_HOST, PER_SESSION = "shared", "host", "session"
CHOICES = (SHARED, PER_HOST, PER_SESSION)
# names of servers whose state is what they are for: a page, a shell, notes of one conversation
_STATEFUL = (
    "browser", "playwright", "puppeteer", "selenium", "chrome", "devtools", "shell", "terminal",
    "bash", "ssh", "tmux", "repl", "jupyter", "notebook", "sandbox", "memory",
    "thinking", "desktop", "debug", "emulator", "simulator", "blender", "figma",
)  # fmt: skip
# packages whose calls each carry all they need: clients of one service under one identity, which
# the launch key holds apart, and readers of what a call names (looked through on 2026-11-23)
_STATELESS = (
    "@modelcontextprotocol/server-github", "@modelcontextprotocol/server-gitlab",
    "@modelcontextprotocol/server-slack", "@modelcontextprotocol/server-brave-search",
    "@modelcontextprotocol/server-google-maps", "@notionhq/notion-mcp-server",
    "@modelcontextprotocol/server-filesystem", "@upstash/context7-mcp",
    "mcp-server-time", "mcp-server-fetch", "mcp-server-git",
)  # fmt: skip
_HARMLESS = ("-y", "--yes", "-q", "--quiet")  # options that change nothing of what is run
_VERSION = re.compile(r"(?<=.)@[^/@]*$|==.*$")


@dataclass(frozen=True, slots=True)
class Sharing:
    """The decision on one server and the reason for it, in words for the user."""

    choice: str
    reason: str
    by_user: bool = False


def decide(
    row: ServerRow, tools: Iterable[str], *, wish: str = "", requests_seen: Iterable[str] = ()
) -> Sharing:
    """Sharing of a server; `tools` are their JSON texts, `wish` the user's own choice.

    `requests_seen` are methods that the server was seen to ask of hosts.
    """
    if wish in CHOICES:
        return Sharing(wish, "You chose it.", by_user=True)
    reason = _against(row, sorted(set(requests_seen)))
    if reason:
        return Sharing(PER_SESSION, reason)
    package = _package(row)
    if package in _STATELESS:
        return Sharing(SHARED, f"{package} is known to keep nothing between calls.")
    nature = _nature(row)
    if nature:
        return Sharing(PER_SESSION, f"Its name says that it keeps a state ({nature}).")
    definitions = [json.loads(text) for text in tools]
    if not definitions:
        return Sharing(PER_SESSION, "Its tools are not known yet.")
    if not all(map(_only_reads, definitions)):
        return Sharing(PER_SESSION, "Not every tool of it says that it only reads.")
    return Sharing(SHARED, "Every tool of it says that it only reads.")


def _against(row: ServerRow, requests_seen: list[str]) -> str:
    """Reason that a server is not shared by itself, "" when there is none."""
    if requests_seen:
        return f"It asks hosts for {', '.join(requests_seen)}."
    resources = row.capabilities.get("resources")
    if isinstance(resources, dict) and resources.get("subscribe"):
        return "It offers subscriptions, which belong to one session."
    return ""


def _nature(row: ServerRow) -> str:
    """The word that says that keeping a state is what the server is for, "" for none."""
    info = row.server_info
    words = f"{row.name} {info.get('name', '')} {info.get('title', '')} {_program(row)}".lower()
    return next((word for word in _STATEFUL if word in words), "")


def _program(row: ServerRow) -> str:
    """Program of a server: the command and its first plain argument, a package or a script."""
    spec = spec_fields(row)
    args = [str(arg) for arg in spec.get("args") or () if not str(arg).startswith("-")]
    return " ".join([str(spec.get("command") or ""), *args[:1]])


def _package(row: ServerRow) -> str:
    """The exact package that is run, "" where the command does not say it.

    A program of that name (mcp-server-git), or what a runner as npx fetches by it, without its
    version; an option that could name another source or package leaves it open.
    """
    spec = spec_fields(row)
    args = [str(arg) for arg in spec.get("args") or ()]
    program = re.split(r"[/\\]", str(spec.get("command") or ""))[-1]
    program = re.sub(r"\.(?:exe|cmd)$", "", program)
    if program in _STATELESS:
        return program
    while args and args[0] in _HARMLESS:
        args.pop(0)
    return _VERSION.sub("", args[0]) if args else ""


def _only_reads(tool: Json) -> bool:
    return object_or_empty(tool.get("annotations")).get("readOnlyHint") is True
