"""Time that a running server may take to answer a request."""

import math
from collections.abc import Callable, Collection

from app.mcp import limits
from app.mcp.protocol import LISTEN
from app.mcp.requests import PendingRequest


class Patience:
    """Of one connection: when a request's time is up, and when its server has fallen silent.

    A server is silent that sends nothing and uses no CPU (`progress`, as of `Channel.progress`)
    while it waits for no answer of the host.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        progress: Callable[[], float],
        waits_for_host: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._progress = progress
        self._waits_for_host = waits_for_host  # and so perhaps for a person
        self._alive = clock()
        self._mark = math.nan  # of the progress, once half of the time is over

    def restart(self) -> None:
        """The server has sent something, or has the answer to what it asked."""
        self._alive, self._mark = self._clock(), math.nan

    def begin(self, request: PendingRequest) -> None:
        """A request is sent: its time begins, unless it began while the server was started."""
        if request.deadline == math.inf and not lasts(request):
            request.deadline = self._clock() + (request.seconds or limits.LONGEST_CALL)

    def doubt(self, pending: Collection[PendingRequest]) -> None:
        """Doubt the requests that wait: an answer without a request may have been meant for one."""
        waiting = [request for request in pending if not lasts(request)]
        seconds = limits.STRAY_SECONDS if len(waiting) == 1 else limits.STRAY_AMONG_SECONDS
        for request in waiting:
            limit = self._clock() + seconds
            if request.deadline > limit:
                request.deadline = limit
                request.overdue = "sent an answer that belongs to no request"

    def overdue(self, pending: Collection[PendingRequest]) -> list[PendingRequest]:
        """Requests that are overdue, each with the reason."""
        waiting = [request for request in pending if not lasts(request)]
        if not waiting:
            return []
        now, silent = self._clock(), self._is_silent()
        late: list[PendingRequest] = []
        for request in waiting:
            reason = ""
            if request.deadline <= now:
                reason = f"did not answer within {limits.LONGEST_CALL / 60:g} minutes"
            elif silent and now - request.deadline >= limits.SILENT_CALL - limits.LONGEST_CALL:
                reason = f"has sent nothing for {limits.SILENT_CALL / 60:g} minutes"
            if not reason or (request.seconds and request.deadline > now):
                continue
            if not request.seconds and not request.overdue:
                request.overdue = reason
            late.append(request)
        return late

    def _is_silent(self) -> bool:
        quiet = self._clock() - self._alive
        if quiet < limits.SILENT_CALL / 2 or self._waits_for_host():
            return False
        if math.isnan(self._mark):
            self._mark = self._progress()
        if quiet < limits.SILENT_CALL:
            return False
        worked = self._progress() - self._mark
        if abs(worked) >= limits.SILENT_CALL / 2 * limits.WORKING_SHARE:
            self._alive, self._mark = self._clock() - limits.SILENT_CALL / 2, math.nan
            return False
        return True


def lasts(request: PendingRequest) -> bool:
    """True if a request is answered only at the end of everything."""
    return bool(request.message.get("method") == LISTEN)
