"""Facts about each host, and the reading of its config files."""
