"""Edits a host file's bytes and proves the result: the values meant, or a refusal."""

from collections.abc import Sequence

from app.core.errors import ToolcribError
from app.hosts.documents.edits import Edit, apply_edits, same
from app.hosts.documents.encoding import decode
from app.hosts.documents.json_edit import edit_json
from app.hosts.documents.values import Parsed, front_matter, read_values


def edit(data: bytes, kind: str, edits: Sequence[Edit]) -> bytes:
    """The file's bytes with the edits made; ToolcribError when that cannot be done safely."""
    if not edits:
        return data
    before = read_values(data, kind)
    if before.duplicates:
        hint = "Merge the two in the file, then try again; hosts read only the last one."
        raise ToolcribError(f"{before.duplicates[0]} is in this file twice.", hint)
    target = apply_edits(before.value, edits)
    decoded = decode(data)
    after = decoded.encode(_edit_text(decoded.text, kind, list(edits)))
    _prove(after, kind, target, before)
    return after


def _edit_text(text: str, kind: str, edits: list[Edit]) -> str:
    if kind == "toml":
        from app.hosts.documents.toml_edit import edit_toml

        return edit_toml(text, edits)
    if kind in ("yaml", "markdown"):
        from app.hosts.documents.yaml_edit import edit_yaml

        head, inner, rest = front_matter(text) if kind == "markdown" else ("", text, "")
        return head + edit_yaml(inner, edits) + rest
    return edit_json(text, edits)


def _prove(after: bytes, kind: str, target: object, before: Parsed) -> None:
    hint = "Nothing was written. Change the file by hand, or report this file's layout."
    try:
        result = read_values(after, kind)
    except ToolcribError as error:
        raise ToolcribError("The edited file would not be valid.", hint) from error
    if not same(_comparable(result.value, kind), _comparable(target, kind)):
        raise ToolcribError("The edited file would not hold the intended values.", hint)
    if result.duplicates or (result.trailing_commas and not before.trailing_commas):
        raise ToolcribError("The edited file would not be valid for every reader.", hint)


def _comparable(value: object, kind: str) -> object:
    """The value without what a format cannot say: order of keys, in TOML also empty tables."""
    if isinstance(value, dict):
        keys = sorted(value) if kind in ("toml", "yaml") else list(value)
        items = {key: _comparable(value[key], kind) for key in keys}
        return {k: v for k, v in items.items() if kind != "toml" or v != {}}
    return [_comparable(item, kind) for item in value] if isinstance(value, list) else value
