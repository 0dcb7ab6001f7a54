"""Exact texts that a host's model gets: its list of tools, a search's answer, a hook's hint."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.export.limits import host_name
from app.gateway.rehearsal import Narrowed, rehearse, rehearse_hook, rehearse_list
from app.hooks.small_talk import SmallTalk
from app.hooks.status import no_hook
from app.hooks.suggestion import MARGIN, Suggestion
from app.host_status.sizes import HostSize
from app.mcp.jsonrpc import dump
from app.tokens.counters import Counter, counter
from store.records import PRUNED, THROUGH
from ui.look.text import APPROX

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder


@dataclass(frozen=True, slots=True)
class HookText:
    """The hook's text for the model, or its reason for changing nothing."""

    text: str  # what it adds; of the list form the names that stay; "" where it stays silent
    tokens: int  # that are added
    why: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A prompt, and what decides about it."""

    database: Path
    profile: str
    prompt: str
    encoder: "Encoder | None"
    talk: Callable[[], SmallTalk | None]  # encoded with the first hook that is looked at


def hook_text(typed: Typed, size: HostSize | None, count: Counter) -> HookText:
    """Text of this host's hook; without a host, of any that goes through Toolcrib."""
    hook = size.facts.hook if size else None
    if size is not None and hook is None:
        return HookText("", 0, no_hook(size.facts))
    if size is not None and hook is not None and hook.lists and size.mode != THROUGH:
        return _narrowed(typed, size)  # its other form has nothing to say there
    made = rehearse_hook(
        str(typed.database),
        typed.profile,
        host=size.facts.id if size else "",
        prompt=typed.prompt,
        encoder=typed.encoder,
        small_talk=typed.talk(),
    )
    if not made.text:
        return HookText("", 0, f"Silent. {made.why}{_measured(made)}")
    tokens = count.count(made.text)
    words = f"{tokens:,} tokens {APPROX} added to the request.{_measured(made)}"
    return HookText(made.text, tokens, words)


def _narrowed(typed: Typed, size: HostSize) -> HookText:
    narrowed = rehearse_list(
        str(typed.database),
        typed.profile,
        host=size.facts.id,
        prompt=typed.prompt,
        encoder=typed.encoder,
        small_talk=typed.talk(),
    )
    return narrowed_text(narrowed, size)


def narrowed_text(narrowed: Narrowed, size: HostSize) -> HookText:
    """Names of this host's tools that the list form leaves out, one a line."""
    off, rows = set(narrowed.off), size.sent.tools
    names = {host_name(size.facts, row): row for row in rows}
    gone = [row for name, row in names.items() if name in off]
    if not gone:
        why = narrowed.made.why or "Every tool fits or is pinned."
        return HookText(
            "", 0, f"The list form leaves the list whole. {why}{_measured(narrowed.made)}"
        )
    saved = sum(row.cost for row in gone)
    words = (
        f"The list form leaves {len(gone)} of {plural(len(names), 'tool')} out of this request,"
        f" {saved:,} tokens {APPROX}. These stay, with those that the conversation has used."
    )
    kept = [name for name in names if name not in off]
    return HookText("\n".join(kept), 0, f"{words}{_measured(narrowed.made)}")


def _measured(made: Suggestion) -> str:
    """The cosines that decided, where any did."""
    if not made.likeness:
        return ""
    floor = f"{made.floor:.2f}, and " if made.floor >= 0 else ""  # a label's query has none
    return (
        f" Likeness of the best tool {made.likeness:.2f}; it needs {floor}"
        f"{made.small_talk + MARGIN:.2f} to be clear of small talk."
    )


@dataclass(frozen=True, slots=True)
class ModelText:
    """The texts that reach a model; tokens are of the list and of the answer."""

    host: str  # name, "" for any host that goes through Toolcrib
    tools: str  # tools/list as JSON; of several servers one a line
    count: int
    tokens: int
    later: int  # tokens that the host loads on demand
    search: str  # the answer of search_tools, "" where the host has no such tool
    search_tokens: int
    hook: HookText  # for the query as a prompt


@dataclass(slots=True)
class LoadedModels:
    """Models that are loaded once; the small talk is encoded for the first hook in view."""

    encoder: "Encoder | None" = None
    small_talk: SmallTalk | None = None

    def talk(self, encoder: "Encoder | None") -> SmallTalk | None:
        """The small talk as this encoder sees it."""
        if encoder is not None and encoder is not self.encoder:
            self.encoder, self.small_talk = encoder, SmallTalk(encoder)
        return self.small_talk if encoder is not None else None


def model_text(
    database: Path,
    catalog: Catalog,
    size: HostSize | None,
    *,
    query: str,
    encoder: "Encoder | None",
    loaded_models: LoadedModels,
) -> ModelText:
    """Text that the model of this host gets in its mode; without a host, the gateway's text."""
    profile = size.profile if size and size.profile else catalog.profile.name
    direct = [dump(row.tool.raw).decode() for row in size.sent.direct] if size else []
    lists, search = [], ""
    if size is None or size.mode == THROUGH:
        reached = size.behind if size else None
        rehearsal = rehearse(str(database), profile, behind=reached, query=query, encoder=encoder)
        lists, search = [rehearsal.tools], rehearsal.search
    elif size.mode == PRUNED:
        left = {row.server.id for row in size.sent.direct}
        behind = [row.server for row in size.sent.tools if row.server.id not in left]
        names = dict.fromkeys(server.name for server in behind)
        lists = [rehearse(str(database), profile, server=name).tools for name in names]
    text = "\n".join([*lists, *direct])
    count = counter(catalog.encoding)
    typed = Typed(database, profile, query, encoder, talk=lambda: loaded_models.talk(encoder))
    return ModelText(
        size.host if size else "",
        text,
        size.sent.count if size else len(json.loads(lists[0])["tools"]),
        size.sent.tokens if size else count.count(text),
        size.sent.later if size else 0,
        search,
        count.count(search) if search else 0,
        hook_text(typed, size, count),
    )
