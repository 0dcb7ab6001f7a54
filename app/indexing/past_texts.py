"""Texts that were typed before the secrets in them were known."""

import json
from collections.abc import Iterable

import apsw

from app.core.scrubber import Scrubber
from app.hosts.launch import LaunchSpec
from store import typed_texts
from store.connection import transaction


def hide_in_past(db: apsw.Connection, launches: Iterable[LaunchSpec]) -> int:
    """Take the secrets of launches that are kept from now on out of what is stored; how many.

    A query may have been typed before its server was added. They are looked for as they are, and
    as JSON has them.
    """
    values = {value for launch in launches for value in launch.secret_values()}
    forms = values | {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}
    if not forms:
        return 0
    with transaction(db):
        return typed_texts.rewrite(db, sorted(forms), Scrubber(values).text)
