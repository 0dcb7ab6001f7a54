"""Paths of the team's server as templates, with room for at most one name."""

from collections.abc import Iterable

NAME = "{name}"


def fitting(path: str, templates: Iterable[str]) -> tuple[str, str] | None:
    """The template that a path fits, and the name in it as it was sent; None for no template."""
    for template in templates:
        head, room, tail = template.partition(NAME)
        if not room:
            if path == template:
                return template, ""
        elif path.startswith(head) and path.endswith(tail):
            name = path[len(head) : len(path) - len(tail)]
            if name and "/" not in name:
                return template, name
    return None
