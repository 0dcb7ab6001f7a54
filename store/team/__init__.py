"""The team's catalogue in Postgres: one module per kind of row; the caller owns the transaction."""
