"""Preview of writing a host's config: the diff, the tokens, and the facts to know before."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.catalog.catalog import Catalog
from app.core.context import AppContext, Db
from app.core.text import plural
from app.export.apply import list_backups
from app.export.backups import Backup, read
from app.export.http.of_team import is_of_team
from app.export.masking import DiffFile, masked_change, masked_diff
from app.export.plan import Plan, with_readers
from app.host_status.overview import prepare, written_verdict
from app.hosts.documents.values import format_of
from app.hosts.places import Places
from app.policy.budget import Verdict
from app.secrets.secret_store import SecretStore
from app.system.endpoint import Endpoint
from ui.widgets.diff_rows import DiffRow, diff_rows

_MANY = 10  # times as many tokens, from which a share in per cent says little


@dataclass(frozen=True, slots=True)
class Preview:
    """One host's plan with all that is shown beside it; secrets are masked in `files`."""

    plan: Plan
    files: tuple[DiffFile, ...]
    backups: tuple[Backup, ...]
    secrets_in: str  # keychain | file, "" when no secret moves
    verdict: Verdict
    catalog: Catalog
    of_team: bool  # its URL would be the team gateway's
    link: str = ""  # for the user to open, where its files cannot be written from here

    @property
    def can_write(self) -> bool:
        """True if there are changes to write, and nothing forbids them."""
        return bool(self.plan.files) and not self.blocked

    @property
    def blocked(self) -> str:
        """Reason that it must not be written, "" when it may be."""
        if self.plan.refusal:
            return f"Not written: {self.plan.refusal}"
        if self.plan.files and self.verdict.refuses:
            return f"Not written, as the profile refuses it: {self.verdict.why_blocked}"
        return ""

    @property
    def headline(self) -> str:
        """Tokens before and after."""
        before, after = self.plan.tokens_before, self.plan.tokens_after
        lacking = f"{plural(len(self.plan.unread), 'server')} not read" if self.plan.unread else ""
        unread = f", and {lacking}" if lacking else ""
        if not before and not after:
            return lacking
        if self.plan.empty and before == after:
            return f"{before:,} tokens ≈{unread}"
        if not before:
            return f"{before:,} → {after:,} tokens ≈{unread}"
        later = " at first, the rest on demand" if self.plan.later else ""
        if after > _MANY * before:
            times = round(after / before)
            return f"{before:,} → {after:,} tokens ≈ ({times:,} times){later}{unread}"
        share = round(100 * (after - before) / before)
        sign = "+" if share > 0 else "−" if share < 0 else "±"
        return f"{before:,} → {after:,} tokens ≈ ({sign}{abs(share)} %){later}{unread}"


def load_preview(
    db: Db,
    ctx: AppContext,
    places: Places,
    *,
    catalog: Catalog,
    host_id: str,
    mode: str,
    endpoint: Endpoint | None = None,
    also: Sequence[str] | None = None,
) -> Preview:
    """The preview of exporting the catalogue's profile to a host in a mode."""
    made = prepare(db, places, catalog, host_id=host_id, mode=mode, endpoint=endpoint, also=also)
    plan = with_readers(made, places)
    closed = any(
        os.path.lexists(one.path) and not os.access(one.path, os.W_OK) for one in plan.files
    )
    return Preview(
        plan=plan,
        files=masked_diff(plan),
        backups=list_backups(db, host_id),
        secrets_in=SecretStore.open(ctx.paths).where if plan.secrets_to_store else "",
        verdict=written_verdict(plan, catalog),
        catalog=catalog,
        link=plan.link if plan.refusal or closed else "",
        of_team=is_of_team(db, catalog.profile.name),
    )


def backup_diff(backup: Backup) -> tuple[DiffRow, ...]:
    """The file as it is now against the copy, both masked."""
    now = backup.file.read_bytes() if backup.file.is_file() else None
    kept = read(str(backup.path))
    change = masked_change(backup.file, now, kept, format_of(backup.file))
    return diff_rows(change.pairs, hidden=change.hidden)


def notes(preview: Preview) -> Iterator[str]:
    """Sentences to read before writing."""
    plan = preview.plan
    yield from plan.warnings
    if plan.secrets_to_store:
        where = "the system's keychain" if preview.secrets_in == "keychain" else _FILE
        yield f"Toolcrib's secret store is {where}."
    if plan.also_read_by:
        yield f"Also read by {', '.join(plan.also_read_by)}."


_FILE = "a file that only you can read: this system has no keychain"
