"""Modules, layers, losses and optimizers."""

import copy
import gc
import math
import weakref

import pytest
import treadle as E
from treadle import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.register_buffer("steps", E.zeros(1))
        self.register_buffer("scratch", E.zeros(1), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, x):
        return self.rest(self.first(x))


def test_registration_and_walking():
    net = Net()
    names = [n for n, _ in net.named_parameters()]
    assert names == ["first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]
    assert [n for n, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.absent is None and "absent" not in net.state_dict()
    with pytest.raises(AttributeError, match="nothing"):
        _ = net.nothing
    with pytest.raises(AttributeError, match="before Module.__init__"):

        class Early(nn.Module):
            def __init__(self):
                self.a = nn.Linear(1, 1)

        Early()
    with pytest.raises(TypeError, match="nn.Parameter or None"):
        net.first.weight = E.zeros(4, 3)
    with pytest.raises(KeyError, match="already exists"):
        net.register_buffer("forward", E.zeros(1))
    shared = nn.Sequential(net.first, net.first)
    assert len(list(shared.parameters())) == 2 and len(list(shared.modules())) == 2
    del net.first
    assert not hasattr(net, "first")


def test_parameter_is_a_tensor_with_identity():
    p = nn.Parameter(E.ones(2))
    assert isinstance(p, E.Tensor) and p.requires_grad and p.is_leaf
    assert repr(p).startswith("Parameter containing:\ntensor([1., 1.]")
    assert type(p * 2) is E.Tensor
    m = nn.Module()
    m.p = p
    assert m.p is p and next(m.parameters()) is p
    with pytest.raises(RuntimeError):
        nn.Parameter(E.ones(2, dtype=E.int64))
    assert not nn.Parameter(E.ones(2, dtype=E.int64), requires_grad=False).requires_grad


def test_state_dict_round_trip():
    a, b = Net(), Net()
    state = a.state_dict()
    assert list(state) == [
        "first.weight",
        "first.bias",
        "rest.1.weight",
        "rest.1.bias",
        "steps",
    ] or set(state) == {"first.weight", "first.bias", "rest.1.weight", "rest.1.bias", "steps"}
    assert not state["first.weight"].requires_grad
    assert state["first.weight"].data_ptr() == a.first.weight.data_ptr()
    weight = b.first.weight
    result = b.load_state_dict(state)
    assert repr(result) == "<All keys matched successfully>"
    assert b.first.weight is weight and E.equal(weight, a.first.weight)
    state.pop("steps")
    state["extra"] = E.ones(1)
    state["first.bias"] = E.ones(9)
    with pytest.raises(RuntimeError) as caught:
        b.load_state_dict(state)
    text = str(caught.value)
    assert all(part in text for part in ('"steps"', '"extra"', "size mismatch for first.bias"))
    state.pop("first.bias")
    result = b.load_state_dict(state, strict=False)
    assert sorted(result.missing_keys) == ["first.bias", "steps"] and result.unexpected_keys == [
        "extra"
    ]


def test_load_with_assign():
    a = nn.Linear(2, 2)
    new = E.ones(2, 2)
    a.load_state_dict({"weight": new, "bias": E.zeros(2)}, assign=True)
    assert a.weight.data_ptr() == new.data_ptr() and isinstance(a.weight, nn.Parameter)


def test_modes_and_conversion():
    net = Net()
    assert net.training and net.eval() is net and not net.rest[1].training
    p = net.first.weight
    net.double()
    assert net.first.weight is p and p.dtype == E.float64 and net.steps.dtype == E.float64
    net.to(E.float32)
    assert p.dtype == E.float32
    with pytest.raises(TypeError):
        net.to(E.int64)
    net.requires_grad_(False)
    assert not any(q.requires_grad for q in net.parameters())
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Net" and len(seen) == 5


def test_hooks():
    m = nn.Linear(2, 2)
    log = []
    h1 = m.register_forward_pre_hook(lambda mod, args: log.append("pre") or (args[0] * 0,))
    h2 = m.register_forward_hook(lambda mod, args, out: log.append("post") or out + 1)
    y = m(E.ones(2))
    assert log == ["pre", "post"] and E.allclose(y, m.bias + 1)
    h1.remove()
    h2.remove()
    assert E.allclose(m(E.zeros(2)), m.bias)
    m.register_forward_hook(lambda mod, args, kwargs, out: log.append(kwargs), with_kwargs=True)
    m(input=E.ones(2))
    assert list(log[-1]) == ["input"]


def test_full_backward_hook():
    m = nn.Linear(2, 2, bias=False)
    seen = []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    x = E.ones(2, requires_grad=True)
    m(x).sum().backward()
    assert seen[0][1] == [1, 1]
    assert seen[0][0] == pytest.approx(m.weight.sum(0).tolist())


def test_containers():
    seq = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    assert len(seq) == 3 and isinstance(seq[1], nn.ReLU) and len(seq[:2]) == 2
    seq.append(nn.Tanh())
    seq.insert(0, nn.Identity())
    del seq[1]
    assert [type(m).__name__ for m in seq] == ["Identity", "ReLU", "Linear", "Tanh"]
    assert [n for n, _ in seq.named_children()] == ["0", "1", "2", "3"]
    ml = nn.ModuleList([nn.Linear(1, 1)])
    ml.extend([nn.ReLU()])
    assert len(ml) == 2 and len(list(ml.parameters())) == 2
    md = nn.ModuleDict({"a": nn.Linear(1, 1)})
    md["b"] = nn.ReLU()
    assert "a" in md and list(md) == ["a", "b"]
    pl = nn.ParameterList([E.ones(1)])
    assert isinstance(pl[0], nn.Parameter)


def test_dropout():
    d = nn.Dropout(0.5)
    x = E.ones(1000)
    y = d(x)
    assert set(y.tolist()) == {0.0, 2.0} and 300 < (y == 0).sum().item() < 700
    d.eval()
    assert d(x) is x
    with pytest.raises(ValueError):
        nn.Dropout(1.5)


def test_cross_entropy_with_probabilities():
    x = E.randn(3, 4, requires_grad=True)
    target = E.tensor([1, 0, 3])
    hot = nn.functional.one_hot(target, 4).float()
    a = nn.CrossEntropyLoss()(x, target)
    b = nn.CrossEntropyLoss()(x, hot)
    assert a.item() == pytest.approx(b.item(), rel=1e-6)


def test_modules_are_freed():
    m = Net()
    ref = weakref.ref(m)
    m(E.ones(1, 3)).sum().backward()
    del m
    gc.collect()
    assert ref() is None


def reference_step(p, g, s, group):
    """Adam by the paper, in Python floats."""
    b1, b2 = group["betas"]
    s["t"] = s.get("t", 0) + 1
    s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
    m, v = s["m"] / (1 - b1 ** s["t"]), s["v"] / (1 - b2 ** s["t"])
    return p - group["lr"] * m / (math.sqrt(v) + group["eps"])


def test_adam_follows_the_paper():
    p = E.tensor([1.5], dtype=E.float64, requires_grad=True)
    opt = optim.Adam([p], lr=0.1)
    value, state = 1.5, {}
    for _ in range(10):
        opt.zero_grad()
        (p**4).sum().backward()
        opt.step()
        value = reference_step(value, 4 * value**3, state, opt.param_groups[0])
        assert p.item() == pytest.approx(value, rel=1e-12)


def test_sgd_options():
    def run(**options):
        p = E.tensor([1.0], dtype=E.float64, requires_grad=True)
        opt = optim.SGD([p], lr=0.1, **options)
        for _ in range(3):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
        return p.item()

    def expected(momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
        p, v = 1.0, None
        for _ in range(3):
            g = (-2 if maximize else 2) * p + weight_decay * p
            if momentum:
                v = g if v is None else momentum * v + (1 - dampening) * g
                g = g + momentum * v if nesterov else v
            p -= 0.1 * g
        return p

    for options in (
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.9, "dampening": 0.5},
        {"weight_decay": 0.1},
        {"maximize": True},
        {"momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    ):
        assert run(**options) == pytest.approx(expected(**options), rel=1e-12), options


def test_amsgrad_and_adamw_train():
    for kind in (optim.AdamW, lambda p, lr: optim.Adam(p, lr=lr, amsgrad=True)):
        p = E.tensor([3.0], requires_grad=True)
        opt = kind([p], lr=0.1)
        for _ in range(200):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()
        assert abs(p.item()) < 0.05


def test_groups_and_state():
    a, b = E.ones(1, requires_grad=True), E.ones(1, requires_grad=True)
    opt = optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.1, momentum=0.5)
    assert [g["lr"] for g in opt.param_groups] == [1.0, 0.1]
    with pytest.raises(ValueError, match="more than one parameter group"):
        opt.add_param_group({"params": a})
    (a + b).sum().backward()
    opt.step()
    saved = copy.deepcopy(opt.state_dict())
    assert saved["param_groups"][1]["params"] == [1] and set(saved["state"]) == {0, 1}
    other = optim.SGD([{"params": [a]}, {"params": b}], lr=9.0, momentum=0.5)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 1.0
    assert other.state[a]["momentum_buffer"].tolist() == opt.state[a]["momentum_buffer"].tolist()
    with pytest.raises(ValueError):
        optim.SGD([a], lr=0.1).load_state_dict(saved)


def test_closure_and_hooks():
    p = E.ones(1, requires_grad=True)
    opt = optim.SGD([p], lr=0.5)
    log = []
    opt.register_step_pre_hook(lambda o, a, k: log.append("pre"))
    opt.register_step_post_hook(lambda o, a, k: log.append("post"))

    def closure():
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 1.0 and p.item() == 0.0 and log == ["pre", "post"]


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "silu", "hardtanh", "elu"])
def test_activations_in_place(name):
    f = getattr(nn.functional, name)
    x = E.tensor([-2.0, 0.5, 3.0])
    expected = f(x).tolist()
    assert x.tolist() == [-2.0, 0.5, 3.0]
    assert f(x, inplace=True) is x and x.tolist() == expected


def test_old_reduction_arguments_win():
    loss, a, b = nn.functional.l1_loss, E.tensor([1.0, 2.0]), E.tensor([0.0, 0.0])
    assert loss(a, b).item() == 1.5 and loss(a, b, reduction="sum").item() == 3.0
    assert loss(a, b, size_average=False).item() == 3.0
    assert loss(a, b, reduce=True, reduction="none").item() == 1.5
    assert loss(a, b, size_average=True, reduce=False, reduction="sum").tolist() == [1.0, 2.0]
    assert nn.L1Loss(reduce=False).reduction == "none" and nn.L1Loss().reduction == "mean"


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_implicit_softmax_dim_warns(name):
    f = getattr(nn.functional, name)
    for shape, dim in ((3,), 0), ((2, 3), 1), ((2, 2, 3), 0), ((1, 2, 1, 3), 1):
        x = E.arange(math.prod(shape)).float().reshape(shape)
        with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name}"):
            assert f(x).tolist() == f(x, dim).tolist()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution_batch_norm_and_pooling_modules(n):
    E.manual_seed(0)
    x = E.randn((2, 4) + (6,) * n)
    layer = getattr(nn, f"Conv{n}d")(4, 6, 3, padding="same", groups=2, padding_mode="circular")
    assert layer.weight.shape == (6, 2) + (3,) * n and layer(x).shape == (2, 6) + (6,) * n
    padded = nn.functional.pad(x, (1, 1) * n, mode="circular")
    conv = getattr(nn.functional, f"conv{n}d")
    want = conv(padded, layer.weight, layer.bias, groups=2)
    assert E.allclose(layer(x), want)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        type(layer)(4, 6, 3, groups=3)

    norm = getattr(nn, f"BatchNorm{n}d")(4, momentum=None)
    y = norm(x)
    over = (0, *range(2, n + 2))
    assert E.allclose(y.mean(over), E.zeros(4), atol=1e-6)
    assert E.allclose(norm.running_mean, x.mean(over), atol=1e-6)
    assert int(norm.num_batches_tracked) == 1
    assert E.allclose(norm.eval()(x), y, atol=0.1)
    old = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    assert norm.load_state_dict(old, strict=True) is not None  # saved before there was a counter
    with pytest.raises(ValueError, match="input"):
        norm(E.ones(()))

    pool = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)
    values, at = pool(x)
    assert values.shape == (2, 4) + (3,) * n and at.dtype == E.int64
    assert repr(pool).startswith(f"MaxPool{n}d(kernel_size=2, stride=2, padding=0, dilation=1")


def test_group_norm_and_dropout_modules():
    x = E.randn(2, 6, 5)
    y = nn.GroupNorm(3, 6)(x).reshape(2, 3, -1)
    assert E.allclose(y.mean(-1), E.zeros(2, 3), atol=1e-6)
    with pytest.raises(ValueError, match="must be divisible by num_groups"):
        nn.GroupNorm(4, 6)
    for kind in (nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout):
        assert not E.equal(kind(0.9)(x), x) and E.equal(kind(0.9).eval()(x), x)
        assert repr(kind()) == f"{kind.__name__}(p=0.5, inplace=False)"
    whole = nn.Dropout2d()(E.ones(4, 8, 3, 3))
    assert E.equal(whole, whole[:, :, :1, :1].expand(4, 8, 3, 3))
