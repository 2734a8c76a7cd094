"""Answers: kept, read, and laid out as a table."""
