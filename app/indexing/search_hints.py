"""Words by which a host's own search finds a tool: of its summary, its requests and its labels.

A hint is data that the host compares, in `_meta` of a tool's entry. It has single words in the
order of the alphabet, so that no third party's sentence reaches a host, and no word that the tool's
name or description has already: those are compared anyway.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import apsw

from app.indexing.requests import request_problem
from app.ranking.text import content_words, split_name
from app.ranking.tool_search import HINT_KEY
from app.secrets.credentials import credentials_in
from store import queries, requests, tools
from store.records import LabelRecord, ToolRecord
from store.typed import Json, compact_json, object_or_empty

MOST_WORDS = 40
LONGEST_WORD = 30  # characters; longer ones are names, keys and the like


@dataclass(frozen=True, slots=True)
class HintSources:
    """Sources of hints; read once, so that a label can be left out again and again."""

    summaries: Mapping[int, str]
    requests: Mapping[int, Sequence[str]]
    labels: Sequence[LabelRecord]  # those whose queries pass the checks of requests

    @classmethod
    def read(cls, db: apsw.Connection) -> "HintSources":
        """The stored ones; a request was checked when it was stored, a label is checked here."""
        return cls(
            {id_: summary.text for id_, summary in tools.summaries(db).items()},
            {id_: [one.text for one in rows] for id_, rows in requests.live(db).items()},
            [one for one in queries.labels(db) if not request_problem(one.query)],
        )

    def hint(self, tool: ToolRecord, *, without: str = "") -> str:
        """The tool's hint, "" where there is nothing to add; `without` is a query left out."""
        labelled = [
            one.query
            for one in self.labels
            if tool.tool_id in one.expected and one.query.strip() != without
        ]
        asked_for = [text for text in self.requests.get(tool.id, ()) if text != without]
        return _words([*labelled, *asked_for, self.summaries.get(tool.id, "")], tool)


def search_hints(db: apsw.Connection) -> dict[int, str]:
    """The hints of all tools, by row id, where there are any."""
    sources = HintSources.read(db)
    made = {one.id: sources.hint(one) for one in tools.tools(db)}
    return {id_: hint for id_, hint in made.items() if hint}


def hinted_text(raw: str, hint: str) -> str:
    """A tool's JSON text with the hint; one that its server wrote stays."""
    if not hint:
        return raw
    entry: Json = json.loads(raw)
    kept = object_or_empty(entry.get("_meta"))
    entry["_meta"] = {HINT_KEY: hint, **kept}
    return compact_json(entry)


def _words(texts: Iterable[str], tool: ToolRecord) -> str:
    own = f"{split_name(tool.name)} {tool.name} {tool.description}"
    known = {*content_words(own), *content_words(tool.server)}
    new = dict.fromkeys(
        word
        for text in texts
        for word in content_words(_without_credentials(text))
        if word not in known and 1 < len(word) <= LONGEST_WORD
    )
    return " ".join(sorted(list(new)[:MOST_WORDS]))


def _without_credentials(text: str) -> str:
    """The text without credentials: people type tokens, and a hint leaves with the tool's entry."""
    for value in sorted(credentials_in(text), key=len, reverse=True):
        text = text.replace(value, " ")
    return text
