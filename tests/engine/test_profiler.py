"""autograd.profiler: events, averages, tables."""

import json

import pytest
import treadle as E
from treadle.autograd.profiler import profile, record_function
from treadle.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    _format_time,
)


def test_events_of_ops_and_named_blocks(tmp_path):
    x = E.ones(2, 3)

    @record_function("decorated")
    def half(x):
        return x / 2

    with profile(record_shapes=True) as p:
        assert E.autograd._profiler_enabled()
        with record_function("outer"):
            y = x * 2 + 4
            with record_function("inner"):
                y -= 1
        half(y)
        E.nn.functional.linear(x, E.ones(5, 3))
        assert x.requires_grad is False
    assert not E.autograd._profiler_enabled()
    events = p.function_events
    assert [e.name for e in events if e.name != "aten::ones"] == [
        "outer", "aten::mul", "aten::add", "inner", "aten::sub_", "decorated", "aten::div",
        "aten::linear",
    ]  # fmt: skip
    outer = events[0]
    assert [c.name for c in outer.cpu_children] == ["aten::mul", "aten::add", "inner"]
    assert outer.cpu_parent is None and outer.cpu_children[0].cpu_parent is outer
    assert 0 <= outer.self_cpu_time_total < outer.cpu_time_total
    assert events[-1].input_shapes[:2] == [[2, 3], [5, 3]]
    assert str(p) == p.table() and "decorated" in str(p) and "Input Shapes" in str(p)
    top = p.table(sort_by="cpu_time_total", row_limit=2, header="H", top_level_events_only=True)
    assert top.startswith("H\n") and "inner" not in top
    path = tmp_path / "trace.json"
    p.export_chrome_trace(str(path))
    assert len(json.loads(path.read_text())) == len(events)
    with profile() as again:
        x * 2
        x * E.ones(1)
    averages = {a.key: a for a in again.key_averages()}
    assert averages["aten::mul"].count == 2
    assert again.total_average().count == len(again.function_events)


def test_what_a_profile_refuses():
    with pytest.raises(NotImplementedError, match="profile_memory is not supported"):
        profile(profile_memory=True)
    with profile() as p:
        with pytest.raises(RuntimeError, match="not reentrant"):
            p.__enter__()
        with pytest.raises(RuntimeError, match="didn't finish"):
            p.table()
    with profile(enabled=False) as p:
        assert p is None and not E.autograd._profiler_enabled()
    with pytest.raises(NotImplementedError), E.autograd.profiler.emit_nvtx():
        pass


def test_children_and_averages():
    def event(k, start, end, thread=0):
        return FunctionEvent(k, "f", thread, start, end)

    events = EventList([event(0, 0, 2), event(1, 1, 3), event(2, 1, 2), event(3, 1, 2, 1)])
    events._populate_cpu_children()
    assert [[c.id for c in e.cpu_children] for e in events] == [[], [2], [], []]
    average = FunctionEventAvg()
    for e in (event(0, 10, 15), event(1, 20, 30)):
        average.add(e)
    average.add(average)
    assert (average.count, average.cpu_time_total, average.cpu_time) == (4, 30, 7.5)
    with pytest.raises(AssertionError):
        average.add(FunctionEvent(9, "g", 0, 0, 1))
    assert [_format_time(t) for t in (1, 1500, 2e6)] == ["1.000us", "1.500ms", "2.000s"]


def test_data_parallel_without_devices():
    layer = E.nn.Linear(2, 3)
    x = E.ones(4, 2)
    assert (E.nn.DataParallel(layer)(x) == layer(x)).all()
    with pytest.raises(NotImplementedError, match="only the cpu device"):
        E.nn.DataParallel(layer, device_ids=[0])
