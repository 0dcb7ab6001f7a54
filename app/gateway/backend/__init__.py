"""One process per user behind all hosts: rendezvous, adapter, sessions, sharing of servers."""
