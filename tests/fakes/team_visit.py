"""A caller who asks a team's replica for what is his, and for what is another organisation's."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from app.team_server.sealing import Sealer
from app.team_server.serving import Replica
from tests.fakes.team_tenants import MARK, SECRET, Agent, Tenant
from tests.fakes.web_client import Answer, WebClient

TWIN = 5_000  # added to a number: an organisation that is not there


class LeakError(AssertionError):
    """An answer holds, or tells of, what is another organisation's."""


@dataclass
class Home:
    """A replica with its organisations."""

    replica: Replica
    port: int
    tenants: list[Tenant]
    sealer: Sealer
    sent: dict[int, set[int]] = field(default_factory=dict)  # foreign marks, by organisation


@dataclass
class Visit:
    """A caller who asks for what is his, and for what is another's."""

    home: Home
    mine: Tenant
    other: Tenant
    agent: Agent
    rng: random.Random

    def client(self, path: str = "/mcp") -> WebClient:
        return WebClient(self.home.port, self.agent.value, path)

    def checked(self, answer: Answer) -> Answer:
        """Look for marks of others that the caller's organisation did not send itself."""
        whole = f"{answer.headers} {answer.body.decode()}"
        known = {self.mine.number} | self.home.sent.get(self.mine.number, set())
        if not {int(number) for number in SECRET.findall(whole)} <= {self.mine.number}:
            raise LeakError(whole)
        if not {int(number) for number in MARK.findall(whole)} <= known:
            raise LeakError(whole)
        return answer

    def aimed(self, ask: Callable[[str], Answer]) -> dict[str, Answer]:
        """Ask by another organisation's mark and by one that is not there."""
        twin = f"org{self.other.number + TWIN}x"
        both = {self.other.number, self.other.number + TWIN}
        self.home.sent.setdefault(self.mine.number, set()).update(both)
        return {mark: self.checked(ask(mark)) for mark in (self.other.mark, twin)}

    def alike(self, ask: Callable[[str], Answer]) -> Answer:
        """The answer to both, which differs in nothing."""
        answers = self.aimed(ask)
        texts = {one.body.decode().replace(mark, "@") for mark, one in answers.items()}
        if len(texts) > 1 or len({one.status for one in answers.values()}) > 1:
            raise LeakError(str(texts))
        return next(iter(answers.values()))

    def json(self, method: str, path: str, body: object = None, *, status: int = 200) -> dict:
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self.checked(self.client(path).send(method, sent))
        assert answer.status == status, (method, path, answer.body)
        return answer.last
