"""Real hosts, a model endpoint that is none, and what passed between them."""
