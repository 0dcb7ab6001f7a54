"""Decisions on calls that wait for a person's yes (app.gateway.approvals asks)."""

from collections.abc import Iterable

import apsw

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.reasons import sentence
from app.core.errors import ToolcribError
from store import approvals
from store.connection import transaction
from store.records import ALLOWED, ALWAYS, DENIED, SESSION, Approval

CHOICES = (ALLOWED, SESSION, ALWAYS, DENIED)


def waiting(db: apsw.Connection, now: float) -> list[Approval]:
    """Calls that wait, the oldest first."""
    return approvals.waiting(db, now)


def why_asked(db: apsw.Connection, calls: Iterable[Approval]) -> dict[int, str]:
    """By call: the reason for which its tool is held back from hosts; others are not named."""
    reasons: dict[int, str] = {}
    catalogs: dict[str, Catalog] = {}
    for call in calls:
        if call.profile not in catalogs:
            catalogs[call.profile] = load_catalog(db, call.profile)
        row = catalogs[call.profile].find(call.tool)
        if row is not None and row.held:
            reasons[call.id] = sentence(row.held)
    return reasons


def decide(db: apsw.Connection, approval_id: int, choice: str, now: float) -> Approval:
    """Decide one call; ToolcribError where it waits no more. Nothing of it runs then."""
    with transaction(db):
        approval = approvals.find(db, approval_id)
        if approval is None or not approvals.decide(db, approval_id, choice, now):
            raise ToolcribError(
                f"Call {approval_id} waits no more.",
                "It was decided already, its time is over, or its host is gone. Nothing was run.",
            )
        if choice == ALWAYS:
            approvals.allow_always(db, approval.profile, approval.tool, approval.hash, now)
    return approval


def ask_again(db: apsw.Connection, profile: str, tool: str) -> None:
    """Ask about a tool again that was allowed for good; ToolcribError where it was not."""
    with transaction(db):
        if not approvals.forget_always(db, profile, tool):
            raise ToolcribError(f"{tool} was not allowed for good in the profile {profile}.")
