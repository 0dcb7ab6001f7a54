"""Evidence of use: calls and requests that the hosts' own records tell."""
