"""One function, to test wheels with."""

from ._native import __version__, source, twice

__all__ = ["__version__", "source", "twice"]
