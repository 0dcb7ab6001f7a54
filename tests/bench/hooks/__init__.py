"""Hooks measured where they run: real gateways, the very command that is written."""
