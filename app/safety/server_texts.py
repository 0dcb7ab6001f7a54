"""Judgement of a server's texts beside its tools: instructions, prompts, resources, templates.

The findings are kept with the server (`taken_with["texts"]`); store.serving withholds what is
held, for every program alike.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from app.safety.judgement import judge
from app.safety.texts import Passage, json_passages
from store.serving import INSTRUCTIONS, PROMPTS, RESOURCES, SERVER_INFO, TEMPLATES
from store.typed import Json

_MOST_ENTRIES = 500  # of a list that are read
_REMARK = "info"


def judge_server(
    *,
    instructions: str,
    server_info: Json,
    prompts: Sequence[Json],
    resources: Sequence[Json],
    templates: Sequence[Json],
    before: Iterable[Json] = (),
) -> list[Json]:
    """One finding for each part that something speaks against; decisions on the same text stay.

    `before` are the findings of the last reading.
    """
    decided = {(f["kind"], f["name"], f["hash"]): f["decided"] for f in before}
    parts = _parts(instructions, server_info, (prompts, resources, templates))
    return [
        {**finding, "decided": decided.get((finding["kind"], finding["name"], finding["hash"]), "")}
        for kind, name, passages in parts
        for finding in _finding(kind, name, passages)
    ]


def _parts(
    instructions: str, server_info: Json, lists: Sequence[Sequence[Json]]
) -> Iterator[tuple[str, str, list[Passage]]]:
    yield INSTRUCTIONS, "", [Passage("instructions", instructions)]
    yield SERVER_INFO, "", json_passages(server_info, "serverInfo")
    keys = (PROMPTS, "name", "prompt"), (RESOURCES, "uri", "resource")
    for (kind, key, label), entries in zip(
        (*keys, (TEMPLATES, "uriTemplate", "resource template")), lists, strict=True
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
