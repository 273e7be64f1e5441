"""Signal processing: treadle.signal.windows."""

from . import windows as windows
