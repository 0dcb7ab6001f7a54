"""Open subscriptions/listen requests of a stateless host: which notifications each wants."""

from app.gateway.serving.host import Host
from app.mcp import jsonrpc
from app.mcp.protocol import SUBSCRIPTION_KEY, meta_of, params_of
from store.typed import Any, Json, list_or_empty, object_or_empty

_KINDS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
_UPDATED = "notifications/resources/updated"


class Subscriptions:
    """The streams by the id of the request that opened each."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: dict[tuple[type, Any], Json] = {}

    def open(self, host_id: object, wanted: object) -> None:
        """Acknowledge a stream; what it wants is what it gets."""
        kinds = object_or_empty(wanted)
        self._open[type(host_id), host_id] = kinds
        honoured = {k: v for k, v in kinds.items() if v}
        params = {"notifications": honoured, "_meta": {SUBSCRIPTION_KEY: host_id}}
        self._host.send(jsonrpc.notification("notifications/subscriptions/acknowledged", params))

    def close(self, host_id: Any) -> bool:
        """End a stream; whether there was one."""
        return self._open.pop((type(host_id), host_id), None) is not None

    def uris(self) -> set[str]:
        """Every resource that a stream wants to hear of."""
        return {str(uri) for kinds in self._open.values() for uri in _uris(kinds)}

    def send(self, message: Json) -> None:
        """Pass a notification to the streams that want it."""
        method = str(message.get("method"))
        params = params_of(message)
        for (_, host_id), kinds in list(self._open.items()):
            wanted = (
                params.get("uri") in _uris(kinds)
                if method == _UPDATED
                else kinds.get(_KINDS.get(method, ""))
            )
            if wanted:
                meta = {**meta_of(message), SUBSCRIPTION_KEY: host_id}
                self._host.send({**message, "params": {**params, "_meta": meta}})

    @staticmethod
    def handles(method: object) -> bool:
        """True if a stateless host gets this notification on a stream only."""
        return method in _KINDS or method == _UPDATED


def _uris(kinds: Json) -> list[Any]:
    return list_or_empty(kinds.get("resourceSubscriptions"))
