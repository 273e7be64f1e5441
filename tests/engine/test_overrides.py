"""__torch_function__: subclasses, objects that stand for tensors, and modes."""

import threading

import pytest
import treadle as E
from treadle import overrides


class Plain(E.Tensor):
    pass


class Logged(E.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(overrides.resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    """No tensor, but it says what functions of tensors make of it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is E.exp:
            return NotImplemented
        return func.__name__, [t.__name__ for t in types], len(args)


def plain():
    return E.arange(4.0).as_subclass(Plain)


@pytest.mark.parametrize(
    "f",
    [
        lambda s: s + 1, lambda s: 1 - s, lambda s: E.ones(4) + s, lambda s: s[0],
        lambda s: E.stack([E.ones(4), s]), lambda s: s > 1, lambda s: s.sum(),
        lambda s: -s, lambda s: abs(s),
        lambda s: s @ s, lambda s: s.mT if s.ndim > 1 else s.data, lambda s: s.max(0).values,
        lambda s: s.split(2)[1], lambda s: s.detach(), lambda s: s.add_(1),
        lambda s: E.nn.functional.relu(s), lambda s: s.view(2, 2).T,
    ],
)  # fmt: skip
def test_results_of_a_subclass_are_of_it(f):
    assert type(f(plain())) is Plain


def test_a_parameter_makes_tensors():
    p = E.nn.Parameter(E.ones(2))
    assert type(p + 1) is E.Tensor and type(p * p) is E.Tensor


def test_gradients_pass_a_subclass():
    x = E.ones(2, requires_grad=True)
    y = (x.as_subclass(Plain) * 3).sum()
    assert type(y) is Plain
    y.backward()
    assert x.grad.tolist() == [3, 3]


def test_what_is_asked():
    x = E.ones(2).as_subclass(Logged)
    for f, name in (
        (lambda: x + 1, "Tensor.add"), (lambda: 1 + x, "Tensor.add"), (lambda: E.add(x, 1), "add"),
        (lambda: 1 - x, "Tensor.__rsub__"), (lambda: x[0], "Tensor.__getitem__"),
        (lambda: x.T, "Tensor.T.__get__"), (lambda: E.stack([E.ones(2), x]), "stack"),
        (lambda: 1 > x, "Tensor.lt"), (lambda: x.add_(1), "Tensor.add_"),
    ):  # fmt: skip
        Logged.calls.clear()
        assert type(f()) is Logged and Logged.calls == ["treadle." + name]


def test_the_subclass_is_asked_first():
    class Deeper(Plain):
        pass

    deeper = E.arange(4.0).as_subclass(Deeper)
    assert type(plain() + deeper) is Deeper and type(deeper + plain()) is Deeper
    with pytest.raises(TypeError, match="no implementation found"):
        E.add(plain(), E.ones(4).as_subclass(Logged))


def test_objects_that_are_no_tensors():
    duck, t = Duck(), E.ones(2)
    assert E.add(t, duck) == ("add", ["Duck"], 2) == (t + duck)
    assert E.stack([t, duck])[0] == "stack" and E.sum(duck)[0] == "sum"
    assert overrides.is_tensor_like(duck) and not overrides.is_tensor_like(3)
    with pytest.raises(TypeError, match="no implementation found for 'exp'"):
        E.exp(duck)
    with pytest.raises(TypeError):
        E.exp(object())


def test_off():
    with E._C.DisableTorchFunctionSubclass():
        assert type(plain() + 1) is E.Tensor
        assert not overrides.has_torch_function((plain(),))
    assert overrides.has_torch_function((plain(),)) and type(plain() + 1) is Plain


def test_functions_of_users():
    @overrides.wrap_torch_function(lambda x, y=None: (x, y))
    def twice(x, y=None):
        return 2 * x

    assert twice(E.ones(1)).item() == 2
    assert twice(Duck()) == ("twice", ["Duck"], 1)


class Counting(overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes():
    with Counting() as outer, Counting() as inner:
        E.add(E.ones(1), 1)
        seen = []
        other = threading.Thread(target=lambda: seen.append(E.ones(1) + 1))
        other.start()
        other.join()
    E.ones(1)
    assert inner.names == ["ones", "add"] == outer.names
    with pytest.raises(ZeroDivisionError), Counting():
        raise ZeroDivisionError
    assert not overrides.has_torch_function(())
    with Counting() as mode, overrides.DisableTorchFunction():
        E.ones(1)
    assert mode.names == []
