"""A two-layer network on scikit-learn's handwritten digits: 8x8 images, ten classes.

    python digits.py                    trains with Treadle
    python digits.py --engine torch     the same code with PyTorch

The module is imported under one name and used under that name alone, so that this is also how to
port a script: change the import. Needs scikit-learn and NumPy for the data.
"""

import argparse
import importlib
import time


def load(torch):
    """Training images and classes, test images (every fifth) and classes; pixels in 0..1."""
    import numpy as np
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.from_numpy((data.data / 16.0).astype(np.float32))
    classes = torch.from_numpy(data.target.astype(np.int64))
    test = torch.arange(len(classes)) % 5 == 0
    return images[~test], classes[~test], images[test], classes[test]


def build(torch):
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def train(torch, steps=None, epochs=25, batch=64, report=print):
    """Trains and returns (loss of every step, share of the test images classified right)."""
    images, classes, test_images, test_classes = load(torch)
    model = build(torch)
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for epoch in range(epochs):
        order = torch.randperm(len(classes))
        for start in range(0, len(classes), batch):
            chosen = order[start : start + batch]
            optimizer.zero_grad()
            loss = loss_of(model(images[chosen]), classes[chosen])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if steps is not None and len(losses) == steps:
                return losses, float("nan")
        report(f"epoch {epoch + 1:2}: loss {losses[-1]:.4f}")
    with torch.no_grad():
        right = (model(test_images).argmax(1) == test_classes).sum().item()
    return losses, right / len(test_classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--engine", default="treadle", help="module to train with: treadle or torch"
    )
    parser.add_argument("--steps", type=int, help="stop after so many steps and print every loss")
    args = parser.parse_args()
    torch = importlib.import_module(args.engine)
    if args.steps:
        losses, _ = train(torch, steps=args.steps)
        print("\n".join(f"{loss:.8f}" for loss in losses))
        return
    start = time.perf_counter()
    losses, accuracy = train(torch)
    seconds = time.perf_counter() - start
    print(f"{args.engine}: test accuracy {accuracy:.2%} in {seconds:.2f} s, {len(losses)} steps")


if __name__ == "__main__":
    main()
