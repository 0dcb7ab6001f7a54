"""Hosts with files in a home of their own, the Hosts page over them, and its usual steps."""

import hashlib
import json

from app.hosts.reading import read_hosts
from app.registry.register import register
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store import profiles, servers, tools
from store.connection import transaction
from store.records import NewTool
from ui.pages.hosts.page import HostsPage
from ui.shell.host_state import state_text

SECRET = "ghp_neverShownAnywhere123"
GITHUB = {
    "command": "npx",
    "args": ["-y", "@modelcontextprotocol/server-github"],
    "env": {"GITHUB_TOKEN": SECRET},
}
TIME = {"command": "uvx", "args": ["mcp-server-time"]}
CLAUDE = ".config/Claude/claude_desktop_config.json"
CURSOR = ".cursor/mcp.json"
CODEX = ".codex/config.toml"


def put_files(places):
    """The files of three hosts; the home folder."""
    put(places.home / CLAUDE, {"globalShortcut": "Alt+Space", "mcpServers": {"github": GITHUB}})
    put(places.home / CURSOR, {"mcpServers": {"github": GITHUB, "time": TIME}})
    put(
        places.home / CODEX,
        '# mine\n[mcp_servers.github]\ncommand = "npx"\n'
        'args = ["-y", "@modelcontextprotocol/server-github"]\n'
        f'env = {{ GITHUB_TOKEN = "{SECRET}" }}\n',
    )
    return places.home


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")


def open_page(services, qtbot):
    """The Hosts page over those files."""
    stock(services)
    page = HostsPage(services)
    qtbot.addWidget(page)
    page.resize(1092, 660)
    services.live.load()
    qtbot.waitUntil(lambda: services.live.catalog is not None)
    page.show()
    qtbot.waitExposed(page)
    qtbot.waitUntil(lambda: page.preview is not None)
    return page


def stock(services):
    """Register what the files name; three tools each, one of them off."""
    db = services.ctx.open_store()
    register(services.ctx, db, read_hosts(services.places))
    count = counter("o200k_base")
    with transaction(db):
        for server in servers.all_servers(db):
            tools.save_list(db, server.id, [tool(server.name, n) for n in range(3)], at=1.0)
            servers.set_trusted(db, server.id, True)
        found = tools.tools(db)
        tools.save_token_counts(db, [count_tool(count, one) for one in found])
        default = profiles.by_name(db, "default").id
        profiles.set_on(db, default, [one.id for one in found if one.position == 2], False)
    db.close()


def tool(server, number):
    raw = {
        "name": f"{server}_{number}",
        "description": f"Tool {number} of {server}.",
        "inputSchema": {"type": "object"},
    }
    return NewTool(raw["name"], raw, hashlib.sha256(repr(raw).encode()).hexdigest())


def open_host(page, qtbot, host, mode):
    page.choose(host)
    page.detail.radios[mode].click()
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert (page.preview.plan.host.id, page.preview.plan.mode) == (host, mode)


def write(page, qtbot):
    page.primary()
    qtbot.waitUntil(lambda: page.messages.text != "" and page.services.tasks.idle)


def state(page, host):
    return state_text(page.model.find(host))
