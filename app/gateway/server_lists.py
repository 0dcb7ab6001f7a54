"""Prompts, resources and templates as a running server lists them, without what is held."""

import json

from app.core.scrubber import Scrubber
from app.gateway.host_request import HostRequest
from app.gateway.journal import Journal
from app.gateway.profile_view import ProfileView
from app.mcp.protocol import LISTS
from app.mcp.session import Upstream
from store.serving import (
    HELD_TEXTS,
    INSTRUCTIONS,
    NAME_KEYS,
    SERVER_INFO,
    ServerRow,
    held_texts,
    plain_info,
)
from store.typed import Any, Json, list_or_empty, object_or_empty

METHODS = ("prompts/list", "resources/list", "resources/templates/list")
KINDS = dict(zip(METHODS, NAME_KEYS, strict=True))  # method -> kind of a text
_MOST = 2_000  # verdicts that are remembered


class ServerLists:
    """Entries of live lists that may be shown: those that were read, and new ones that pass."""

    def __init__(self, view: ProfileView, journal: Journal, scrubber: Scrubber) -> None:
        self._view = view
        self._journal = journal
        self._scrubber = scrubber
        self._verdicts: dict[str, bool] = {}  # of entries that the store does not have

    def shown(self, row: ServerRow, method: str, entries: list[Json]) -> list[Json]:
        """The entries that a host may get, without secrets; others are noted, once."""
        key = NAME_KEYS[KINDS[method]]
        stored = {str(entry.get(key)): entry for entry in self._view.lists(row)[method]}
        return [
            entry
            for entry in self._scrubber.json(entries)
            if not isinstance(entry, dict)  # the host's to refuse
            or stored.get(str(entry.get(key))) == entry
            or (
                not self.is_held(row, KINDS[method], entry.get(key))
                and self._passes(row, method, entry)
            )
        ]

    def hello(self, row: ServerRow, result: Json) -> Json:
        """A running server's own words about itself, without what would be held of them."""
        instructions, info = result.get("instructions"), object_or_empty(result.get("serverInfo"))
        held = self._held(row, instructions=str(instructions or ""), server_info=info)
        kinds = {kind for kind, _name in held}
        if SERVER_INFO in kinds:
            result = {**result, "serverInfo": plain_info(row.name, info)}
        return {k: v for k, v in result.items() if k != INSTRUCTIONS or k not in kinds}

    def answer(self, row: ServerRow, method: str, answer: Json) -> Json | None:
        """A server's answer to a list without what is held or secret; None where nothing is."""
        result = answer.get("result")
        entries = result.get(LISTS[method]) if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(entries, list):
            return None
        kept = self.shown(row, method, entries)
        if kept == entries:
            return None
        return {**answer, "result": {**result, LISTS[method]: kept}}

    @staticmethod
    def is_held(row: ServerRow, kind: str, name: object) -> bool:
        """True if the entry of that name was held when it was read."""
        return (kind, str(name)) in held_texts(row.taken_with)

    def _passes(self, row: ServerRow, method: str, entry: Json) -> bool:
        key = json.dumps([row.name, self._view.generation, method, entry], sort_keys=True)
        known = self._verdicts.get(key)
        if known is None:
            if len(self._verdicts) >= _MOST:
                self._verdicts.clear()
            known = self._verdicts[key] = not self._held(row, **{KINDS[method]: [entry]})
        return known

    def _held(self, row: ServerRow, **parts: Any) -> set[tuple[str, str]]:
        """Kind and name of what is held of these parts of a server's words; each is noted."""
        from app.safety.server_texts import judge_server
        from store.records import SelfDescription

        before = list_or_empty(row.taken_with.get(HELD_TEXTS))
        findings = judge_server(SelfDescription(**parts), before)
        held = held_texts({HELD_TEXTS: findings})
        for finding in findings:
            if (finding["kind"], finding["name"]) in held:
                name = f"{row.name}/{finding['name']}"
                self._journal.add("held", tool=name[:200], problem=finding["detail"])
        return held


class ListRequest(HostRequest):
    """A host's request for a list of prompts, resources or templates of a running server."""

    __slots__ = ("_lists", "_row")

    def __init__(
        self, upstream: Upstream, line: bytes, message: Json, row: ServerRow, lists: ServerLists
    ) -> None:
        super().__init__(upstream, line, message)
        self._row = row
        self._lists = lists

    def finish(self, _line: bytes, answer: Json) -> Json | None:
        """The list without what is held."""
        return self._lists.answer(self._row, self.message["method"], answer)
