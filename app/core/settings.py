"""Settings: one global TOML file, and what each profile decides for itself."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

from app.core.errors import ToolcribError
from store.typed import Json, JsonMapping

if TYPE_CHECKING:  # the gateway's first search would pay for it
    from pathlib import Path

_NEW_TOOLS = "held"  # the default of ProfileSettings.new_tools
_LARGEST = 10_000  # bytes of the settings file, which has a line for each setting at most


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of all profiles; the file keeps only differences from these defaults."""

    encoding: str = "o200k_base"  # the tokenizer of every count shown
    model: str = "all-MiniLM-L6-v2"
    # what a tool's texts weigh in its vector beside its summary's 1; used at the next reading
    name_view: float = 0.2
    description_view: float = 0.2
    parameters_view: float = 0.1
    server_view: float = 0.1
    appearance: str = "system"  # system | light | dark
    zoom: int = 100  # text size in per cent, 80 to 200
    dense: bool = False  # low rows in tables
    advanced: bool = False  # show in the window what few users need, too
    scan_at_once: int = 2
    scan_seconds: int = 60  # without any CPU progress of the server
    scan_limit_seconds: int = 180  # whatever it does
    scratch_home: bool = False  # start servers with a throwaway HOME while reading
    backups_kept: int = 20
    events_kept: int = 100_000
    host_records: bool = False  # read the hosts' own records: which tools were called, and when
    # who writes requests for tools that have none: a host's command line, or else an endpoint
    requests_command: str = ""
    requests_url: str = ""
    requests_model: str = ""
    requests_key_env: str = ""  # the variable with the endpoint's key
    requests_new: bool = False  # also for servers that are read later, by itself
    price: float = 0.0  # of a million input tokens, in the user's currency; 0: not set
    telemetry: bool = False  # send events of the journal to an OpenTelemetry receiver
    telemetry_endpoint: str = "http://127.0.0.1:4318"  # OTLP over HTTP
    telemetry_texts: bool = False  # search texts and error texts, too; never arguments
    http: bool = False  # serve clients that only speak HTTP, on this machine
    http_port: int = 41380
    at_login: bool = False  # the backend starts with the login and stays

    @classmethod
    def load(cls, path: "Path") -> Self:
        """The settings of that file; defaults where it is missing or silent."""
        import tomllib  # the gateway's start has no use for it

        try:
            if not path.is_file():
                if os.path.lexists(path):
                    raise ValueError("it is not a file")
                return cls()
            if path.stat().st_size > _LARGEST:
                raise ValueError("it is too large")
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ToolcribError(
                f"The settings file {path} cannot be read: {error}.", "Correct it or delete it."
            ) from error
        return cls(**_checked(cls, values, path))

    @property
    def views(self) -> tuple[float, float, float, float]:
        """The four weights in the order of app.ranking.views."""
        return self.name_view, self.description_view, self.parameters_view, self.server_view

    def save(self, path: "Path") -> None:
        """Write what differs from the defaults, readable by the owner only."""
        import tomlkit

        from app.core.safe_write import write_file

        changed = {k: v for k, v in asdict(self).items() if v != getattr(Settings(), k)}
        try:
            write_file(path, tomlkit.dumps(changed).encode(), mode=0o600)
        except OSError as error:
            raise ToolcribError(
                f"The settings file {path} was not written: {error.strerror}.",
                "Check the free space, and that you may write there.",
            ) from error


def _checked(cls: type, values: JsonMapping, path: "Path") -> Json:
    known = {f.name: type(f.default) for f in fields(cls)}
    for name, value in values.items():
        if name not in known:
            raise ToolcribError(
                f"The settings file {path} has an unknown setting: {name}.",
                f"Known are: {', '.join(sorted(known))}.",
            )
        if type(value) is not known[name]:
            raise ToolcribError(
                f"The setting {name} in {path} must be a {known[name].__name__}.", "Correct it."
            )
    return dict(values)


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """Limits of the tool definitions (Tool Budget pattern)."""

    window: int = 200_000  # the model's context window, tokens
    tokens: int = 20_000
    warn_percent: int = 80
    block_percent: int = 100
    max_tools: int = 0  # 0: the host's own limit
    on_block: str = "report"  # refuse | ask | report
    strategy: str = "static"  # static | dynamic | split


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """Settings of the ranking of tools; see app.ranking."""

    cut: str = "relative"  # relative: top - delta; theta: ISO >= theta (the paper's gate)
    theta: float = 0.28
    delta: float = 0.25
    # ISO below which no tool fits at all; 0: what the last scan set, less than 0: none
    floor: float = 0.0
    k: int = 10
    token_budget: int = 0  # tokens of the tools that are in; 0: no limit
    learned: bool = True  # use what this machine's own log taught
    # what a word counts by where a tool holds it: bm25's column weights, from 0 to 10
    name_weight: float = 2.0
    description_weight: float = 1.0
    parameters_weight: float = 1.0
    server_weight: float = 1.0
    requests_weight: float = 1.0

    @property
    def word_weights(self) -> tuple[float, ...]:
        """The five weights in the keyword index's order."""
        return (
            self.name_weight,
            self.description_weight,
            self.parameters_weight,
            self.server_weight,
            self.requests_weight,
        )


MOST_WEIGHT = 10.0  # of RoutingSettings.word_weights


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settings of the gateway in this profile."""

    search_tokens: int = 500
    pool: str = "servers"  # what the instructions list: all | names | servers | none
    start_ahead: bool = False
    promote: bool = False  # put loaded tools into tools/list, with list_changed
    loaded_tools: int = 40
    loaded_tokens: int = 20_000
    idle_seconds: int = 1800
    loop_calls: int = 3  # the same call this often within the window is a loop
    loop_window_calls: int = 10
    loop_window_seconds: int = 120
    loop_exempt: tuple[str, ...] = ()
    result_tokens: int = 25_000
    slim: str = "lossless"  # none | lossless | strong
    call_seconds: int = 0  # a limit on one call; 0: an hour, ten minutes without sign of life
    server_idle_minutes: int = 0  # without a request, before a server is ended; 0: never
    secrets_out: str = "warn"  # warn | ask | refuse: calls that carry a secret out
    passages_out: str = "warn"  # the same for text that another server returned
    search_hints: bool = False  # pruned: words for the host's own search in each tool's _meta
    keep_prompts: bool = False  # the beginnings of prompts that a hook looked at
    approve: tuple[str, ...] = ()  # tools whose calls wait for a yes: patterns, "destructive"
    approve_held: bool = True  # calls of held and changed tools wait too, while a window is open
    approve_seconds: int = 120  # that such a call waits
    marketplace: bool = False  # a search that finds nothing names servers that could be installed
    combinations: bool = False  # warn of tools that together could send private data away


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """Settings of one profile; unknown keys of a newer version survive in `other`."""

    new_tools: str = _NEW_TOOLS  # held | on: tools that appear after the first reading
    servers: tuple[str, ...] | None = None  # only these servers; None: all
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    preconditions: Json = field(default_factory=dict)  # tool pattern -> list of conditions
    scopes: Json = field(default_factory=dict)  # tool pattern -> list of scopes
    other: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: JsonMapping) -> Self:
        """The settings of a stored profile; unknown keys are kept, unusable values are defaults.

        app.catalog.setting_checks.unusable says which.
        """
        parts = dict(values)
        servers = parts.pop("servers", None)
        return cls(
            new_tools=parts.pop("new_tools", _NEW_TOOLS),
            servers=tuple(servers) if fits(servers, ()) else None,
            budget=_part(BudgetSettings, parts.pop("budget", {})),
            routing=_part(RoutingSettings, parts.pop("routing", {})),
            gateway=_part(GatewaySettings, parts.pop("gateway", {})),
            preconditions=parts.pop("preconditions", {}),
            scopes=parts.pop("scopes", {}),
            other=parts,
        )

    def to_json(self) -> Json:
        """Return the stored form: differences from the defaults, and the keys of newer versions."""
        plain: Json = asdict(self)
        other: Json = plain.pop("other")
        default = asdict(ProfileSettings())
        for name in ("budget", "routing", "gateway"):
            plain[name] = {k: v for k, v in plain[name].items() if v != default[name][k]}
        return {k: v for k, v in plain.items() if v not in (default[k], {})} | other

    def with_routing(self, **changes: Any) -> Self:
        """A copy with some routing settings changed."""
        return replace(self, routing=replace(self.routing, **changes))


PARTS: Mapping[str, type] = {
    "budget": BudgetSettings,
    "routing": RoutingSettings,
    "gateway": GatewaySettings,
}


def fits(value: object, default: object) -> bool:
    """True if a value is of the kind that a setting with this default takes."""
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, int):
        return type(value) is int and value >= 0
    if isinstance(default, float):
        return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    return isinstance(value, type(default))


def _part(cls: type, stored: object) -> Any:
    if not isinstance(stored, dict):
        return cls()
    known = {f.name: getattr(cls(), f.name) for f in fields(cls)}
    return cls(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in stored.items()
            if name in known and fits(value, known[name])
        }
    )


def with_settings(settings: ProfileSettings, parts: Mapping[str, object]) -> ProfileSettings:
    """Other settings: a part by its name, as budget, or one of a part's, as gateway.pool."""
    for name, value in parts.items():
        first, _, inside = name.partition(".")
        new = replace(getattr(settings, first), **{inside: value}) if inside else value
        settings = replace(settings, **{first: new})  # type: ignore[arg-type]
    return settings


def changed_parts(old: ProfileSettings, new: ProfileSettings) -> Json:
    """Differences in the form of with_settings: budget.tokens and its like with the new values."""
    changes: Json = {}
    for one in fields(old):
        was, now = getattr(old, one.name), getattr(new, one.name)
        if is_dataclass(was):
            inside = {f.name: getattr(now, f.name) for f in fields(was)}
            changes |= {f"{one.name}.{k}": v for k, v in inside.items() if v != getattr(was, k)}
        elif was != now:
            changes[one.name] = now
    return changes
