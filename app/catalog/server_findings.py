"""Findings over a server's own texts, as its last reading kept them."""

from store.records import ServerRecord
from store.serving import HELD_TEXTS
from store.typed import Json


def findings_of(server: ServerRecord) -> list[Json]:
    """The findings of the server's last reading (app.safety.server_texts makes them)."""
    findings = server.taken_with.get(HELD_TEXTS)
    return list(findings) if isinstance(findings, list) else []
