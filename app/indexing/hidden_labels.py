"""Labels as they are kept: no query holds a secret."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import apsw

from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.indexing.kept_secrets import KeptSecrets
from app.secrets.credentials import MASK, credentials_in
from store.records import LabelRecord


def hidden_labels(
    db: apsw.Connection, paths: Paths, environ: Mapping[str, str], labels: Iterable[LabelRecord]
) -> tuple[LabelRecord, ...]:
    """Labels with kept secrets, and what looks like a credential, as dots.

    Raises ToolcribError where the secrets cannot be read; the keychain takes its time.
    """
    scrubber = Scrubber()
    KeptSecrets(scrubber, paths, environ).learn(db)
    return tuple(replace(one, query=hidden_query(scrubber.text(one.query))) for one in labels)


def hidden_query(query: str) -> str:
    """A query with what looks like a credential as dots."""
    for value in sorted(credentials_in(query), key=len, reverse=True):
        query = query.replace(value, MASK)
    return query
