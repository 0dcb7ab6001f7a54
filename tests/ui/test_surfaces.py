"""Whatever is written, undone or edited, every surface says what the files and the gateway give."""

import json
import random
import tomllib
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hosts_kit import put, stock

from app.catalog.catalog import load_catalog
from app.cli.main import run
from app.core.errors import ToolcribError
from app.export.entries.plan import load_entry
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange
from app.gateway.options import parse
from app.gateway.rehearsal import rehearse
from app.hosts.facts import host as facts_of
from app.tokens.menu import menu_tokens
from store import exports
from ui.pages.budget.rows import TOKENS, BudgetTable
from ui.shell.host_state import modes_of

FILES = {  # host -> file, key of its servers
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini-cli": (".gemini/settings.json", "mcpServers"),
}
SERVERS = ("github", "time", "notes", "files", "mail")
STEPS = ("write", "write", "mode", "undo", "outside", "scan", "entry", "entry")
CHANGES = (EDIT, EDIT, "rename", REMOVE, DISABLE, ENABLE)  # of an entry, wherever it is
SEEDS = (0, 1, 4, 7, 8, 10, 21, 29, 60)  # 7 and later change entries behind Toolcrib
MORE = (2, 3, 5, 25)
TIMEOUT = 15_000


@pytest.fixture
def window(ctx, places, open_window, qtbot, services, monkeypatch):
    """Five hosts with two servers each, three tools a server, one of them off."""
    monkeypatch.setenv("HOME", str(places.home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    for number, host_id in enumerate(FILES):
        names = (SERVERS[number], SERVERS[(number + 1) % len(SERVERS)])
        write_servers(places.home, host_id, {name: entry(name) for name in names})
    read_all(services)
    window = open_window()
    qtbot.waitUntil(lambda: bool(window.services.hosts.sizes), timeout=TIMEOUT)
    window.open_page("hosts")
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: page.preview is not None and page.services.tasks.idle, timeout=TIMEOUT)
    return window


def read_all(services):
    """Take in what the files name; every server is read."""
    stock(services)
    db = services.ctx.open_store()
    db.execute("UPDATE servers SET read_at = 1")
    db.close()


def entry(name):
    return {"command": name}


def write_servers(home, host_id, servers):
    path, key = FILES[host_id]
    if path.endswith(".toml"):
        lines = ["# mine"]
        for name, one in servers.items():
            lines += [f"[{key}.{name}]", f'command = "{one["command"]}"']
        put(home / path, "\n".join(lines) + "\n")
    else:
        put(home / path, {key: servers, "mine": 1})


def read_servers(home, host_id):
    path, key = FILES[host_id]
    text = (home / path).read_text()
    return (tomllib.loads(text) if path.endswith(".toml") else json.loads(text)).get(key, {})


class Truth:
    """What a host's model gets, worked out from its file and a gateway, not by the product."""

    def __init__(self, window, host_id, catalog):
        self.catalog = catalog
        self.database, self.host = str(window.services.ctx.paths.database), host_id
        self.tokens = self.count = 0
        for name, raw in read_servers(window.services.places.home, host_id).items():
            self._add(name, raw)

    def _add(self, name, raw):
        if raw.get("enabled") is False:  # by Codex's own key
            return
        words = [raw["command"], *raw.get("args", [])]
        if not words[0].endswith("toolcrib-gateway"):
            self._direct(name, raw)
            return
        options = parse(words[1:])
        if options.server:
            heard = rehearse(self.database, "default", server=options.server).tools
            tools = json.loads(heard)["tools"] if heard else []  # of a server that is not known
            rows = [self._row(options.server, tool["name"]) for tool in tools]
            self.tokens += sum(row.cost for row in rows)
            self.count += len(rows)
        else:
            heard = json.loads(rehearse(self.database, "default", behind=options.behind).tools)
            self.tokens += menu_tokens(self.catalog.only(options.behind))
            self.count += len(heard["tools"])

    def _row(self, server, tool):
        return self.catalog.find(f"{server}/{tool}")

    def _direct(self, name, raw):
        allowed = raw.get("enabled_tools", raw.get("includeTools"))
        denied = raw.get("disabled_tools", raw.get("excludeTools", ()))
        for row in self.catalog.tools:
            places = [(one.host, one.name) for one in row.server.entries]
            gone = row.tool.name in denied or (allowed is not None and row.tool.name not in allowed)
            same = row.server.spec.command == raw["command"]  # else it is another one, not read yet
            if same and (self.host, name) in places and not row.tool.gone and not gone:
                self.tokens += row.cost
                self.count += 1


def verb(*words):
    out = StringIO()
    with redirect_stdout(out):
        run([*words, "--json"])
    return json.loads(out.getvalue())


def surfaces(window, host_id):
    """Tokens that each surface shows of the host whose page is read."""
    page = window.pages["hosts"]
    sizes = {size.facts.id: size for size in window.services.hosts.sizes}
    table = BudgetTable()
    table.show(tuple(sizes.values()))
    rows = {row.facts.id: n for n, row in enumerate(table.rows)}
    shown = {
        "strip": number(window.strip.total.text().partition(" ")[0]),
    }
    headline = page.detail.headline.text()
    if headline and headline != "The file changed since this preview":
        # without a figure it says that there is nothing to count: "1 server not read"
        shown["headline"] = number(headline.partition(" ")[0]) if "tokens" in headline else 0
    if host_id in rows:
        shown["budget"] = number(table.index(rows[host_id], table.place(TOKENS)).data())
        page.tools.show_host(sizes[host_id])
        words = page.tools.headline.text().partition(" tokens")[0]
        shown["what the model gets"] = number(words.rpartition(" ")[2])
    if window.pages["catalog"].messages.text.startswith("Tools are read."):
        words = window.pages["catalog"].messages.text.partition(" tokens")[0]
        shown["catalog"] = number(words.rpartition(" ")[2])
    return shown


def number(text):
    return int(text.replace(",", "")) if text.replace(",", "").isdigit() else text


def bar_is_true(window):
    """A sentence about a write is there only while that write is the newest, and in the file."""
    page = window.pages["hosts"]
    if not page.messages.text.startswith("Written."):
        return True
    host_id, home = page.preview.plan.host.id, window.services.places.home
    path, key = FILES[host_id]
    db = window.services.ctx.open_store()
    written = exports.in_force(exports.for_host(db, host_id))
    db.close()
    group = written[0].detail["group"] if written else ""
    newest = [one for one in written if one.detail["group"] == group]
    for record in newest:
        if record.file == str(home / path):
            text = Path(record.detail["after"]).read_text()
            tree = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
            if tree.get(key, {}) != read_servers(home, host_id):
                return False
    return bool(newest)


def step(kind, window, qtbot, dice):
    page, home = window.pages["hosts"], window.services.places.home
    host_id = dice.choice(list(FILES))
    if kind in ("write", "mode"):
        page.choose(host_id)
        mode = dice.choice(modes_of(facts_of(host_id)))
        page.detail.radios[mode].click()
        settle(window, qtbot)
        if kind == "write":
            page.primary()
    elif kind == "undo":
        window.services.undo.undo()
    elif kind == "entry":
        return change_entry(window, qtbot, dice, host_id)
    elif kind == "outside":
        now = dict(read_servers(home, host_id))
        change = dice.choice(("replace", "add", "drop"))
        if change == "replace":
            now = {"foreign": entry("foreign")}
        elif change == "add":
            now[dice.choice(SERVERS)] = entry(dice.choice(SERVERS))
        elif now:
            now.pop(dice.choice(list(now)))
        keep = {name: one for name, one in now.items() if set(one) <= {"command"}}
        path = FILES[host_id][0]
        if path.endswith(".toml"):
            write_servers(home, host_id, keep)
        else:
            put(home / path, {FILES[host_id][1]: now, "mine": 1})
    else:
        read_all(window.services)
        window.live.load()
    settle(window, qtbot)
    return f"{kind} {host_id}"


def change_entry(window, qtbot, dice, host_id):
    """Change one server of the host by the preview, in its file or behind Toolcrib."""
    page, services = window.pages["hosts"], window.services
    servers = window.live.catalog.servers
    entries = [one for row in servers for one in row.entries if one.host == host_id]
    kind = dice.choice(CHANGES)
    if not entries:
        return f"nothing to {kind} in {host_id}"
    entry = dice.choice(entries)
    change = EntryChange(entry, EDIT if kind == "rename" else kind)
    if kind == "rename":
        change = replace(change, name=f"{entry.name}x")
    elif kind == EDIT:
        db = services.ctx.open_store()
        try:
            launch = load_entry(db, services.places, entry).entry.launch
        except ToolcribError:  # the file changed since it was read
            launch = None
        db.close()
        if launch is None:
            return f"nothing to edit of {entry.name} in {host_id}"
        change = replace(change, launch=replace(launch, args=(*launch.args, "--more")))
    services.hosts.entry_wanted.emit(change)
    qtbot.waitUntil(lambda: page.entry.isVisible() and window.tasks.idle, timeout=TIMEOUT)
    plan = page.entry.preview.plan
    (page.entry.write if plan.files else page.entry.close_button).click()
    qtbot.waitUntil(lambda: not page.entry.isVisible(), timeout=TIMEOUT)
    settle(window, qtbot)
    return f"{kind} {entry.name} in {host_id} ({plan.mode}, {plan.refusal or plan.changes})"


def settle(window, qtbot):
    page = window.pages["hosts"]
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=TIMEOUT)
    page.desk.survey()
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=TIMEOUT)


@pytest.mark.parametrize(
    "seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in MORE)]
)
def test_every_surface_says_what_the_file_and_the_gateway_give(window, qtbot, seed):
    dice = random.Random(seed)
    page = window.pages["hosts"]
    window.catalog.show_first_steps()
    window.open_page("hosts")  # whose host the strip follows
    done = []
    for _ in range(12):
        done.append(step(dice.choice(STEPS), window, qtbot, dice))
        host_id = page._host
        with window.services.ctx.store() as db:
            catalog = load_catalog(db, "default")
        truth = Truth(window, host_id, catalog)

        def agree(host_id=host_id, truth=truth):
            values = surfaces(window, host_id).values()
            return set(values) == {truth.tokens} and bar_is_true(window)

        try:
            qtbot.waitUntil(agree, timeout=TIMEOUT)
        except Exception:
            shown = surfaces(window, host_id), page.messages.text
            raise AssertionError(f"{done}, {host_id}: {truth.tokens} by file, {shown}") from None
        listed = {one["id"]: one for one in verb("hosts")["hosts"]}
        for known in FILES:
            own = Truth(window, known, catalog)
            numbers = listed[known]["tokens"], listed[known]["tools"]
            servers = read_servers(window.services.places.home, known)
            assert numbers == (own.tokens, own.count), (done, known, servers)
