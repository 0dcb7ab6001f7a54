"""A server's raw tools as rows of the team: judged, counted, summarised and embedded."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from app.indexing.findings import findings_of_tools
from app.ranking.dense import Encoding
from app.ranking.keyword import keyword_row
from app.ranking.requests import pack_key, read_pack, tool_text_hash
from app.ranking.sources import texts_to_spell
from app.ranking.summary import make_summary
from app.ranking.views import mixed, views_hash, views_of
from app.safety.patterns import Names
from app.tokens.counters import counter
from app.tokens.footprint import count_tool
from store.hashes import tool_hash
from store.records import Finding as LocalFinding
from store.records import Summary, ToolRecord
from store.team.records import Finding, NewRequest, NewTool
from store.team.words import Tokens
from store.typed import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACK = "pack"
_ENCODING = "o200k_base"
Judged = tuple[NewTool, tuple[Finding, ...]]  # its findings have no tool's id yet


def indexed(
    server: str,
    raws: Sequence[Json],
    encoder: Encoding | None = None,
    *,
    pack: Mapping[str, Sequence[str]] | None = None,
    reviewed: Mapping[str, str] | None = None,
) -> list[Judged]:
    """A server's list as rows for store.team.tools.save(), each with its findings.

    `reviewed` are trusted hashes by tool name: of the others, one with a finding that blocks is
    held until a decision. Without an encoder tools are found by words alone.
    """
    records = [_record(server, at, raw, reviewed or {}) for at, raw in enumerate(raws)]
    keys = {tool.id: pack_key(tool_text_hash(tool)) for tool in records}
    pack = read_pack(set(keys.values())) if pack is None else pack
    written = {tool.id: tuple(pack.get(keys[tool.id], ())) for tool in records}
    summaries = [Summary(tool.id, make_summary(tool), "made", tool.hash) for tool in records]
    vectors = _vectors(records, summaries, encoder)
    by_text = _request_vectors([text for texts in written.values() for text in texts], encoder)
    reasons = findings_of_tools(records, Names.of(records))
    tokens, made = Tokens(), list[Judged]()
    for tool, summary in zip(records, summaries, strict=True):
        requests = [
            NewRequest(text, PACK, tool_text_hash(tool), by_text.get(text, {}))
            for text in written[tool.id]
        ]
        own = reasons.get(tool.id, ())
        trusted = (reviewed or {}).get(tool.name, "")
        held = trusted != tool.hash and any(one.severity == "block" for one in own)
        new = _new_tool(
            tool,
            summary.text,
            requests,
            tokens,
            vectors=vectors.get(tool.id, {}),
            trusted=trusted or ("" if held else tool.hash),
            held=held,
        )
        made.append((new, tuple(_finding(one) for one in own)))
    return made


def _record(server: str, at: int, raw: Json, reviewed: Mapping[str, str]) -> ToolRecord:
    name, hash_ = str(raw["name"]), tool_hash(raw)
    trusted = reviewed.get(name) or hash_
    return ToolRecord(at, 0, server, name, raw, hash_, trusted, position=at)


def _new_tool(
    tool: ToolRecord,
    summary: str,
    requests: Sequence[NewRequest],
    tokens: Tokens,
    *,
    vectors: Mapping[str, tuple[str, bytes]],
    trusted: str,
    held: bool,
) -> NewTool:
    texts = [request.text for request in requests]
    words, length = tokens.literal(keyword_row(tool, texts))
    return NewTool(
        tool.name,
        tool.raw,
        tool.hash,
        summary,
        count_tool(counter(_ENCODING), tool).host_text,
        words,
        length,
        vocabulary=spelt(tool, summary, texts),
        vectors=vectors,
        requests=requests,
        trusted_hash=trusted,
        held=held,
        position=tool.position,
    )


def spelt(tool: ToolRecord, summary: str, requests: Sequence[str]) -> list[str]:
    """The words of a tool's texts, once a text: what slips in a query are read as."""
    return [
        word
        for text in texts_to_spell(tool.name, tool.server, summary, requests)
        for word in set(text.split())
    ]


def _vectors(
    records: Sequence[ToolRecord], summaries: Sequence[Summary], encoder: Encoding | None
) -> dict[int, dict[str, tuple[str, bytes]]]:
    if encoder is None:
        return {}
    views = [views_of(tool, summary) for tool, summary in zip(records, summaries, strict=True)]
    rows = mixed(lambda texts: _matrix(texts, encoder), views)
    return {
        tool.id: {encoder.key: (views_hash(own), row)}
        for tool, own, row in zip(records, views, rows, strict=True)
    }


def _matrix(texts: Sequence[str], encoder: Encoding) -> "NDArray[np.float32]":
    import numpy as np

    rows = [np.frombuffer(encoder.encode_bytes(text), dtype=np.float32) for text in texts]
    return np.stack(rows)


def _request_vectors(texts: Sequence[str], encoder: Encoding | None) -> dict[str, dict[str, bytes]]:
    if encoder is None:
        return {}
    return {text: {encoder.key: encoder.encode_bytes(text)} for text in dict.fromkeys(texts)}


def _finding(one: LocalFinding) -> Finding:
    return Finding(0, one.rule, one.severity, one.detail, one.hash)
