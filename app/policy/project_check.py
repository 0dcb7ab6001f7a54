"""`toolcrib check --project DIR`: a repository's policy and lock against its tools.

Needs no store. Starts nothing by itself: without a reading the lock's own figures are judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.catalog.conditions import DESTRUCTIVE
from app.core.errors import ToolcribError
from app.policy import lock as locks
from app.policy.budget import BLOCK, PASS, WARN, Verdict, verdict
from app.policy.lock import ADDED, CHANGED, REMOVED, Lock, LockChange, ReadServer
from app.policy.policy_file import FILE_NAME, Policy, names_tool, read_policy
from app.tokens.counters import Counter

ERROR, WARNING, NOTE = "error", "warning", "note"
LOCKED, READ = "lock", "reading"  # where the tools come from
RULES = {
    "budget": "The tools exceed the budget of the policy.",
    "budget-warning": "The tools are close to the budget of the policy.",
    "tool-added": "A tool or server is not in the lock.",
    "tool-changed": "A tool's text or a server's command differs from the lock.",
    "tool-removed": "A tool or server of the lock is gone.",
    "not-read": "A server could not be read.",
    "nothing-read": "There is nothing to check.",
    "unused-pattern": "A pattern of the policy names no tool.",
}
_RULE_OF = {ADDED: "tool-added", CHANGED: "tool-changed", REMOVED: "tool-removed"}
_LEVELS = {"tool-removed": WARNING, "budget-warning": WARNING, "unused-pattern": NOTE}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at: rule, sentence, and the file it is about (relative to the project)."""

    rule: str
    message: str
    file: str
    line: int = 1
    tool: str = ""

    @property
    def level(self) -> str:
        """error, warning or note."""
        return _LEVELS.get(self.rule, ERROR)


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """The outcome of a check."""

    project: Path
    verdict: Verdict
    source: str  # lock | reading
    findings: tuple[Finding, ...]
    all_tools: int
    all_tokens: int
    encoding: str
    added_tokens: int = 0  # against the lock
    evidence: str = ""

    @property
    def word(self) -> str:
        """PASS, WARN or BLOCK: the budget's verdict, or BLOCK for any error."""
        levels = {finding.level for finding in self.findings}
        if ERROR in levels or self.verdict.word == BLOCK:
            return BLOCK
        return WARN if WARNING in levels or self.verdict.word == WARN else PASS


def check_project(
    project: Path,
    *,
    read: Sequence[ReadServer] | None,
    counter: Counter,
) -> ProjectReport:
    """Judge a repository; `read` is None where no server was started.

    ToolcribError for a policy or lock that cannot be used, and where there is nothing to judge.
    """
    policy_path, lock_path = project / FILE_NAME, project / locks.FILE_NAME
    policy = read_policy(policy_path) if policy_path.exists() else Policy()
    old = locks.read_lock(lock_path) if lock_path.exists() else None
    now = locks.make_lock(read, counter) if read is not None else old
    if now is None:
        raise ToolcribError(
            f"{project} has no {locks.FILE_NAME}, and no server was started: nothing was checked.",
            f"Start its servers with --start, or make a lock: toolcrib lock --project {project}",
        )
    findings = [*_not_read(read or (), project)]
    changes = _changes(old, now, read or ())
    findings += [_finding(change) for change in changes]
    shown = {key: tool for key, tool in now.tools().items() if policy.allows(key)}
    if not now.tools():
        findings.append(Finding("nothing-read", "No tool is known: nothing was checked.", "."))
    findings += [
        Finding("unused-pattern", f"{pattern} names no tool.", FILE_NAME, tool=pattern)
        for pattern in _unused(policy, now)
    ]
    tokens = sum(tool.tokens for tool in shown.values())
    outcome = verdict(tokens, len(shown), policy.own_budget)
    rule = "budget" if outcome.word == BLOCK else "budget-warning"
    place = FILE_NAME if policy_path.exists() else locks.FILE_NAME
    findings += [Finding(rule, reason, place) for reason in outcome.reasons]
    return ProjectReport(
        project,
        outcome,
        READ if read is not None else LOCKED,
        tuple(findings),
        all_tools=len(now.tools()),
        all_tokens=sum(server.tokens for server in now.servers),
        encoding=now.encoding,
        added_tokens=sum(change.tokens for change in changes),
        evidence=policy.evidence.text if policy.evidence else "",
    )


def _not_read(read: Sequence[ReadServer], project: Path) -> list[Finding]:
    return [
        Finding("not-read", f"{one.name}: {one.problem}", _relative(one.file, project))
        for one in read
        if one.problem
    ]


def _changes(old: Lock | None, now: Lock, read: Sequence[ReadServer]) -> tuple[LockChange, ...]:
    """Differences from the lock; a server that could not be read is not called removed."""
    if old is None or old is now:
        return ()
    failed = {one.name for one in read if one.problem}
    changes = locks.compare(old, now).changes
    return tuple(change for change in changes if change.server not in failed)


def _finding(change: LockChange) -> Finding:
    tool = f"{change.server}/{change.tool}" if change.tool else change.server
    return Finding(_RULE_OF[change.kind], change.text, locks.FILE_NAME, tool=tool)


def _unused(policy: Policy, now: Lock) -> list[str]:
    patterns = (*(policy.only or ()), *policy.off, *policy.always_include, *policy.confirm)
    known = list(now.tools())
    return [
        pattern
        for pattern in dict.fromkeys(patterns)
        if pattern != DESTRUCTIVE and not any(names_tool(pattern, key) for key in known)
    ]


def _relative(file: str, project: Path) -> str:
    path = Path(file)
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else file or "."
