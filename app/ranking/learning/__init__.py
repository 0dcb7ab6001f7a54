"""Learning from labelled queries: calibration, past use, the query set and its runs."""
