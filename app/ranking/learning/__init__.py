"""What labelled queries teach: calibration, past use, the query set and its runs."""
