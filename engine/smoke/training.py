"""Smoke test: a small network learns XOR of signs with backward() and Adam."""

import sys

import treadle
from treadle import nn, optim

treadle.manual_seed(0)
points = treadle.rand(256, 2) * 2 - 1
classes = ((points[:, 0] > 0) ^ (points[:, 1] > 0)).long()
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
loss_of = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.02)

first = last = 0.0
for _ in range(200):
    optimizer.zero_grad()
    loss = loss_of(model(points), classes)
    loss.backward()
    optimizer.step()
    last = loss.item()
    first = first or last

right = (model(points).argmax(1) == classes).sum().item() / len(classes)
if not (last < 0.15 and right > 0.95):
    sys.exit(
        f"training failed: loss {first:.4f} -> {last:.4f}, accuracy {right:.1%}; "
        "expected a loss below 0.15 and an accuracy above 95%"
    )

# The gradient of a product against its formula, through a graph of two levels.
x = treadle.tensor([1.0, 2.0, 3.0], requires_grad=True)
(g,) = treadle.autograd.grad((x * x * x).sum(), x, create_graph=True)
g.sum().backward()
if x.grad.tolist() != [6.0, 12.0, 18.0]:
    sys.exit(f"second derivative of x^3 is {x.grad.tolist()}, expected [6, 12, 18]")
print(
    f"checked training: loss {first:.4f} -> {last:.4f} in 200 steps, accuracy {right:.1%}; "
    "and double backward"
)
