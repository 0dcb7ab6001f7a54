"""Judgement of a server's texts beside its tools: instructions, prompts, resources, templates.

The findings are kept with the server (`taken_with["texts"]`); store.serving withholds what is
held, for every program alike.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from app.safety.judgement import judge
from app.safety.texts import Passage, json_passages
from store.records import SelfDescription
from store.serving import INSTRUCTIONS, PROMPTS, RESOURCES, SERVER_INFO, TEMPLATES
from store.typed import Json

_MOST_ENTRIES = 500  # of a list that are read
_REMARK = "info"


def judge_server(server: SelfDescription, before: Iterable[Json] = ()) -> list[Json]:
    """One finding for each part that something speaks against; decisions on the same text stay.

    `before` are the findings of the last reading.
    """
    decided = {(f["kind"], f["name"], f["hash"]): f["decided"] for f in before}
    return [
        {**finding, "decided": decided.get((finding["kind"], finding["name"], finding["hash"]), "")}
        for kind, name, passages in _parts(server)
        for finding in _finding(kind, name, passages)
    ]


def _parts(server: SelfDescription) -> Iterator[tuple[str, str, list[Passage]]]:
    yield INSTRUCTIONS, "", [Passage("instructions", server.instructions)]
    yield SERVER_INFO, "", json_passages(server.server_info, "serverInfo")
    for kind, entries, key, label in (
        (PROMPTS, server.prompts, "name", "prompt"),
        (RESOURCES, server.resources, "uri", "resource"),
        (TEMPLATES, server.templates, "uriTemplate", "resource template"),
    ):
        for entry in entries[:_MOST_ENTRIES]:
            name = str(entry.get(key) or "")
            shown = str(entry.get("name") or name)[:80]
            yield kind, name, json_passages(entry, f"{label} {shown}".rstrip())


def _finding(kind: str, name: str, passages: Sequence[Passage]) -> Iterator[Json]:
    """The worst that is found in a part."""
    worst = next(iter(judge(passages)), None)
    if worst is not None and worst.severity != _REMARK:
        text = "\0".join(passage.text for passage in passages)
        yield {
            "kind": kind,
            "name": name,
            "rule": worst.rule,
            "severity": worst.severity,
            "detail": worst.detail,
            "hash": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        }
