"""Run by `felloe smoke` from the installed wheel."""

import importlib.metadata

import tiny_felloe

assert tiny_felloe.twice(21) == 42
assert tiny_felloe.__version__ == importlib.metadata.version("tiny-felloe")
assert not tiny_felloe.source.startswith("/"), tiny_felloe.source
print("tiny_felloe", tiny_felloe.__version__)
