"""Who still works in a work folder: shared by tests/cli (pytest) and the script kill_nightly.py."""

from __future__ import annotations

import os
import pathlib


def holders(lock: pathlib.Path) -> list[str]:
    """The processes that have a work folder's lock open: felloe, and what inherited it."""
    found = []
    for fd in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(fd) == str(lock):
                found.append(fd.parts[2])
        except OSError:
            continue
    return found
