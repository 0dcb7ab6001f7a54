"""Refusals of the team's server in the form of RFC 6750 and RFC 9728."""

from dataclasses import dataclass

METADATA_PATH = "/.well-known/oauth-protected-resource"
SCOPE = "mcp"  # the one scope of the server; a member's role says the rest


class RefusedError(Exception):
    """A request that is refused before it reaches anything: status, code and one sentence."""

    def __init__(self, status: int, text: str, *, error: str = "", wait: int = 0) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.error = error  # invalid_token | insufficient_scope | "" where no token came
        self.wait = wait  # seconds until another try may help, 0 for unknown


def no_token() -> RefusedError:
    """Refusal of a request without a token."""
    return RefusedError(401, "A token is needed.")


def bad_token() -> RefusedError:
    """Refusal of every token that does not count, whatever its fault is."""
    return RefusedError(401, "The token is not valid.", error="invalid_token")


def no_right() -> RefusedError:
    """Refusal of what this token may not do, whether it exists or not."""
    return RefusedError(403, "This token may not do that.", error="insufficient_scope")


def away() -> RefusedError:
    """Refusal while the database, or an issuer, cannot be reached."""
    return RefusedError(503, "The team server cannot reach its database. Try again soon.", wait=2)


@dataclass(frozen=True, slots=True)
class Resource:
    """The protected resource: its public URL, and the issuers that it trusts."""

    url: str  # without a slash at the end
    issuers: tuple[str, ...] = ()

    @property
    def audience(self) -> str:
        """Audience that a token must name."""
        return f"{self.url}/mcp"

    def metadata(self) -> dict[str, object]:
        """The document of RFC 9728."""
        return {
            "resource": self.audience,
            "authorization_servers": list(self.issuers),
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolcrib team server",
        }

    def challenge(self, refusal: RefusedError) -> str:
        """The WWW-Authenticate header of a refusal."""
        parts = [f'resource_metadata="{self.url}{METADATA_PATH}/mcp"']
        if refusal.error:
            parts += [f'error="{refusal.error}"', f'error_description="{refusal.text}"']
        if refusal.error != "invalid_token":
            parts.append(f'scope="{SCOPE}"')
        return "Bearer " + ", ".join(parts)
