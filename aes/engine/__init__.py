"""Engines: what serves the members of a population. Import the one you need from its module."""
