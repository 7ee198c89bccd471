"""Listeners that write a run down for other programs to show."""
