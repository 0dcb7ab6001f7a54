"""Bound on the work of checking a value against a schema: references can make it endless.

Definitions that name each other twice double with every step, so a schema of 2 kB may take years.
A check holds the interpreter, and with it every host behind the backend.
"""

from collections.abc import Callable

from store.typed import Json

MOST = 1_000_000  # visits of a part of the schema to a part of the value
_DEEPEST = 60  # levels of a value; what is deeper is the server's to judge
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LITERAL = frozenset(("const", "default", "enum", "examples", "example"))
_INWARD = frozenset(  # keywords whose schemas are for what is inside the value
    (
        *("additionalItems", "additionalProperties", "contains", "items", "patternProperties"),
        *("prefixItems", "properties", "propertyNames", "unevaluatedItems"),
        "unevaluatedProperties",
    )
)


def judge(schema: Json) -> Callable[[object], bool]:
    """Return the test that checking a value against the schema is bounded by MOST steps."""
    if not _refers(schema):
        return lambda _value: True  # each part meets each part of the value once at most
    steps = _Steps(schema)

    def bounded(value: object) -> bool:
        depth, size = _measure(value)
        return depth <= _DEEPEST and steps.of(depth) * size <= MOST

    return bounded


def local_definition(reference: object, root: Json) -> object:
    """The schema that #/$defs/NAME or #/definitions/NAME means, False for any other reference."""
    parts = reference.split("/") if isinstance(reference, str) else []
    if len(parts) != 3 or parts[0] != "#" or "$id" in root:
        return False
    named = root.get(parts[1])
    return named.get(parts[2], False) if isinstance(named, dict) else False


class _Steps:
    """Parts of a schema that meet a value of some depth, references followed."""

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._known: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()

    def of(self, depth: int) -> int:
        """For values of that depth; beyond MOST where it never ends."""
        try:
            return self._of(self._root, depth)
        except RecursionError:
            return MOST + 1

    def _of(self, schema: object, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1
        key = id(schema), depth
        if key in self._open:  # it comes back to itself at the same value
            return MOST + 1
        if key not in self._known:
            self._open.add(key)
            total = 1
            for keyword, rule in schema.items():
                total = min(MOST + 1, total + self._of_keyword(keyword, rule, depth))
            self._open.discard(key)
            self._known[key] = total
        return self._known[key]

    def _of_keyword(self, keyword: str, rule: object, depth: int) -> int:
        if keyword in _REFERENCES:
            target = local_definition(rule, self._root)
            # what is elsewhere is looked up by its path: it may be anything
            return self._of(target if isinstance(target, dict) else self._anywhere(rule), depth)
        if keyword in _LITERAL or keyword in ("$defs", "definitions"):
            return 0
        inner = depth - 1 if keyword in _INWARD else depth
        if inner < 0:
            return 0
        parts = rule if isinstance(rule, list) else [rule]
        if keyword in ("properties", "patternProperties", "dependentSchemas"):
            parts = list(rule.values()) if isinstance(rule, dict) else []
        return min(MOST + 1, sum(self._of(one, inner) for one in parts if isinstance(one, dict)))

    def _anywhere(self, rule: object) -> object:
        """Target of a path within the schema, else the whole."""
        target: object = self._root
        for part in str(rule).removeprefix("#/").split("/") if str(rule).startswith("#/") else ():
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and name in target:
                target = target[name]
            elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                target = target[int(name)]
            else:
                return self._root
        return target


def _refers(schema: object) -> bool:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if any(name in one for name in _REFERENCES):
                return True
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return False


def _measure(value: object) -> tuple[int, int]:
    """Levels and number of parts of a value."""
    level: list[object] = [value]
    depth = size = 0
    while level:
        size += len(level)
        depth += 1
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
    return depth - 1, size
