"""State of each host: how it gets its tools, drift, sizes, reports."""
