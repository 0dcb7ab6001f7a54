"""This machine's side of a team: joining, synchronising, leaving; knows no Postgres."""
