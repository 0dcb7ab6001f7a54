"""A project's report as text, Markdown, JSON, SARIF 2.1.0 or JUnit XML."""

from collections.abc import Callable, Mapping
from urllib.parse import quote
from xml.etree import ElementTree

from app.core.text import visible
from app.policy.project_check import ERROR, LOCKED, RULES, Finding, ProjectReport
from store.typed import Json

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MARKS = {"error": "✗", "warning": "!", "note": "·"}


def as_json(report: ProjectReport) -> Json:
    """The stable JSON form."""
    return {
        "project": str(report.project),
        "verdict": report.word,
        "source": report.source,
        "tokens": report.verdict.tokens,
        "budget": report.verdict.budget.limit,
        "tools": report.verdict.tools,
        "max_tools": report.verdict.budget.max_tools,
        "all_tools": report.all_tools,
        "all_tokens": report.all_tokens,
        "tokenizer": report.encoding,
        "added_tokens": report.added_tokens,
        "evidence": report.evidence,
        "findings": [
            {
                "rule": finding.rule,
                "level": finding.level,
                "message": finding.message,
                "file": finding.file,
                "tool": finding.tool,
            }
            for finding in report.findings
        ],
    }


def as_text(report: ProjectReport) -> str:
    """Sentences for a terminal, the verdict first."""
    lines = [_headline(report)]
    lines += [f"  {_MARKS[f.level]} {f.message}" for f in report.findings]
    return "\n".join([*lines, *_remarks(report)])


def _headline(report: ProjectReport) -> str:
    outcome = report.verdict
    return (
        f"{report.word}: {outcome.tools} tools with {outcome.tokens:,} tokens of"
        f" {outcome.budget.limit:,}"
    )


def _remarks(report: ProjectReport) -> list[str]:
    """Sources of the figures, and the evidence that the policy names."""
    origin = "the lock; no server was started" if report.source == LOCKED else "the servers"
    lines = [f"Figures are those of {origin}. Counted with {report.encoding}."]
    left_out = report.all_tools - report.verdict.tools
    if left_out:
        lines.append(f"The policy leaves out {left_out} of {report.all_tools} tools.")
    if report.added_tokens:
        lines.append(f"Against the lock: {report.added_tokens:+,} tokens.")
    return [*lines, report.evidence] if report.evidence else lines


def as_markdown(report: ProjectReport) -> str:
    """A comment for a pull request; third-party names are inert in it."""
    lines = [f"### Toolcrib: {_cell(_headline(report))}", ""]
    if report.findings:
        lines += ["| level | rule | finding |", "|---|---|---|"]
        lines += [f"| {f.level} | {f.rule} | {_cell(f.message)} |" for f in report.findings]
        lines.append("")
    return "\n".join([*lines, *map(_cell, _remarks(report))])


def _cell(text: str) -> str:
    """The text with everything that Markdown or HTML would read as markup escaped."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_{}[]|#@~":
        shown = shown.replace(mark, f"\\{mark}")
    return shown.replace("://", ":\u200b//")


def as_sarif(report: ProjectReport) -> Json:
    """SARIF 2.1.0 for code scanning; locations are relative to the project."""
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Toolcrib",
                        "rules": [
                            {"id": rule, "shortDescription": {"text": text}}
                            for rule, text in RULES.items()
                        ],
                    }
                },
                "results": [_sarif_result(finding) for finding in report.findings],
            }
        ],
    }


def _sarif_result(finding: Finding) -> Json:
    return {
        "ruleId": finding.rule,
        "level": finding.level,
        "message": {"text": visible(finding.message)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.file, safe="/.-_")},
                    "region": {"startLine": finding.line},
                }
            }
        ],
    }


def as_junit(report: ProjectReport) -> str:
    """JUnit XML: a test case for the budget and one for each server or tool with a finding."""
    failures = [f for f in report.findings if f.level == ERROR]
    suite = ElementTree.Element(
        "testsuite", name="toolcrib", tests="0", failures="0", errors="0", skipped="0"
    )
    budget = [f for f in failures if f.rule == "budget"]
    _case(suite, "budget", _headline(report), budget)
    others = [f for f in report.findings if f.rule not in ("budget", "budget-warning")]
    for finding in others:
        _case(suite, finding.rule, finding.tool or finding.file, [finding])
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _case(suite: ElementTree.Element, rule: str, name: str, findings: list[Finding]) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"toolcrib.{rule}", name=visible(name)
    )
    for finding in findings:
        text = visible(finding.message)
        if finding.level == ERROR:
            ElementTree.SubElement(case, "failure", message=text, type=rule).text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text


TEXTS: Mapping[str, Callable[[ProjectReport], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "junit": as_junit,
}
OBJECTS: Mapping[str, Callable[[ProjectReport], Json]] = {"json": as_json, "sarif": as_sarif}
FORMATS = (*TEXTS, *OBJECTS)
