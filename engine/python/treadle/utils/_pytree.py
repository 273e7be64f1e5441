"""Nested tuples, lists and dicts of leaves: taking them apart and putting them together again.

Named tuples, OrderedDict and defaultdict keep their types. `register_pytree_node` adds a container.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class _Kind(NamedTuple):
    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


class TreeSpec:
    """How a tree is built: a container's type, what it needs besides its children, and their
    specs. Equal for trees of the same structure."""

    def __init__(self, type: Any, context: Any, children: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children
        self.num_leaves = sum(c.num_leaves for c in children) if type is not None else 1

    def is_leaf(self) -> bool:
        return self.type is None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return self._text(2)

    def _text(self, indent: int) -> str:
        """As PyTorch prints it: the children after the first on lines of their own."""
        if self.type is None:
            return "*"
        between = ",\n" + " " * indent
        children = between.join(c._text(indent + 2) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    def __init__(self) -> None:
        super().__init__(None, None, [])


_kinds: dict[Any, _Kind] = {
    tuple: _Kind(lambda t: (list(t), None), lambda v, c: tuple(v)),
    list: _Kind(lambda t: (list(t), None), lambda v, c: list(v)),
    dict: _Kind(lambda t: (list(t.values()), list(t)), lambda v, c: dict(zip(c, v))),
    collections.OrderedDict: _Kind(
        lambda t: (list(t.values()), list(t)), lambda v, c: collections.OrderedDict(zip(c, v))
    ),
    collections.defaultdict: _Kind(
        lambda t: (list(t.values()), (t.default_factory, list(t))),
        lambda v, c: collections.defaultdict(c[0], zip(c[1], v)),
    ),
    collections.deque: _Kind(
        lambda t: (list(t), t.maxlen), lambda v, c: collections.deque(v, maxlen=c)
    ),
}
_named = _Kind(lambda t: (list(t), t.__class__), lambda v, c: c(*v))
# torch.return_types: named results of ops, which take one sequence.
_results = _Kind(lambda t: (list(t), t.__class__), lambda v, c: c(tuple(v)))


def register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **ignored: Any,
) -> None:
    """Makes cls a container: flatten_fn(x) gives (children, context), unflatten_fn takes both."""
    _kinds[cls] = _Kind(flatten_fn, unflatten_fn)


def _kind_of(tree: Any) -> tuple[Any, _Kind] | None:
    cls = tree.__class__
    if cls in _kinds:
        return cls, _kinds[cls]
    if isinstance(tree, tuple):
        if hasattr(tree, "_fields"):
            return cls, _named
        if hasattr(tree, "n_sequence_fields"):
            return cls, _results
    return None


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """(the leaves in order, the structure)."""
    kind = None if is_leaf is not None and is_leaf(tree) else _kind_of(tree)
    if kind is None:
        return [tree], LeafSpec()
    children, context = kind[1].flatten(tree)
    leaves: list[Any] = []
    specs = []
    for child in children:
        more, spec = tree_flatten(child, is_leaf)
        leaves.extend(more)
        specs.append(spec)
    return leaves, TreeSpec(kind[0], context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of that structure with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    if treespec.is_leaf():
        return leaves[0]
    children = []
    start = 0
    for spec in treespec.children_specs:
        children.append(tree_unflatten(leaves[start : start + spec.num_leaves], spec))
        start += spec.num_leaves
    if treespec.type in _kinds:
        kind = _kinds[treespec.type]
    else:
        kind = _named if hasattr(treespec.type, "_fields") else _results
    return kind.unflatten(children, treespec.context)


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The tree with func(leaf, ...) in place of each leaf; `rests` have the same structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(r, is_leaf)[0] for r in rests]
    return tree_unflatten([func(*group) for group in zip(leaves, *others)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """Calls func for each leaf; returns the tree itself."""
    tree_map(func, tree, *rests)
    return tree


def tree_map_only(types: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """tree_map for the leaves of these types; the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, types) else x, tree)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_iter(tree: Any) -> Iterable[Any]:
    return iter(tree_leaves(tree))


def tree_all(pred: Callable[[Any], bool], tree: Any) -> bool:
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: Any) -> bool:
    return any(map(pred, tree_leaves(tree)))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec) -> list[Any] | None:
    """A leaf of `tree` for each leaf of the structure, a leaf standing for a whole subtree; None if
    the structures don't fit."""
    kind = _kind_of(tree)
    if treespec.is_leaf():
        return [tree] if kind is None else None
    if kind is None:
        return [tree] * treespec.num_leaves
    if kind[0] is not treespec.type:
        return None
    children, context = kind[1].flatten(tree)
    if len(children) != len(treespec.children_specs) or context != treespec.context:
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec)
        if flat is None:
            return None
        result.extend(flat)
    return result


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as Python prints a tree of it, each leaf a star."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))
