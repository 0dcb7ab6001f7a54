"""Calls that wait for a person's yes: in the window, a terminal, or the host's own form.

The store is where they meet: the gateway adds a row, the decision changes it, and the gateway
takes an allowed row once before it sends. Without a yes nothing is sent; a gateway that ends while
it waits sends nothing. Arguments are shown without kept secrets, whose keychain may be slow: each
call waits for it on a thread of its own.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

import apsw

from app.catalog.reasons import ASKABLE
from app.core.errors import ToolcribError
from app.gateway.host_request import HostRequest
from app.gateway.journal import Journal
from app.gateway.outgoing import ACCEPT, DECLINE, Ask
from app.gateway.profile_view import ProfileView
from app.mcp.protocol import text_result
from app.system.threads import start_thread
from store.connection import open_store, transaction
from store.errors import StoreError
from store.typed import Any

_LOOK_SECONDS = 0.2
_MOST_WAITING = 50
_LONGEST_ARGUMENTS = 20_000  # characters kept for the person who decides
_KEYCHAIN_SILENT = "The keychain did not answer in time; it may have to be unlocked."
_TAKEN_BACK = "The host took its call back."
SECONDS = 120
Hold = Callable[[HostRequest, Callable[[], None]], None]  # sends the call once there is a yes


class _Call:
    """One call that waits."""

    __slots__ = ("expires", "id", "route", "send", "tool_hash", "tool_id")

    def __init__(
        self, route: HostRequest, tool_id: str, tool_hash: str, send: Callable[[], None]
    ) -> None:
        self.id = 0  # of its row, 0 while its arguments are compared with secrets
        self.route = route
        self.tool_id = tool_id
        self.tool_hash = tool_hash
        self.send = send
        self.expires = 0.0


class Approvals:
    """Asks about calls that the profile marks; usable from any thread."""

    def __init__(
        self,
        view: ProfileView,
        journal: Journal,
        question: Ask,
        hide: Callable[[apsw.Connection, Any], Any],
    ) -> None:
        """`question` asks by the host's own form; `hide` takes secrets out of arguments."""
        self._view = view
        self._journal = journal
        self._question = question
        self._hide = hide
        self._session = os.urandom(6).hex()
        self._waiting: set[_Call] = set()
        self._allowed: set[tuple[str, str]] = set()  # tool id and hash, for this session
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def marks(self, tool_id: str, raw: str) -> bool:
        """True if the profile wants a yes before calls of this tool; `raw` is its stored text."""
        patterns = self._view.setting("approve", ())
        if not patterns:
            return False
        from app.catalog.conditions import DESTRUCTIVE, is_destructive, matches

        for pattern in patterns:
            if pattern == DESTRUCTIVE:
                if raw and is_destructive(json.loads(raw)):
                    return True
            elif matches(tool_id, str(pattern)):
                return True
        return False

    def may_ask(self, reason: str) -> bool:
        """True if a call of a tool that is held for this reason waits for a yes.

        Only an open window shows the text that a yes is about; without one it is refused at once.
        """
        if reason not in ASKABLE or not self._view.setting("approve_held", default=True):
            return False
        from app.system.presence import is_window_open

        return is_window_open(os.path.dirname(self._view.database))

    def hold(self, tool_id: str, raw: str, arguments: object, held: str = "") -> Hold | None:
        """Way of a call that needs a yes; None for a call that does not.

        `held` is the kind of reason for which the tool is kept from hosts.
        """
        if not held and not self.marks(tool_id, raw):
            return None
        return partial(self.settle, tool_id, raw, arguments, held)

    def settle(
        self,
        tool_id: str,
        raw: str,
        arguments: object,
        held: str,
        route: HostRequest,
        send: Callable[[], None],
    ) -> None:
        """Send the call once there is a yes; refuse it on a no, and when the time is over."""
        from store.hashes import tool_hash

        call = _Call(route, tool_id, tool_hash(json.loads(raw)) if raw else "", send)
        if (tool_id, call.tool_hash) in self._allowed:
            send()
            return
        try:
            allowed = self._is_always_allowed(call)
        except (apsw.Error, StoreError) as error:
            self._refuse(call, "could not ask", f"Toolcrib's store cannot be used: {error}.")
            return
        if allowed:
            send()
            return
        call.expires = time.time() + float(self._view.setting("approve_seconds", SECONDS))
        with self._lock:
            is_full = len(self._waiting) >= _MOST_WAITING
            if not is_full:
                self._waiting.add(call)
        if is_full:
            self._refuse(call, "refused", f"{_MOST_WAITING} other calls wait already.")
        else:
            self._watch()
            start_thread(route.guarded(partial(self._request_yes, call, arguments)), held)

    def _is_always_allowed(self, call: _Call) -> bool:
        from store import approvals

        profile = self._view.profile_name
        with closing(open_store(self._view.database)) as db:
            return approvals.is_always_allowed(db, profile, call.tool_id, call.tool_hash)

    def _request_yes(self, call: _Call, arguments: object, held: str) -> None:
        """Show the call to who decides, unless its time is over when the secrets are known."""
        try:
            with closing(open_store(self._view.database)) as db:
                hidden, host = self._hide(db, [arguments, self._journal.host])
                shown = json.dumps(_masked(hidden), ensure_ascii=False)
                is_shown = self._add(db, call, shown[:_LONGEST_ARGUMENTS], host)
        except (apsw.Error, StoreError) as error:
            self._give_up(call, f"Toolcrib's store cannot be used: {error}.")
        except ToolcribError as error:
            self._give_up(call, error.text)
        else:
            if is_shown and not held:  # the host's form does not show the text a yes is about
                question = f"{call.tool_id} waits for your yes. Call it?"
                answered = call.route.guarded(partial(self._answered, call))
                self._question(call.route, question, answered)

    def _add(self, db: apsw.Connection, call: _Call, shown: str, host: str) -> bool:
        """Add the call to the store; False if it waits no more."""
        from store import approvals
        from store.records import Approval

        with self._lock:
            if call not in self._waiting:
                return False
            record = Approval(
                id=0,
                made=time.time(),
                expires=call.expires,
                profile=self._view.profile_name,
                session=self._session,
                host=host,
                tool=call.tool_id,
                hash=call.tool_hash,
                arguments=shown,
            )
            with transaction(db):
                number = approvals.add(db, record)
            call.id = number  # from here on the row can be found
            return True

    def _watch(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = start_thread(self._run)

    def _run(self) -> None:
        """Look for decisions while calls wait."""
        db: apsw.Connection | None = None
        try:
            while True:
                with self._lock:
                    calls = list(self._waiting)
                    if not calls:
                        self._thread = None
                        return
                try:
                    db = db or open_store(self._view.database)
                    for call in calls:
                        self._look(db, call)
                except (apsw.Error, StoreError):
                    self._give_up_overdue(calls)
                if self._closed.wait(_LOOK_SECONDS):
                    return
        finally:
            if db is not None:
                db.close()

    def _look(self, db: apsw.Connection, call: _Call) -> None:
        from store import approvals, records

        if not call.id:
            self._look_at_unasked(call)
            return
        if call.route.is_withdrawn:
            self._let_go(db, call)
            return
        row = approvals.find(db, call.id)
        state = row.state if row is not None else records.GONE
        if state == records.CALL_WAITING:
            if time.time() < call.expires:
                return
            with transaction(db):
                if not approvals.end(db, call.id, records.EXPIRED):
                    return  # decided in this moment: seen at the next look
            state = records.EXPIRED
        if not self._take(call):
            return
        if state in (records.ALLOWED, records.SESSION, records.ALWAYS):
            with transaction(db):
                taken = approvals.take(db, call.id)
            if taken:
                if state != records.ALLOWED:
                    self._allowed.add((call.tool_id, call.tool_hash))
                self._note(call, "sent", f"allowed: {state}")
                call.route.guarded(lambda _none: call.send())(None)
        elif state == records.DENIED:
            self._refuse(call, "refused", "The user said no.")
        elif state == records.EXPIRED:
            self._refuse(call, "refused", "Nobody answered in time.")

    def _look_at_unasked(self, call: _Call) -> None:
        """Give up a call that was withdrawn, or whose time is over, before it could be shown."""
        is_withdrawn = call.route.is_withdrawn
        is_over = is_withdrawn or time.time() >= call.expires
        with self._lock:
            if call.id or call not in self._waiting or not is_over:
                return
            self._waiting.discard(call)
        if is_withdrawn:
            self._note(call, "withdrawn", _TAKEN_BACK)
        else:
            self._refuse(call, "could not ask", _KEYCHAIN_SILENT)

    def _take(self, call: _Call) -> bool:
        """True for the one that settles a call: it waits no more."""
        with self._lock:
            is_waiting = call in self._waiting
            self._waiting.discard(call)
        return is_waiting

    def _let_go(self, db: apsw.Connection, call: _Call) -> None:
        """Take a call that its host withdrew off the list of those that wait."""
        from store import approvals, records

        with transaction(db):
            approvals.end(db, call.id, records.GONE)
        if self._take(call):
            self._note(call, "withdrawn", _TAKEN_BACK)

    def _give_up_overdue(self, calls: list[_Call]) -> None:
        """Refuse calls whose time is over while the store cannot be read."""
        for call in calls:
            if time.time() >= call.expires:
                self._give_up(call, "Toolcrib's store cannot be read.")

    def _give_up(self, call: _Call, why: str) -> None:
        """Refuse a call that still waits and cannot be asked about."""
        if self._take(call):
            self._refuse(call, "could not ask", why)

    def _answered(self, call: _Call, action: str) -> None:
        """Take a yes or no of the host's own form; a form that was closed decides nothing."""
        if action not in (ACCEPT, DECLINE):
            return
        from store import approvals, records

        with closing(open_store(self._view.database)) as db:
            with transaction(db):
                state = records.ALLOWED if action == ACCEPT else records.DENIED
                approvals.decide(db, call.id, state, time.time())
            self._look(db, call)

    def _refuse(self, call: _Call, decision: str, why: str) -> None:
        self._note(call, decision, why)
        hint = "It was not called. Ask the user, or go on without it."
        text = f"{call.tool_id} needs a person's yes. {why} {hint}"
        call.route.guarded(lambda _none: call.route.refused(text_result(text, is_error=True)))(None)

    def _note(self, call: _Call, decision: str, why: str) -> None:
        detail = {"decision": decision}
        self._journal.add("approval", tool=call.tool_id, problem=why, detail=detail)

    def close(self) -> None:
        """Mark what still waits as gone; nothing of it is sent."""
        self._closed.set()
        with self._lock:
            left, self._waiting = [call.id for call in self._waiting if call.id], set()
        if not left:
            return
        from store import approvals, records

        try:
            with closing(open_store(self._view.database)) as db, transaction(db):
                for number in left:
                    approvals.end(db, number, records.GONE)
        except (apsw.Error, StoreError):
            return  # they expire by themselves


def _masked(value: Any, name: str = "") -> Any:
    """Arguments with everything that looks like a credential shown as dots."""
    from app.secrets.credentials import MASK, credentials_in, is_secret_name

    if isinstance(value, dict):
        return {key: _masked(item, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    if not isinstance(value, str):
        return value
    if name and is_secret_name(name):
        return MASK
    for secret in credentials_in(value):
        value = value.replace(secret, MASK)
    return value
