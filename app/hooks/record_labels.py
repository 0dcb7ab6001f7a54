"""Labels from the hosts' own records: a prompt, and the tools called after it.

Only of hosts whose profile keeps prompts, only after the user's yes to reading records, and only
when the user asks for labels.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import apsw

from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.evidence.formats import FORMATS, OPENCODE
from app.evidence.prompts import PromptCalls, read_prompts
from app.evidence.use import ToolNames
from app.hooks.files import keeps_prompts
from app.hooks.suggestion import MOST_KEPT, silence_of
from app.indexing.hidden_labels import hidden_query
from app.indexing.kept_secrets import KeptSecrets
from store import exports
from store.records import LabelRecord

RECORD = "record:"  # and the host's id
MOST = 1_000  # labels taken at once
MOST_TOOLS = 5  # after one prompt; more is a day's work, and says little of any of them
LONGEST = 8_000  # characters of a prompt: of a longer one its beginning says too little


def keeping_hosts(db: apsw.Connection, profile: str) -> frozenset[str]:
    """Hosts with records whose profile keeps prompts; `profile` is that of hosts without one."""
    hosts = (*(form.host for form in FORMATS), OPENCODE)
    kept: dict[str, bool] = {}

    def keeps(host: str) -> bool:
        own = exports.newest_own(exports.for_host(db, host))
        name = own.profile if own is not None and own.profile else profile
        return kept.setdefault(name, keeps_prompts(db, name))

    return frozenset(host for host in hosts if keeps(host))


def labels_from_records(
    db: apsw.Connection,
    paths: Paths,
    home: Path,
    environ: Mapping[str, str],
    profile: str,
    *,
    agreed: bool,
    cancel: Event | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[LabelRecord, ...]:
    """Labels, the newest record's first; blocks. `agreed`: the records may be read.

    Raises ToolcribError where they may not be, no profile of a host keeps prompts, or the secrets
    that a prompt may hold cannot be read.
    """
    if not agreed:
        raise ToolcribError(
            "The hosts' records are not read.", "Agree first: Activity, or toolcrib usage read."
        )
    hosts = keeping_hosts(db, profile)
    if not hosts:
        raise ToolcribError(
            "Prompts are not kept, so no label is made of them.",
            "Switch “Keep prompts” on in Settings, Profile, Advanced.",
        )
    names, scrubber = ToolNames(db), Scrubber()
    KeptSecrets(scrubber, paths, environ).learn(db)
    labels: dict[tuple[str, tuple[str, ...]], LabelRecord] = {}
    for one in read_prompts(home, environ, hosts, cancel=cancel, progress=progress):
        label = _label(one, names, scrubber)
        if label is not None:
            labels.setdefault((label.query, label.expected), label)
        if len(labels) >= MOST:
            break
    return tuple(labels.values())


def _label(one: PromptCalls, names: ToolNames, scrubber: Scrubber) -> LabelRecord | None:
    if silence_of(one.prompt) or len(one.prompt) > LONGEST:
        return None
    known = {names.find(one.host, call.server, call.tool) for call in one.calls}
    tools = tuple(sorted(tool for tool in known if tool is not None))
    if not 0 < len(tools) <= MOST_TOOLS:
        return None
    query = hidden_query(scrubber.text(one.prompt.strip()))[:MOST_KEPT].strip()
    return LabelRecord(0, query, tools, f"{RECORD}{one.host}", one.at)
