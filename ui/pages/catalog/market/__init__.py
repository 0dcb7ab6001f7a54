"""Finding servers that could be installed, and adding one."""
