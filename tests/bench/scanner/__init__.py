"""The text scanner's data: how it is split, trained and measured."""
