# pyright: strict
"""Code that a user would write, for the type checker: the stubs have to know all of it."""

import treadle
from treadle import Tensor, nn, optim


class Net(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, hidden), nn.ReLU(), nn.Linear(hidden, 3))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.body(x)
        return result.log_softmax(1)


def train(steps: int) -> float:
    treadle.manual_seed(0)
    net = Net(16)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    x = treadle.randn(32, 8)
    y = treadle.randint(0, 3, (32,))
    total = 0.0
    for _ in range(steps):
        optimizer.zero_grad()
        loss: Tensor = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        total += float(loss.item())
    return total


def shapes(x: Tensor) -> tuple[int, ...]:
    a = (x + 1) * 2.5 - x / 3
    b = a[..., None, :][:, 0] @ x.transpose(0, 1)
    values, indices = b.max(dim=0)
    picked = treadle.where(values > 0, values, 0.0)
    c = treadle.cat([picked, indices.float()], dim=0).reshape(-1)
    with treadle.no_grad():
        c.add_(1)
    gradient = x.grad
    if gradient is not None:
        c = c + gradient.sum()
    return (*c.shape, x.size(0), c.numel())
