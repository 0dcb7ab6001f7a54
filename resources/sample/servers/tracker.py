"""An issue tracker."""

from pathlib import Path
from typing import Any

from servers.kit import Kit, RecordFile, maybe, number, text, texts

START = [
    {"title": "The window forgets its size", "labels": ["bug"], "assignee": "ana"},
    {"title": "Dark colours for the chart", "labels": ["wish"], "assignee": ""},
    {"title": "Crash when a file is empty", "labels": ["bug", "urgent"], "assignee": "ben"},
]
FRESH = {"body": "", "state": "open", "comments": [], "milestone": "", "linked": []}


def make(folder: Path) -> Kit:
    """The tools of the issue tracker."""
    kit = Kit("Issues of one project. Search for an existing issue before creating a new one.")
    issues = RecordFile(folder / "issues.json", [{**FRESH, **issue} for issue in START])
    milestones = RecordFile(folder / "milestones.json", [{"title": "1.0", "due": "2027-03-01"}])
    which = number("Number of the issue")

    @kit.tool(
        "Create a new issue in the tracker with a title and a description in Markdown. Labels and "
        "an assignee can be given at once.",
        title=text("One line that says what is wrong or wanted"),
        body=maybe(text("Description: what was done, what happened, what was expected"), ""),
        labels=maybe(texts("Labels to put on the issue")),
        assignee=maybe(text("Login name of the assignee"), ""),
    )
    def create_issue(
        title: str, body: str, assignee: str, labels: list[str] | None = None
    ) -> dict[str, Any]:
        fields = {"title": title, "body": body, "labels": labels or [], "assignee": assignee}
        return issues.add(**{**FRESH, **fields})

    @kit.tool("Get one issue with its description and comments.", reads=True, issue=which)
    def get_issue(issue: int) -> dict[str, Any]:
        return issues.one(issue)

    @kit.tool(
        "List issues, filtered by state, label or assignee. Without a filter all open ones.",
        reads=True,
        state=maybe(text("Which issues", enum=["open", "closed", "all"]), "open"),
        label=maybe(text("Only issues with this label")),
        assignee=maybe(text("Only issues of this person")),
    )
    def list_issues(state: str, label: str = "", assignee: str = "") -> list[dict[str, Any]]:
        return [
            {key: issue[key] for key in ("id", "title", "state", "labels", "assignee")}
            for issue in issues.all()
            if state in ("all", issue["state"])
            and (not label or label in issue["labels"])
            and (not assignee or assignee == issue["assignee"])
        ]

    @kit.tool(
        "Search issues by words in their title and description, open and closed ones.",
        reads=True,
        query=text("Words that must all occur"),
    )
    def search_issues(query: str) -> list[dict[str, Any]]:
        return issues.search(query, "title", "body")

    @kit.tool(
        "Change the title or the description of an issue.",
        issue=which,
        title=maybe(text("New title")),
        body=maybe(text("New description in Markdown")),
    )
    def update_issue(issue: int, **changes: str) -> dict[str, Any]:
        return issues.change(issue, **changes)

    @kit.tool(
        "Close an issue as done, as a duplicate or as not planned.",
        issue=which,
        reason=maybe(text("Why", enum=["done", "duplicate", "not planned"]), "done"),
    )
    def close_issue(issue: int, reason: str) -> dict[str, Any]:
        return issues.change(issue, state="closed", reason=reason)

    @kit.tool("Open a closed issue again.", issue=which)
    def reopen_issue(issue: int) -> dict[str, Any]:
        return issues.change(issue, state="open")

    @kit.tool(
        "Write a comment on an issue. Markdown is allowed, people are mentioned with @login.",
        issue=which,
        body=text("The comment"),
        author=maybe(text("Login of the author"), "me"),
    )
    def add_comment(issue: int, body: str, author: str) -> dict[str, Any]:
        comments = [*issues.one(issue)["comments"], {"author": author, "body": body}]
        return issues.change(issue, comments=comments)

    @kit.tool("List the comments on an issue, the oldest first.", reads=True, issue=which)
    def list_comments(issue: int) -> Any:
        return issues.one(issue)["comments"]

    @kit.tool(
        "Assign an issue to a person; an empty assignee frees it.",
        issue=which,
        assignee=text("Login of the person"),
    )
    def assign_issue(issue: int, assignee: str) -> dict[str, Any]:
        return issues.change(issue, assignee=assignee)

    @kit.tool("Add labels to an issue.", issue=which, labels=texts("Labels to add"))
    def add_labels(issue: int, labels: list[str]) -> dict[str, Any]:
        return issues.change(issue, labels=sorted({*issues.one(issue)["labels"], *labels}))

    @kit.tool("Remove labels from an issue.", issue=which, labels=texts("Labels to remove"))
    def remove_labels(issue: int, labels: list[str]) -> dict[str, Any]:
        kept = [label for label in issues.one(issue)["labels"] if label not in labels]
        return issues.change(issue, labels=kept)

    @kit.tool("List all labels that are in use in the tracker.", reads=True)
    def list_labels() -> list[str]:
        return sorted({label for issue in issues.all() for label in issue["labels"]})

    @kit.tool(
        "Create a milestone that issues can be planned for.",
        title=text("Name, for instance a version"),
        due=maybe(text("Day on which it should be reached, YYYY-MM-DD"), ""),
    )
    def create_milestone(title: str, due: str) -> dict[str, Any]:
        return milestones.add(title=title, due=due)

    @kit.tool("List milestones with their due dates.", reads=True)
    def list_milestones() -> list[dict[str, Any]]:
        return milestones.all()

    @kit.tool(
        "Record that an issue blocks, duplicates or relates to another one.",
        issue=which,
        other=number("Number of the other issue"),
        kind=maybe(text("How", enum=["blocks", "duplicates", "relates to"]), "relates to"),
    )
    def link_issues(issue: int, other: int, kind: str) -> dict[str, Any]:
        link = {"kind": kind, "issue": issues.one(other)["id"]}
        return issues.change(issue, linked=[*issues.one(issue)["linked"], link])

    return kit
