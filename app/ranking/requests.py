"""Requests shipped for well-known tools, looked up by the hash of a tool's own text."""

from collections.abc import Container, Mapping

import apsw

from store import requests
from store.hashes import text_hash
from store.records import ToolRecord

MOST = 5  # of one source for a tool
LONGEST = 120  # characters of a request
_KEY = 16  # digits of a text hash that a pack's line begins with
REGISTRY = "registry"  # the folder of requests by an index of servers, a file a letter


def tool_text_hash(tool: ToolRecord) -> str:
    """The hash of a tool's name and description; another description says another thing."""
    return text_hash(f"{tool.name}\0{' '.join(tool.description.split())}")


def read_pack(wanted: Container[str] | None = None) -> Mapping[str, tuple[str, ...]]:
    """The shipped requests by (shortened) text hash, of the wanted hashes or of all."""
    return {key: texts for key, (_name, texts) in read_named_pack(wanted).items()}


def read_named_pack(
    wanted: Container[str] | None = None,
) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """The name of the tool that each shipped text is of, and its requests, by text hash.

    Each line of a file is: the hash's first 16 digits, the tool's name, its requests, by tabs.
    Of a text in several files the last one counts, on every file system: those of whole servers
    after those of a registry, each by name.
    """
    from importlib.resources import files  # a search in the gateway has no use for it

    pack: dict[str, tuple[str, tuple[str, ...]]] = {}
    servers = files("resources").joinpath("requests")
    for folder in (servers.joinpath(REGISTRY), servers):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):  # servers share tools
            if file.name.endswith(".tsv"):
                for line in file.read_text(encoding="utf-8").splitlines():
                    if wanted is None or line[:_KEY] in wanted:
                        key, name, *texts = line.split("\t")
                        pack[key] = (name, tuple(texts[:MOST]))
    return pack


def texts_mark(db: apsw.Connection, model: str) -> str:
    """The model and a digest of every embedded text and live request: 5 ms for 1,000 tools."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need before its encoder

    digest = hashlib.sha256("\n".join(requests.embedded_texts(db, model)).encode())
    return f"{model}:{digest.hexdigest()[:16]}"


def pack_key(hash_: str) -> str:
    """Key of a pack's lines."""
    return hash_[:_KEY]
