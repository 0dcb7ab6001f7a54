"""Alembic's side of store.team.migrate: all steps in one transaction, under one lock."""

import sqlalchemy
from alembic import context

from store.team.migrate import LOCK, prepare

connection: sqlalchemy.Connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table_schema="toolcrib")
with context.begin_transaction():
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
    prepare(connection)
    context.run_migrations()
