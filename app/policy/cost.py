"""Cost of tool definitions: tokens of a request, times requests seen.

Every figure is a projection. It assumes that each request to a model carries the definitions, that
the requests of the days observed go on, and no discount for cached input.
"""

from dataclasses import dataclass

MONTH = 30.0  # days
LEAST_DAYS = 1.0
ASSUMPTION = (
    "Projected: every request carries all definitions, use goes on as observed, no discount for"
    " cached input."
)


@dataclass(frozen=True, slots=True)
class HostCost:
    """One host's tool definitions over a month."""

    host: str  # id
    tokens: int  # of one request's definitions
    requests: int  # observed
    days: float  # observed
    price: float = 0.0  # of a million input tokens; 0: not set

    @property
    def known(self) -> bool:
        """True if there are requests to project from."""
        return self.requests > 0

    @property
    def monthly_requests(self) -> float:
        """Requests in 30 days."""
        return self.requests / max(self.days, LEAST_DAYS) * MONTH

    @property
    def monthly_tokens(self) -> float:
        """Tokens of definitions in 30 days."""
        return self.tokens * self.monthly_requests

    @property
    def monthly_price(self) -> float:
        """The cost of a month in money, 0 without a price."""
        return self.monthly_tokens / 1_000_000 * self.price

    def saving(self, tokens: int) -> float:
        """Tokens saved in 30 days by definitions that are `tokens` shorter."""
        return min(tokens, self.tokens) * self.monthly_requests
