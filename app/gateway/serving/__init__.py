"""Services of a gateway to its host, in each of its modes."""
