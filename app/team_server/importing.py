"""A local catalogue becomes the team's: servers, tools with vectors and requests, findings, labels,
profiles, and what the last scan derived. Nothing is encoded or judged anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import apsw

from app.core.errors import ToolcribError
from app.ranking import hierarchy
from app.ranking.dense import VIEW, Encoding
from app.ranking.floor import BLOB as FLOOR
from app.ranking.floor import BY_WORLD
from app.ranking.keyword import keyword_row
from app.ranking.learning.teaching import BLOB as TAUGHT
from app.ranking.learning.teaching import load as load_taught
from app.ranking.world import BLOB as WORLD
from app.team_server.indexing import spelt
from app.team_server.ranking import label_words
from store import findings, profiles, queries, requests, servers, tools, vectors
from store.records import ServerRecord, ToolRecord
from store.team import blobs, labels, reviews
from store.team import profiles as team_profiles
from store.team import servers as team_servers
from store.team import tools as team_tools
from store.team.connecting import Connection
from store.team.records import Finding, Member, NewRequest, NewServer, NewTool, TickRow
from store.team.words import Tokens
from store.typed import Json

_ENCODING = "o200k_base"


@dataclass(frozen=True, slots=True)
class Imported:
    """Numbers of rows that an import wrote."""

    servers: int
    tools: int
    requests: int
    labels: int
    profiles: int
    skipped: tuple[str, ...] = ()  # tools that are the second of their name on a server


@dataclass(frozen=True, slots=True)
class _Local:
    """The local store's rows beside its tools, by id."""

    summaries: Mapping[int, str]
    tokens: Mapping[int, int]
    hashes: Mapping[int, str]  # of the embedded text
    vectors: Mapping[int, bytes]
    requests: Mapping[int, Sequence[NewRequest]]
    findings: Mapping[int, Sequence[Finding]]
    blocked: frozenset[int]


def import_store(
    db: apsw.Connection,
    connection: Connection,
    member: Member,
    *,
    encoder: Encoding | None,
) -> Imported:
    """Copy a local store into the organisation of an editor (the transaction is the caller's).

    Servers of the same name are replaced; others of the team stay. With `encoder` its vectors come
    along, and servers get vectors for structured requests, too.
    Raises ToolcribError for vectors of another length than the team's.
    """
    organisation = member.organisation_id
    model = encoder.key if encoder else ""
    local = _read(db, model)
    by_server: dict[int, list[ToolRecord]] = {}
    for tool in tools.tools(db):
        if not tool.gone:
            by_server.setdefault(tool.server_id, []).append(tool)
    tokens, ids, skipped = Tokens(), dict[int, int](), list[str]()
    present = [server for server in servers.all_servers(db) if server.id in by_server]
    for server in present:
        rows, twins = _distinct(by_server[server.id])
        skipped += twins
        new = [_new_tool(tool, server, local, model, tokens) for tool in rows]
        id_ = team_servers.save(connection, organisation, _new_server(server))
        made = team_tools.save(connection, organisation, id_, new)
        ids.update(zip((tool.id for tool in rows), made, strict=True))
        if server.disabled:
            team_servers.set_enabled(connection, organisation, id_, enabled=False)
        if encoder is not None:
            _describe(connection, organisation, id_, server, rows, encoder)
        for tool in rows:
            own = local.findings.get(tool.id, ())
            if own:
                reviews.save_findings(connection, organisation, ids[tool.id], own)
    _copy_blobs(db, connection, organisation, model, ids)
    return Imported(
        len(present),
        len(ids),
        sum(len(local.requests.get(id_, ())) for id_ in ids),
        _copy_labels(db, connection, member),
        _copy_profiles(db, connection, organisation),
        tuple(skipped),
    )


def _read(db: apsw.Connection, model: str) -> _Local:
    kept = vectors.load(db, model, VIEW)
    if any(len(data) != team_tools.DIMS * 4 for data in kept.values()):
        raise ToolcribError(
            "The vectors of this encoder do not fit the team's database.",
            f"It keeps vectors of {team_tools.DIMS} numbers. Scan with the default encoder first.",
        )
    by_request = {id_: {model: data} for id_, data in requests.vectors_by_id(db, model).items()}
    written = {
        id_: [
            NewRequest(row.text, row.source, row.text_hash, by_request.get(row.id, {}))
            for row in rows
        ]
        for id_, rows in requests.live(db).items()
    }
    reasons: dict[int, list[Finding]] = {}
    for one in findings.all_findings(db):
        row = Finding(one.tool_id, one.rule, one.severity, one.detail, one.hash)
        reasons.setdefault(one.tool_id, []).append(row)
    return _Local(
        {id_: summary.text for id_, summary in tools.summaries(db).items()},
        {id_: count.host_text for id_, count in tools.token_counts(db, _ENCODING).items()},
        vectors.hashes(db, model, VIEW),
        kept,
        written,
        reasons,
        findings.blocked(db),
    )


def _distinct(rows: Sequence[ToolRecord]) -> tuple[list[ToolRecord], list[str]]:
    """The first tool of each name, and the ids of the others: no call could tell them apart."""
    first: dict[str, ToolRecord] = {}
    others = [tool.tool_id for tool in rows if first.setdefault(tool.name, tool) is not tool]
    return list(first.values()), others


def _new_server(server: ServerRecord) -> NewServer:
    spec = server.spec
    launch: Json = {
        "command": spec.command,
        "args": list(spec.args),
        "env_names": list(spec.env_names),
        "cwd": spec.cwd,
        "header_names": list(spec.header_names),
    }
    return NewServer(
        server.name,
        spec.transport,
        launch if spec.command else {"header_names": launch["header_names"]},
        url=spec.url,
        server_info=server.server_info,
        instructions=server.instructions,
    )


def _new_tool(
    tool: ToolRecord, server: ServerRecord, local: _Local, model: str, tokens: Tokens
) -> NewTool:
    written = local.requests.get(tool.id, ())
    texts = [request.text for request in written]
    words, length = tokens.literal(keyword_row(tool, texts)) if not tool.problem else ("", 0)
    summary = local.summaries.get(tool.id, "")
    vector = local.vectors.get(tool.id)
    return NewTool(
        tool.name,
        tool.raw,
        tool.hash,
        summary,
        local.tokens.get(tool.id, 0),
        words,
        length,
        vocabulary=spelt(tool, summary, texts),
        vectors={model: (local.hashes[tool.id], vector)} if vector is not None else {},
        requests=written,
        trusted_hash=tool.trusted_hash,
        held=tool.id in local.blocked or not server.trusted,
        problem=tool.problem,
        position=tool.position,
    )


def _describe(
    connection: Connection,
    organisation: int,
    id_: int,
    server: ServerRecord,
    rows: Sequence[ToolRecord],
    encoder: Encoding,
) -> None:
    team_servers.save_vectors(
        connection,
        organisation,
        id_,
        described=team_tools.half(encoder.encode_bytes(hierarchy.described(server))),
        enhanced=team_tools.half(
            encoder.encode_bytes(hierarchy.enhanced_by(server.name, [t.name for t in rows]))
        ),
    )


def _copy_blobs(
    db: apsw.Connection,
    connection: Connection,
    organisation: int,
    model: str,
    ids: Mapping[int, int],
) -> None:
    """The floor, the world behind it, and what requests taught, with the team's ids."""
    for name in (FLOOR, BY_WORLD, WORLD):
        kept = queries.blob(db, name)
        if kept is not None:
            blobs.save(connection, organisation, name, fingerprint=kept[0], data=kept[1])
    taught, kept = load_taught(db, model), queries.blob(db, TAUGHT)
    if taught is None or kept is None:
        return
    keys = tuple(ids.get(id_, -id_) for id_ in taught.keys)  # a tool that is gone has none
    data = replace(taught, keys=keys).to_bytes()
    blobs.save(connection, organisation, TAUGHT, fingerprint=kept[0], data=data)


def _copy_labels(db: apsw.Connection, connection: Connection, member: Member) -> int:
    rows = queries.labels(db)
    for row in rows:
        labels.add(
            connection,
            member,
            row.query,
            row.expected,
            words=label_words(row.query),
            source=row.source,
        )
    return len(rows)


def _copy_profiles(db: apsw.Connection, connection: Connection, organisation: int) -> int:
    names = {tool.id: tool.tool_id for tool in tools.tools(db)}
    rows = profiles.all_profiles(db)
    for row in rows:
        ticks = [
            TickRow(names[id_], state.on, state.pinned)
            for id_, state in profiles.states(db, row.id).items()
            if id_ in names and (state.pinned or not state.on)
        ]
        team_profiles.save(connection, organisation, row.name, row.settings, ticks)
    return len(rows)
