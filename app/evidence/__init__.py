"""Evidence of use: calls and requests in the hosts' own records."""
