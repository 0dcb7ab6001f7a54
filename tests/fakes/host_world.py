"""A home folder with host files, a store that knows their servers, and exports over both."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from app.catalog.catalog import Catalog, load_catalog, match_tools, set_on, set_pinned
from app.core.context import AppContext
from app.export.apply import apply
from app.export.plan import Plan, plan
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import register
from store import exports, servers, tools
from store.connection import transaction
from store.records import READ, ExportRecord, NewTool, TokenCount

TOOLS = ("alpha_get", "alpha_list", "beta_delete", "gamma-dash.dot")
GATEWAY = Path("/opt/toolcrib/bin/toolcrib-gateway")


class HostWorld:
    """Everything below one folder; nothing of the machine is read."""

    def __init__(
        self, folder: Path, ctx: AppContext, db: apsw.Connection, system: str = "linux"
    ) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.ctx, self.db = ctx, db
        self.places = Places(self.home, {}, system, None, folder / "root")

    tools = TOOLS
    gateway = GATEWAY

    @classmethod
    def over(cls, places: Places, ctx: AppContext, db: apsw.Connection) -> "HostWorld":
        """The same over a home folder that is there already."""
        world = cls.__new__(cls)
        world.home, world.ctx, world.db, world.places = places.home, ctx, db, places
        return world

    def write(self, path: str, content: str | bytes | Mapping[str, Any]) -> Path:
        """A file below the home folder."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Mapping):
            content = json.dumps(content, indent=2) + "\n"
        data = content.encode() if isinstance(content, str) else content
        file.write_bytes(data)
        return file

    def learn(self, tool_names: tuple[str, ...] = TOOLS, places: Places | None = None) -> None:
        """Register every server that the files name, trusted and with these tools."""
        register(self.ctx, self.db, read_hosts(places or self.places))
        new = [NewTool(t, {"name": t, "inputSchema": {"type": "object"}}, t) for t in tool_names]
        with transaction(self.db):
            for server in servers.all_servers(self.db):
                servers.set_trusted(self.db, server.id, True)
                servers.set_status(self.db, server.id, READ)
                delta = tools.save_list(self.db, server.id, new, at=1.0)
                counts = [TokenCount(i, "o200k_base", 10, 40, 50, 0, 0, 100) for i in delta.added]
                tools.save_token_counts(self.db, counts)

    def serve_another(self) -> None:
        """A server of another host, so that one entry for all servers has something behind it."""
        self.write(".codeium/windsurf/mcp_config.json", {"mcpServers": {"far": {"command": "far"}}})
        self.learn(places=Places(self.home, {}, "linux", None, self.places.root))

    def off(self, *patterns: str) -> None:
        """Tick tools off."""
        set_on(self.db, "default", self._ids(patterns), False)

    def narrow(self) -> None:
        """Tick one tool of every server off; a server with all of them on is never wrapped."""
        last = {row.server.id: row.tool.id for row in self.catalog.tools}
        set_on(self.db, "default", last.values(), False)

    def on(self, *patterns: str) -> None:
        """Tick tools on."""
        set_on(self.db, "default", self._ids(patterns), True)

    def pin(self, *patterns: str) -> None:
        """Pin tools."""
        set_pinned(self.db, "default", self._ids(patterns), True)

    def _ids(self, patterns: tuple[str, ...]) -> list[int]:
        return [row.tool.id for row in match_tools(self.catalog, patterns)]

    @property
    def catalog(self) -> Catalog:
        """The default profile's catalogue."""
        return load_catalog(self.db, "default")

    def seen_by(self, profile: str) -> Catalog:
        """The default profile's catalogue under another profile's name."""
        return replace(self.catalog, profile=replace(self.catalog.profile, name=profile))

    def plan(self, host: str, mode: str, **more: Any) -> Plan:
        """The export of the default profile, with the host's earlier writes."""
        places = more.pop("places", self.places)
        places = replace(places, project=more.pop("project", places.project))
        return plan(
            places,
            host,
            catalog=self.seen_by(more.pop("profile", "default")),
            mode=mode,
            gateway_path=GATEWAY,
            history=exports.for_host(self.db, host),
            **more,
        )

    def export(self, host: str, mode: str, **more: Any) -> tuple[ExportRecord, ...]:
        """Plan and write."""
        made = self.plan(host, mode, **more)
        assert made.refusal is None, made.refusal
        return apply(made, self.ctx, self.db)
