"""Which tools fit a query, and why."""
