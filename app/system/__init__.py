"""The machine: processes, commands, secrets."""
