"""Exact texts that a host's model gets: its list of tools, a search's answer, a hook's hint."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.catalog.catalog import Catalog
from app.gateway.rehearsal import rehearse
from app.hooks.small_talk import SmallTalk
from app.host_status.sizes import HostSize
from app.mcp.jsonrpc import dump
from app.tokens.counters import counter
from store.records import PRUNED, THROUGH
from ui.pages.playground.hook_text import HookText, Typed, hook_text

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder


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
