"""The team server: a shared catalogue, its ranking, its gateway over HTTP."""
