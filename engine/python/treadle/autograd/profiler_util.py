"""What the profiler has measured: events, their averages, and the table that shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval:
    """From start to end, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        return self.end - self.start


def _format_time(time_us: float) -> str:
    """With the unit that fits: "12.000us", "1.500ms", "2.000s"."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if time_us >= size:
            return f"{time_us / size:.3f}{unit}"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_us: float) -> str:
    """As a percentage."""
    return f"{time_us * 100.0 / total_us if total_us else 0.0:.2f}%"


class _Times:
    """What events and averages derive from count, cpu_time_total and self_cpu_time_total. Nothing
    ran on another device, and memory isn't followed."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """Of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return 0.0

    @property
    def cpu_time_str(self) -> str:
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return _format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call of an op, or one record_function block."""

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        node_id: int = -1,
        input_shapes: Any = None,
        is_async: bool = False,
        sequence_nr: int = -1,
    ) -> None:
        self.id, self.name, self.thread, self.node_id = id, name, thread, node_id
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = input_shapes
        self.is_async = is_async
        self.sequence_nr = sequence_nr
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        return self.name

    def append_cpu_child(self, child: FunctionEvent) -> None:
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_children={[c.id for c in self.cpu_children]}>"
        )


class FunctionEventAvg(_Times):
    """Sums over events of one name."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.node_id = 0
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.input_shapes: Any = None

    @property
    def name(self) -> str | None:
        return self.key

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Takes in an event, or another average of the same name."""
        if self.key is None:
            self.key, self.node_id = other.key, other.node_id
            self.input_shapes = other.input_shapes
        if other.key != self.key:
            raise AssertionError(f"events of {other.key} can't be added to those of {self.key}")
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.count += other.count
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events or averages."""

    def _populate_cpu_children(self) -> None:
        """Gives each event those that ran inside it, on the same thread, and no deeper ones."""

        def place(e: Any) -> tuple[Any, ...]:
            return e.thread, e.node_id, e.time_range.start, -e.time_range.end

        outer: list[FunctionEvent] = []  # around the event at hand, outermost first
        for event in sorted((e for e in self if not e.is_async), key=place):
            while outer and not (
                (outer[-1].thread, outer[-1].node_id) == (event.thread, event.node_id)
                and event.time_range.start < outer[-1].time_range.end
                and event.time_range.end <= outer[-1].time_range.end
            ):
                outer.pop()
            if outer:
                outer[-1].append_cpu_child(event)
                event.set_cpu_parent(outer[-1])
            outer.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        return float(sum(e.self_cpu_time_total for e in self))

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """One FunctionEventAvg for each name, or for each name and shapes of the inputs."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shape else "")
            found.setdefault(key, FunctionEventAvg()).add(event)
        if not group_by_input_shape:
            for average in found.values():
                average.input_shapes = ""
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """Everything in one."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: str) -> None:
        """A file for chrome://tracing and its kin."""
        events = [
            {
                "name": e.name,
                "ph": "X",
                "ts": e.time_range.start,
                "dur": e.cpu_time_total,
                "tid": e.thread,
                "pid": "CPU functions",
                "args": {} if e.input_shapes is None else {"shapes": e.input_shapes},
            }
            for e in self
        ]
        with open(path, "w") as file:
            json.dump(events, file)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A text table. sort_by: an attribute, largest first ("self_cpu_time_total", "count");
        row_limit: -1 for all; top_level_events_only: without what ran inside another event."""
        total = self.self_cpu_time_total
        rows = [
            e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None
        ]
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        if row_limit >= 0:
            rows = rows[:row_limit]
        columns: list[tuple[str, Callable[[Any], str], int]] = [
            ("Name", lambda e: str(e.key), max_name_column_width),
            ("Self CPU %", lambda e: _format_time_share(e.self_cpu_time_total, total), 0),
            ("Self CPU", lambda e: e.self_cpu_time_total_str, 0),
            ("CPU total %", lambda e: _format_time_share(e.cpu_time_total, total), 0),
            ("CPU total", lambda e: e.cpu_time_total_str, 0),
            ("CPU time avg", lambda e: e.cpu_time_str, 0),
            ("# of Calls", lambda e: str(e.count), 0),
        ]
        if any(e.input_shapes for e in self):
            columns.append(
                ("Input Shapes", lambda e: str(e.input_shapes or []), max_shapes_column_width)
            )
        cells = [[title for title, _, _ in columns]]
        for e in rows:
            cells.append([_shortened(text(e), width) for _, text, width in columns])
        foot = f"Self CPU time total: {_format_time(total)}"
        return "\n".join([*([header] if header else []), *_aligned(cells), foot, ""])

    def __str__(self) -> str:
        return self.table()


def _shortened(text: str, width: int) -> str:
    return text if width <= 0 or len(text) <= width else text[: width - 3] + "..."


def _aligned(cells: list[list[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = "  ".join("-" * w for w in widths)
    for k, row in enumerate(cells):
        if k < 2:
            yield rule
        yield "  ".join(text.rjust(w) for text, w in zip(row, widths))
    yield rule
