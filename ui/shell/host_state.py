"""A host's state in words and for the page."""

from collections.abc import Sequence
from pathlib import Path

from app.core.text import plural
from app.export.plan import MODES
from app.host_status.drift import OUTSIDE
from app.host_status.status import CHANGES, ENDPOINT_OFF, NOT_FOUND, UNREADABLE, HostStatus
from app.hosts.facts import HostFacts
from app.policy.profiles import DEFAULT
from store.records import AS_IS, NATIVE
from ui.look.text import short
from ui.shell.host_names import MODE_NAMES


def state_text(status: HostStatus) -> str:
    """Mode of a host, its profile where that is not the default, and its state."""
    words = _state(status)
    return f"{words} · {status.profile}" if status.profile not in ("", DEFAULT) else words


def hosts_badge(rows: Sequence[HostStatus]) -> tuple[str, str]:
    """Text and tone of the badge beside Hosts: unreadable files, else changes to export."""
    unreadable = sum(row.state == UNREADABLE for row in rows)
    if unreadable:
        return plural(unreadable, "problem"), "warn"
    waiting = sum(row.changes for row in rows if row.state == CHANGES)
    return str(waiting or ""), "accent"


def _state(status: HostStatus) -> str:
    if status.state == NOT_FOUND:
        return "Not found"
    if status.state == UNREADABLE:
        return "File not readable"
    if status.state == OUTSIDE:
        return "Changed outside Toolcrib"
    if status.state == CHANGES:
        return f"{plural(status.changes, 'change')} to export"
    if status.state == ENDPOINT_OFF:
        return "HTTP endpoint off"
    if could_save(status):
        return f"As is · {short(status.recommendation.saving)} ≈ to save"  # cut last: the figure
    return f"{MODE_NAMES[status.mode]}{' over HTTP' if status.http else ''} · in sync"


def could_save(status: HostStatus) -> bool:
    """True if a host without Toolcrib would save tokens in the recommended mode."""
    advice = status.recommendation
    return status.mode == AS_IS and advice.mode != AS_IS and advice.saving > 0


def modes_of(facts: HostFacts) -> tuple[str, ...]:
    """The modes that a host allows."""
    if not facts.writable:
        return (AS_IS,)
    return tuple(mode for mode in MODES if mode != NATIVE or facts.native is not None)


def was_written(status: HostStatus) -> bool:
    """True if Toolcrib's writes are still in the host's files, a hook among them."""
    hooked = status.hook is not None and status.hook.installed
    return status.mode != AS_IS or bool(status.drift) or hooked


def urgency(status: HostStatus) -> int:
    """Hosts with something to do come first; among equals the list's order counts."""
    if status.state in (CHANGES, OUTSIDE, ENDPOINT_OFF):
        return 0
    return 1 if could_save(status) else 2


def first_mode(status: HostStatus) -> str:
    """The mode a host was written in, else the recommended one."""
    if status.mode != AS_IS:
        return status.mode
    best = status.recommendation.mode
    return best if best in modes_of(status.host) else AS_IS


def hashes(status: HostStatus) -> dict[Path, str]:
    """The host's files as they were read."""
    return {reading.file: reading.bytes_hash for reading in status.readings}
