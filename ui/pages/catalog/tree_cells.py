"""The columns of the catalogue tree: what they show of a server and of a tool."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon

from app.catalog.catalog import CatalogTool
from app.catalog.reasons import sentence
from app.core.text import plural
from ui.look.text import APPROX, count
from ui.pages.catalog.tree_rows import Branch, Leaf, server_badge, status_words, tool_badge
from ui.widgets.columns import Cell, TreeColumn
from ui.widgets.delegates import BadgeDelegate, BarDelegate, TextDelegate
from ui.widgets.roles import BADGE, BAR, FAINT, BadgeText

NAME, TOKENS, CALLS, FLAGS, HOSTS = "Server / tool", "Tokens ≈", "Calls 30 d", "Flags", "Hosts"
_ROLE = Qt.ItemDataRole
Icons = Callable[[str], QIcon]


@dataclass(slots=True)
class Scale:
    """Full lengths of bars: tokens of the largest server and of the largest tool."""

    server: int = 0
    tool: int = 0


def tree_columns(icons: Icons, largest: Scale) -> tuple[TreeColumn[Branch, Leaf], ...]:
    """The columns in their order; the first has check boxes and holds a server's problem."""
    return (
        TreeColumn(NAME, _server_name(icons), _tool_name(icons)),
        TreeColumn(
            TOKENS,
            _server_tokens(largest),
            _tool_tokens(largest),
            delegate=BarDelegate,
            width=170,
            tip="Tokens that are on. For a server or tool that is off: what it would add.",
        ),
        TreeColumn(CALLS, _SERVER_CALLS, _TOOL_CALLS, width=84, right=True),
        TreeColumn(FLAGS, _SERVER_FLAGS, _TOOL_FLAGS, delegate=BadgeDelegate, width=144),
        TreeColumn(
            HOSTS,
            Cell(lambda branch: branch.hosts, roles={_ROLE.ToolTipRole: lambda b: b.hosts}),
            Cell(lambda _leaf: "", roles={FAINT: lambda leaf: not leaf.row.shown}),
            delegate=TextDelegate,
            width=120,
            yields=True,
        ),
    )


PROBLEM: Cell[Branch] = Cell(
    lambda branch: branch.problem,
    roles={
        _ROLE.ToolTipRole: lambda branch: branch.problem,
        _ROLE.AccessibleTextRole: lambda branch: branch.problem,
        FAINT: lambda _branch: True,
    },
)


def _server_name(icons: Icons) -> Cell[Branch]:
    return Cell(
        lambda branch: branch.server.name,
        roles={
            _ROLE.CheckStateRole: _ticks,
            _ROLE.DecorationRole: lambda b: icons("server-off" if b.problem else "server"),
            _ROLE.AccessibleTextRole: lambda b: (
                f"{b.server.name}, server, {_on(b)}, {count(b.on)} tokens"
            ),
            _ROLE.ToolTipRole: _on,
        },
    )


def _tool_name(icons: Icons) -> Cell[Leaf]:
    return Cell(
        lambda leaf: leaf.row.tool.name,
        roles={
            _ROLE.CheckStateRole: lambda leaf: (
                Qt.CheckState.Checked if leaf.row.on else Qt.CheckState.Unchecked
            ),
            _ROLE.DecorationRole: lambda _leaf: icons("wrench-outline"),
            _ROLE.ToolTipRole: lambda leaf: leaf.row.summary or leaf.row.tool.description[:300],
            _ROLE.AccessibleTextRole: _tool_sentence,
            FAINT: lambda leaf: not leaf.row.shown,
        },
    )


def _server_tokens(largest: Scale) -> Cell[Branch]:
    return Cell(
        lambda branch: count(branch.size) if branch.leaves else "",
        lambda branch: branch.size,
        {
            BAR: lambda b: (
                (b.on / largest.server, (b.every - b.on) / largest.server)
                if largest.server and b.leaves
                else None
            ),
            FAINT: lambda branch: not branch.on,
            _ROLE.ToolTipRole: lambda b: (
                f"{count(b.on)} tokens {APPROX} on, {count(b.every)} in all"
            ),
        },
    )


def _tool_tokens(largest: Scale) -> Cell[Leaf]:
    def bar(leaf: Leaf) -> tuple[float, float] | None:
        if not largest.tool:
            return None
        share = leaf.row.cost / largest.tool
        return (share, 0.0) if leaf.row.shown else (0.0, share)

    return Cell(
        lambda leaf: count(leaf.row.cost) if leaf.row.tokens else "not counted",
        lambda leaf: leaf.row.cost,
        {
            BAR: bar,
            FAINT: lambda leaf: not leaf.row.shown,
            _ROLE.ToolTipRole: lambda leaf: _parts(leaf.row),
        },
    )


def _calls(calls: int | None) -> str:
    """Number of calls by hosts; "" where it is not known yet."""
    return "" if calls is None else count(calls) if calls else "never"


def _calls_tip(calls: int | None) -> str | None:
    if calls is None:
        return None
    return f"{plural(calls, 'call')} through Toolcrib in the last 30 days"


_SERVER_CALLS: Cell[Branch] = Cell(
    lambda branch: _calls(branch.calls),
    lambda branch: branch.calls or 0,
    {_ROLE.ToolTipRole: lambda b: _calls_tip(b.calls), FAINT: lambda b: not b.calls},
)
_TOOL_CALLS: Cell[Leaf] = Cell(
    lambda leaf: _calls(leaf.calls),
    lambda leaf: leaf.calls or 0,
    {_ROLE.ToolTipRole: lambda x: _calls_tip(x.calls), FAINT: lambda x: not x.calls},
)
_SERVER_FLAGS: Cell[Branch] = Cell(
    lambda branch: _word(server_badge(branch)),
    roles={BADGE: server_badge, _ROLE.ToolTipRole: lambda branch: status_words(branch.server)},
)
_TOOL_FLAGS: Cell[Leaf] = Cell(
    lambda leaf: _word(tool_badge(leaf.row)),
    roles={
        BADGE: lambda leaf: tool_badge(leaf.row),
        _ROLE.ToolTipRole: lambda leaf: _why(leaf.row),
        FAINT: lambda leaf: not leaf.row.shown,
    },
)


def _word(badge: BadgeText | None) -> str:
    return badge.word if badge else ""


def _ticks(branch: Branch) -> Qt.CheckState | None:
    if not branch.leaves:
        return None
    if branch.ticked == len(branch.leaves):
        return Qt.CheckState.Checked
    return Qt.CheckState.PartiallyChecked if branch.ticked else Qt.CheckState.Unchecked


def _on(branch: Branch) -> str:
    return f"{branch.ticked} of {plural(len(branch.leaves), 'tool')} on"


def _tool_sentence(leaf: Leaf) -> str:
    row = leaf.row
    state = _why(row) or ("on" if row.on else "off")
    return f"{row.tool.name}, {row.server.name}, {count(row.cost)} tokens, {state}"


def _parts(row: CatalogTool) -> str | None:
    size = row.tokens
    if not size:
        return None
    return (
        f"{count(size.host_text)} tokens {APPROX} ({size.encoding}): name {size.name}, description"
        f" {count(size.description)}, input schema {count(size.input_schema)}"
    )


def _why(row: CatalogTool) -> str:
    if row.tool.problem:
        return f"Unusable: {row.tool.problem}"
    if row.held:
        return f"Held back: {sentence(row.held)}"
    return "Pinned: always shown to the model" if row.pinned else ""
