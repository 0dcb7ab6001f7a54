"""Reading of a query before anything is compared: its language, slips and literals."""
