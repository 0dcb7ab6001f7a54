"""Typed texts as they are kept: no label's query and no request holds a secret."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import apsw

from app.core.paths import Paths
from app.core.scrubber import Scrubber
from app.indexing.kept_secrets import KeptSecrets
from app.secrets.credentials import MASK, credentials_in
from store.records import LabelRecord


def hidden_labels(
    db: apsw.Connection, paths: Paths, environ: Mapping[str, str], labels: Sequence[LabelRecord]
) -> tuple[LabelRecord, ...]:
    """Labels with the secrets in their queries as dots; as `hidden_texts`."""
    queries = hidden_texts(db, paths, environ, (one.query for one in labels))
    return tuple(replace(one, query=text) for one, text in zip(labels, queries, strict=True))


def hidden_texts(
    db: apsw.Connection, paths: Paths, environ: Mapping[str, str], texts: Iterable[str]
) -> tuple[str, ...]:
    """Texts with kept secrets, and what looks like a credential, as dots.

    Raises ToolcribError where the secrets cannot be read; the keychain takes its time.
    """
    scrubber = Scrubber()
    KeptSecrets(scrubber, paths, environ).learn(db)
    return tuple(hidden_query(scrubber.text(text)) for text in texts)


def hidden_query(query: str) -> str:
    """A query with what looks like a credential as dots."""
    for value in sorted(credentials_in(query), key=len, reverse=True):
        query = query.replace(value, MASK)
    return query
