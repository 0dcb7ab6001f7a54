"""What a query is read as before anything is compared: its language, slips and literals."""
