"""A host's request for a list of a running server, answered without what is held."""

from app.gateway.host_request import HostRequest
from app.gateway.server_lists import ServerLists
from app.mcp.session import Upstream
from store.serving import ServerRow
from store.typed import Json


class ListRequest(HostRequest):
    """A list of prompts, resources or templates from the server itself."""

    __slots__ = ("_lists", "_row")

    def __init__(
        self, upstream: Upstream, line: bytes, message: Json, row: ServerRow, lists: ServerLists
    ) -> None:
        super().__init__(upstream, line, message)
        self._row = row
        self._lists = lists

    def finish(self, _line: bytes, answer: Json) -> Json | None:
        """The list without what is held."""
        return self._lists.answer(self._row, self.message["method"], answer)
