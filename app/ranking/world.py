"""The world: what people ask software for in general, whatever tools there are.

It is resources/queries/world.txt and a part of the shipped requests. A query that is nearer to it
than to the catalogue is meant for other software: app.ranking.floor takes that into account.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import apsw

from app.ranking.requests import pack_key, read_named_pack, tool_text_hash
from app.ranking.text import split_name
from store import queries, tools

if TYPE_CHECKING:
    from pathlib import Path

    from app.ranking.dense import Encoding, Matrix

Blobs = Callable[[str], tuple[str, bytes] | None]  # a stored result by name, with its fingerprint
BLOB = "world"
EVERY = 8  # of the pack's requests one in so many: more say the same
NEAREST = 10  # of the world's requests, whose cosines' mean is the likeness
_FILES = "world-{}.f16"  # beside an exported encoder
_ROUNDING = 0.01  # by which a vector kept as float16 may miss unit length
BATCH = 100  # texts encoded between two looks at what else there is to do


@dataclass(frozen=True, slots=True)
class WorldRequest:
    """A request, and the tool that it was written for: the pack's key and the name, "" for none."""

    text: str
    key: str = ""
    name: str = ""


@cache
def world_requests() -> tuple[WorldRequest, ...]:
    """The shipped world, in the order of its vectors."""
    from importlib.resources import files  # a search in the gateway has no use for it

    file = files("resources").joinpath("queries", "world.txt")
    lines = file.read_text(encoding="utf-8").splitlines()
    packed = [
        (text, key, name) for key, (name, texts) in read_named_pack().items() for text in texts
    ]
    few = (WorldRequest(text, key, split_name(name)) for text, key, name in packed[::EVERY])
    return (*(WorldRequest(line) for line in lines if line), *few)


@cache
def _digest(requests: Sequence[WorldRequest]) -> str:
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need before its encoder

    text = "\n".join(f"{request.key}:{request.text}" for request in requests)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def world_mark(model: str) -> str:
    """Key of the vectors of this model and of the shipped world."""
    return f"{model}:{_digest(world_requests())}"


def own_places(db: apsw.Connection) -> list[int]:
    """The places of requests in the world whose tools are in the catalogue: they do not count.

    So is a tool of the same name: another version of a server says other things of its tools.
    """
    there = tools.tools(db)
    keys = {pack_key(tool_text_hash(tool)) for tool in there}
    names = {split_name(tool.name) for tool in there}
    return [
        place
        for place, request in enumerate(world_requests())
        if request.key in keys or (request.name and request.name in names)
    ]


class World:
    """The world's vectors (numpy, float32): 1.5 KB a request."""

    def __init__(self, mark: str, matrix: "Matrix") -> None:
        self.mark = mark
        self._matrix = matrix

    @classmethod
    def encode(
        cls, encoder: "Encoding", tell: Callable[[int, int], bool] = lambda _done, _all: True
    ) -> "World | None":
        """The shipped world by this encoder; 10 s of CPU.

        `tell` hears after each batch how many are done of how many; where it answers no, that is
        the end, and there is no world.
        """
        import numpy

        texts = [request.text for request in world_requests()]
        rows: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            if not tell(start, len(texts)):
                return None
            rows += (encoder.encode_bytes(text) for text in texts[start : start + BATCH])
        matrix = numpy.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), -1)
        # the precision that is stored, so that the scan and every search compute the same
        rounded = matrix.astype("<f2").astype("<f4")
        return cls(world_mark(encoder.key), rounded)

    @classmethod
    def kept_in(cls, folder: "Path", model: str, dims: int) -> "World | None":
        """The world that was kept beside an exported encoder; None where there is no whole one.

        It depends on encoder and package only: every store on this machine has the same.
        """
        import numpy

        try:
            data = _file(folder).read_bytes()
        except OSError:
            return None
        if len(data) != 2 * dims * len(world_requests()):
            return None
        matrix = numpy.frombuffer(data, dtype="<f2").reshape(-1, dims).astype("<f4")
        lengths = numpy.linalg.norm(matrix, axis=1)
        whole = bool((abs(lengths - 1.0) < _ROUNDING).all())
        return cls(world_mark(model), matrix) if whole else None

    def keep_in(self, folder: "Path") -> None:
        """Keep it there instead of an older one; a folder that cannot be written has none."""
        from app.core.safe_write import write_file  # no search writes

        file = _file(folder)
        with suppress(OSError):
            write_file(file, self._matrix.astype("<f2").tobytes())
            for other in folder.glob(_FILES.format("*")):
                if other != file:
                    other.unlink()

    def save(self, db: apsw.Connection, at: float) -> None:
        """Store it as float16; inside the caller's transaction."""
        data = self._matrix.astype("<f2").tobytes()
        queries.save_blob(db, BLOB, fingerprint=self.mark, data=data, at=at)

    def likeness(self, rows: "Matrix", without: Sequence[int] = ()) -> list[float]:
        """Likeness of each row to the world, without the requests at some places of it."""
        import numpy

        cosines = rows @ self._matrix.T
        cosines[:, list(without)] = -1.0
        nearest = min(NEAREST, cosines.shape[1])
        best = numpy.partition(cosines, -nearest, axis=1)[:, -nearest:]
        means: list[float] = best.mean(axis=1).tolist()
        return means


def _file(folder: "Path") -> "Path":
    return folder / _FILES.format(_digest(world_requests()))


_loaded: WeakValueDictionary[str, World] = WeakValueDictionary()


def stored_world(db: apsw.Connection, mark: str, dims: int) -> World | None:
    """The world of this mark, None where the store does not hold it; in memory once a process."""
    return kept_world(partial(queries.blob, db), mark, dims)


def kept_world(blob: Blobs, mark: str, dims: int) -> World | None:
    """The same from wherever the results of a scan are kept."""
    world = _loaded.get(mark)
    if world is not None:
        return world
    stored = blob(BLOB)
    if stored is None or stored[0] != mark:
        return None
    import numpy

    matrix = numpy.frombuffer(stored[1], dtype="<f2").reshape(-1, dims).astype("<f4")
    world = _loaded[mark] = World(mark, matrix)
    return world
