"""The server prior: in a large catalogue a tool's server counts beside the tool.

MCP-Zero (arXiv 2506.01056) asks servers first and tools second. Here a server is the mean of its
tools' vectors, so nothing is encoded or stored for it, and it counts as much as its tools are
alike. Small catalogues gain nothing by it and do without. numpy is loaded when something is
compared.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

# Weight beside a whole query's 1, from the second number of tools on; none up to the first.
MOST = 0.3
SMALL, LARGE = 1_500, 5_000
if TYPE_CHECKING:
    import numpy as np

    Matrix = np.ndarray[Any, Any]


def prior_weight(servers: Sequence[int]) -> float:
    """Weight of servers in a catalogue whose tools have these servers."""
    return weight_of(len(servers), len(set(servers)))


def weight_of(tools: int, servers: int) -> float:
    """The same by their numbers."""
    if servers < 2:
        return 0.0
    return MOST * min(1.0, max(0.0, (tools - SMALL) / (LARGE - SMALL)))


def beside(
    own: Mapping[int, float],
    server_of: Mapping[int, int],
    servers: Mapping[int, tuple[float, float]],
) -> dict[int, float]:
    """Cosine of each tool with its server's tools beside it.

    `servers` are by id the cosine of the tools' mean, and its length before it was scaled.
    """
    mixed = {}
    for tool, cosine in own.items():
        known = servers.get(server_of.get(tool, -1))
        mixed[tool] = cosine if known is None else known[0] + (1 - known[1]) * cosine
    return mixed


class Siblings:
    """Servers as the means of their tools; `servers` names each row's server by any key."""

    def __init__(self, matrix: "Matrix", servers: Sequence[int]) -> None:
        import numpy as np

        self.weight = prior_weight(servers)
        keys, places = np.unique(np.asarray(servers, dtype=np.int64), return_inverse=True)
        means = np.zeros((len(keys), matrix.shape[1]), dtype=np.float32)
        np.add.at(means, places, matrix)
        counts = np.bincount(places, minlength=len(keys)).astype(np.float32)
        lengths = np.linalg.norm(means, axis=1)
        self._alike = lengths / np.maximum(counts, 1)  # 1: all tools the same
        self._means = means / np.maximum(lengths, np.float32(1e-9))[:, None]
        self._place = {int(key): place for place, key in enumerate(keys)}
        self._places = places

    def cosines(
        self, query: bytes, own: Mapping[int, float], server_of: Mapping[int, int]
    ) -> dict[int, float]:
        """Cosine of each tool with its server's tools beside it."""
        import numpy as np

        near = self._means @ np.frombuffer(query, dtype="<f4")
        pulls = list(zip(near.tolist(), self._alike.tolist(), strict=True))
        return beside(own, server_of, {key: pulls[place] for key, place in self._place.items()})

    def row(self, query: "Matrix", own: "Matrix") -> "Matrix":
        """The same for every row of the matrix at once."""
        near = self._means @ query
        mixed: Matrix = near[self._places] + (1 - self._alike[self._places]) * own
        return mixed
