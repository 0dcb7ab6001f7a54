"""The machine: processes, commands, memory."""
