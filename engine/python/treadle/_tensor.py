"""Methods of Tensor that are written in Python: what isn't on a hot path.

`install` puts every public function of this module onto the class. To add a method: a function here
whose first parameter is `self`, and its name in `METHODS`.
"""

from __future__ import annotations

from . import _C, _methods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

Tensor = _C.Tensor


# --- gradients ------------------------------------------------------------------------------------


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradient of this tensor to the .grad of the leaves it was computed from.

    gradient: what to multiply with; may be left out for a one-element tensor. retain_graph: keep
    the tape for another backward. create_graph: record the backward pass too. inputs: only these
    leaves.
    """
    if create_graph:
        from .autograd import _warn_create_graph

        _warn_create_graph(True)
    _C._backward(self, gradient, retain_graph, create_graph, inputs)


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> _TensorHook:
    """hook(grad) when this tensor's gradient is known; a tensor it returns replaces it. None where
    the backward pass comes by without a gradient."""
    if not callable(hook):
        raise TypeError(f"hook must be callable, not {hook.__class__.__name__}")
    call = _HookCall(hook)
    return _TensorHook(self, _C._add_hook(self, call), call)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> _TensorHook:
    """hook(tensor) after backward() has added to this leaf's .grad."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return _TensorHook(self, _C._add_accumulated_hook(self, hook))


def detach_(self: Tensor) -> Tensor:
    """Takes the tensor off the tape, in place; RuntimeError for views."""
    _C._detach_in_place(self)
    return self


class _HookCall:
    """A hook as the tape keeps it. Emptied, it does nothing: the tape may outlive the tensor by
    which the hook could be found."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, grad: Any) -> Any:
        return None if self.hook is None else self.hook(grad)


class _TensorHook:
    """Takes a tensor's hook out again."""

    def __init__(self, tensor: Tensor, id: int, call: _HookCall | None = None) -> None:
        import weakref

        self._tensor = weakref.ref(tensor)
        self._call = None if call is None else weakref.ref(call)
        self.id = id

    def remove(self) -> None:
        call = None if self._call is None else self._call()
        if call is not None:
            call.hook = None
        tensor = self._tensor()
        if tensor is not None:
            _C._remove_hook(tensor, self.id)

    def __enter__(self) -> _TensorHook:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class AccumulateGrad:
    """The end of the tape at a leaf: where grad_fn.next_functions leads."""

    next_functions: tuple[tuple[Any, int], ...] = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    @classmethod
    def of(cls, variable: Tensor) -> AccumulateGrad:
        """The same object as long as anybody keeps it."""
        made = _accumulators().get(id(variable))
        if made is None:
            made = _accumulators()[id(variable)] = cls(variable)
        return made

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"  # programs that draw graphs look for it

    @property
    def metadata(self) -> dict[Any, Any]:
        metadata: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return metadata

    def register_hook(self, fn: Callable[..., Any]) -> _NodeHook:
        """fn((), grads) after .grad was written."""
        return _NodeHook(self.variable, _C._add_node_hook(self.variable, True, fn))

    def register_prehook(self, fn: Callable[..., Any]) -> _NodeHook:
        """fn(grads) before .grad is written; a tuple it returns replaces the gradient."""
        return _NodeHook(self.variable, _C._add_node_hook(self.variable, False, fn))

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"


def _accumulators(made: list[Any] = []) -> Any:  # noqa: B006
    """AccumulateGrad by its tensor's id; the object keeps the tensor, so the id stays its."""
    if not made:
        import weakref

        made.append(weakref.WeakValueDictionary())
    return made[0]


# --- nodes ----------------------------------------------------------------------------------------


class _NodeHook:
    """Takes a node's hook out again."""

    def __init__(self, node: Any, id: int) -> None:
        self._node = node
        self.id = id

    def remove(self) -> None:
        _C._remove_node_hook(self._node, self.id)

    def __enter__(self) -> _NodeHook:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _node_register_hook(self: Any, fn: Callable[..., Any]) -> _NodeHook:
    """fn(grad_inputs, grad_outputs) after the node has run; a tuple it returns replaces
    grad_inputs."""
    return _NodeHook(self, _C._add_node_hook(self, True, fn))


def _node_register_prehook(self: Any, fn: Callable[..., Any]) -> _NodeHook:
    """fn(grad_outputs) before the node runs; a tuple it returns replaces them."""
    return _NodeHook(self, _C._add_node_hook(self, False, fn))


def _node_metadata(self: Any) -> dict[Any, Any]:
    """A dict for whatever users want to keep with the node."""
    metadata: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
    return metadata


def _node_getattr(self: Any, name: str) -> Any:
    """_saved_NAME and _raw_saved_NAME: what the node saved for backward under PyTorch's name."""
    for prefix, raw in (("_saved_", False), ("_raw_saved_", True)):
        if name.startswith(prefix) and _C._has_saved_tensor(self, name[len(prefix) :]):
            if not raw:
                return _C._saved_tensor(self, name[len(prefix) :])
            from .autograd.graph import SavedTensor

            return SavedTensor._of(self, name[len(prefix) :])
    raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")


# --- conversion -----------------------------------------------------------------------------------


def prefix() -> str:
    """What the package calls itself in texts: the first part of a dtype's name."""
    return str(_C.float32).split(".")[0]


def type_word(dtype: Any) -> str:
    """ "Float" of float32, as old type names and messages have it."""
    return _TYPE_NAMES[str(dtype).rpartition(".")[2]]


def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without dtype the type's name ("treadle.FloatTensor"), else a converted tensor.

    dtype: a dtype, a name, or a type such as FloatTensor. ValueError for a name that is none.
    """
    if dtype is None:
        return f"{prefix()}.{type_word(self.dtype)}Tensor"
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        found = [d for d, n in _TYPE_NAMES.items() if n + "Tensor" == name]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        if ".cuda." in dtype:
            raise NotImplementedError(f"type({dtype!r}): this build has only the cpu device")
        dtype = _C._dtype(found[0])
    elif hasattr(dtype, "dtype") and not isinstance(dtype, Tensor):  # FloatTensor
        dtype = dtype.dtype
    if not isinstance(dtype, _C.dtype):
        if hasattr(dtype, "__name__"):
            raise ValueError(f"invalid type: '{dtype.__name__}'")
        raise TypeError("dtype must be a type, str, or dtype object")
    return self.to(dtype)


_TYPE_NAMES = {
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def cuda(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Raises: this build has no CUDA."""
    raise NotImplementedError("cuda(): this build of treadle has only the cpu device")


# --- NumPy and DLPack -----------------------------------------------------------------------------


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the same memory. force: also of a tensor that requires grad (outside of
    no_grad), or that is a lazy conjugate or negative, which are RuntimeErrors otherwise.

    Needs NumPy, which the package doesn't depend on.
    """
    if self.requires_grad:
        if not force and _C.is_grad_enabled():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        self = self.detach()
    for lazy, bit, resolve in (
        (self.is_conj(), "conjugate", "resolve_conj"),
        (self.is_neg(), "negative", "resolve_neg"),
    ):
        if lazy and not force:
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {bit} bit set. "
                f"Use tensor.{resolve}().numpy() instead."
            )
    self = self.resolve_conj().resolve_neg()
    try:
        import numpy
    except ImportError as e:
        raise RuntimeError("Numpy is not available: pip install numpy") from e
    return numpy.asarray(_Memory(self))


class _Memory:
    """Keeps the tensor's memory alive for NumPy, which holds this object as the array's base."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()  # not the tensor itself: its .data may be replaced
        self.__array_interface__ = tensor._array_interface()


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Any:
    if (
        array.dtype == bool
    ):  # NumPy's comparisons give bool arrays, which are bytes here as in PyTorch
        array = array.astype("uint8")
    return _C.as_tensor(array)


class ExportError(BufferError, RuntimeError):
    """A tensor that can't be exported as it is: BufferError for the array API standard, and the
    RuntimeError that PyTorch raised before.
    """


def __dlpack__(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the same memory (copy=True: over a copy), of version 1 if asked for.

    BufferError if the tensor requires grad, or is read-only and the consumer can't know it.
    """
    if self.requires_grad:
        raise ExportError("Can't export tensors that require gradient, use tensor.detach()")
    for lazy, bit in ((self.is_conj(), "conjugate"), (self.is_neg(), "negative")):
        if lazy and not copy:
            raise ExportError(f"Can't export tensors with the {bit} bit set")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return _C._to_dlpack(self, max_version, dl_device, copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0)


# --- copies and pickles ---------------------------------------------------------------------------


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Any:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage"
        )
    from ._modes import DisableTorchFunctionSubclass
    from ._pickle import deepcopy

    with DisableTorchFunctionSubclass():
        return deepcopy(self, memo)


def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    from ._modes import DisableTorchFunctionSubclass
    from ._pickle import reduce

    with DisableTorchFunctionSubclass():
        return reduce(self)


def _reduce_generator(self: Any) -> Any:
    from ._pickle import reduce_generator

    return reduce_generator(self)


# --- text, and the rest of Python's protocols -----------------------------------------------------


# The text of a tensor that func's transforms follow, None of another; set when func is imported.
_transformed_text: Any = None


def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if _transformed_text is not None and tensor_contents is None:
        text: str | None = _transformed_text(self)
        if text is not None:
            return text
    return plain_repr(self, tensor_contents)


def plain_repr(self: Tensor, tensor_contents: str | None = None) -> str:
    """The text of a tensor, whatever transforms know of it."""
    from ._modes import DisableTorchFunctionSubclass
    from ._print import tensor_text

    with DisableTorchFunctionSubclass():
        return tensor_text(self, tensor_contents)


def _result_repr(self: Any) -> str:
    """The text of a result with named parts, a part a line."""
    parts = zip(self.__match_args__, self)
    lines = ",\n".join(f"{name}={value!r}" for name, value in parts)
    return f"{prefix()}.return_types.{self.__class__.__name__}(\n{lines})"


def __format__(self: Tensor, format_spec: str) -> str:
    if self.dim() == 0 and self.__class__ is Tensor:
        return self.item().__format__(format_spec)
    return object.__format__(self, format_spec)


def __contains__(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, bool)):
        return bool((self == element).any().item())
    raise RuntimeError(
        "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
        f"{element.__class__}."
    )


def __reversed__(self: Tensor) -> Tensor:
    return self.flip(0) if self.dim() else self


def __rdiv__(self: Tensor, other: Any) -> Tensor:
    return self.reciprocal() * other


def __div__(self: Tensor, other: Any) -> Tensor:
    return self.true_divide(other)


def __idiv__(self: Tensor, other: Any) -> Tensor:
    return self.true_divide_(other)


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element x by callable(x), one by one. Slow; TypeError if grad is recorded."""
    return _each(self, callable, self)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element x by callable(x, y) with y from tensor, which broadcasts to self."""
    return _each(self, callable, self, tensor.expand_as(self))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replaces each element a by callable(a, b, c) with b and c from x and y."""
    return _each(self, callable, self, x.expand_as(self), y.expand_as(self))


def _each(self: Tensor, callable: Callable[..., Any], *operands: Tensor) -> Tensor:
    for t in operands:
        if t.requires_grad:
            raise TypeError(
                "can't call a Python function on elements of a Tensor that requires grad"
            )
        if t.dtype != self.dtype:
            raise TypeError(f"expected a Tensor of {self.dtype}, but got one of {t.dtype}")
    values = [t.reshape(-1).tolist() for t in operands]
    made = [callable(*row) for row in zip(*values)]
    return self.copy_(_C.tensor(made, dtype=self.dtype).reshape(self.shape))


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return self.shape == other.shape


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Tensor(...) with the dtype of this tensor: from sizes, or from a sequence of numbers."""
    return _C._legacy_typed(self.dtype, *args, **kwargs)


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """tensor(data) with the dtype of this tensor as default."""
    return _C.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


# --- subclasses -----------------------------------------------------------------------------------


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The tensor as an instance of a subclass, over the same memory and with its history."""
    return _C._as_subclass(self, cls)


def __torch_function__(
    cls: Any, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
) -> Any:
    """Calls func and makes the tensors of its result instances of cls (see treadle.overrides)."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    from .overrides import convert, get_default_nowrap_functions

    _C._disable_overrides(1)
    try:
        made = func(*args, **(kwargs or {}))
    finally:
        _C._disable_overrides(-1)
    return made if func in get_default_nowrap_functions() else convert(made, cls)


def __init_subclass__(cls: Any, **kwargs: Any) -> None:
    if cls.__torch_function__ is not _C._disabled_torch_function_impl:
        _C._overrides_exist()


# --- memory ---------------------------------------------------------------------------------------


def untyped_storage(self: Tensor) -> Any:
    """The memory that the tensor lies in, as bytes."""
    from .storage import untyped_of

    return untyped_of(self)


def storage(self: Tensor) -> Any:
    """The memory that the tensor lies in, as elements of its dtype."""
    from .storage import typed_of

    return typed_of(self)


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Lays the tensor over the memory of another tensor or storage; without one, over none.

    RuntimeError where the sizes reach beyond the end of the memory, or the dtypes differ.
    """
    if source is None:
        self.data = _C.empty(0, dtype=self.dtype)
        return self
    if isinstance(source, Tensor):
        if source.dtype != self.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {type_word(source.dtype)} to a tensor of type "
                f"{type_word(self.dtype)}"
            )
        if size is None:
            self.data = source
            return self
        source = untyped_storage(source)
    from .storage import over

    self.data = over(source, self.dtype, storage_offset, size, stride)
    return self


# --- the array API standard -----------------------------------------------------------------------


def __array_namespace__(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """treadle.array_api, the standard to the letter. ValueError for a version it doesn't have."""
    from . import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"version {api_version!r} of the array API standard isn't supported")
    return array_api


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, "cpu" or a device object; itself if it is there already."""
    if stream is not None:
        raise ValueError("stream must be None: this tensor is on the CPU")
    return self.to(_C.device(device))


def is_nonzero(self: Tensor) -> bool:
    """Whether the number in a tensor of one element isn't 0. RuntimeError for any other."""
    return bool(self)


def __complex__(self: Tensor) -> complex:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


def __imatmul__(self: Tensor, other: Tensor) -> Tensor:
    if not isinstance(other, Tensor):
        return NotImplemented
    return self.copy_(self @ other)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """self (in another dtype if one is given): every tensor here is dense."""
    return self if dtype is None else self.to(dtype)


def dense_dim(self: Tensor) -> int:
    """The number of dimensions: all of them are dense."""
    return self.dim()


def sparse_dim(self: Tensor) -> int:
    """0: no dimension is sparse."""
    return 0


def _is_view(self: Tensor) -> bool:
    return self._base is not None


def _volatile(self: Tensor) -> bool:
    import warnings

    warnings.warn(
        "volatile was removed (Variable.volatile is always False). Use `with no_grad():` instead.",
        UserWarning,
        2,
    )
    return False


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """treadle.lu() of this tensor."""
    from .functional import lu

    return lu(self, pivot, get_infos)


METHODS = (
    to_dense, dense_dim, sparse_dim, _is_view,
    backward, detach_, register_hook, register_post_accumulate_grad_hook, type, cuda, new,
    new_tensor, numpy,
    __array_namespace__, to_device, __complex__, __imatmul__, is_nonzero, untyped_storage, storage,
    set_, as_subclass, lu,
    __array__, __array_wrap__, __dlpack__, __dlpack_device__, __deepcopy__, __reduce_ex__, __repr__,
    __format__, __contains__, __reversed__, __rdiv__, __div__, __idiv__, apply_, map_, map2_,
    is_same_size,
)  # fmt: skip


def _private_name(name: str) -> Any:
    """Names of PyTorch's _C that live in modules of Python here; and those of its dispatcher, which
    programs import and seldom use: they raise when they are used, not when they are imported."""
    if name == "_functorch":
        from .func import _interpreter

        return _interpreter
    if name == "DispatchKey":
        from ._ops import DispatchKey

        return DispatchKey
    if name not in ("DispatchKeySet", "_ExcludeDispatchKeyGuard"):
        raise AttributeError(f"module 'treadle._C' has no attribute '{name}'")

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: this engine has no dispatcher keys")

    return missing


def _set_backward_hooks(self: Any, hooks: Any) -> None:
    """Keeps a table of hooks, as unpickling does in PyTorch; hooks that are to run are made by
    register_hook()."""
    if hooks and self.requires_grad:
        raise NotImplementedError("_backward_hooks: register hooks with register_hook()")
    self.__dict__["_hooks_table"] = hooks


def _refuse(text: str) -> Callable[[Any], None]:
    def delete(self: Any) -> None:
        raise RuntimeError(text)

    return delete


def _device_enter(self: _C.device) -> _C.device:
    if self.type != "cpu":
        raise NotImplementedError(f"{self!r}: this build has only the cpu device")
    return self


def _device_exit(self: _C.device, *error: Any) -> None:
    """Every tensor is made on the cpu, in the block and after it."""


def install() -> None:
    _C.device.__enter__, _C.device.__exit__ = _device_enter, _device_exit
    for method in (*METHODS, *_methods.METHODS):
        setattr(Tensor, method.__name__, method)
    Tensor.volatile = property(_volatile)
    Tensor.__torch_function__ = classmethod(__torch_function__)
    for made in _C._return_types.values():
        made.__repr__ = _result_repr
    Tensor.__init_subclass__ = classmethod(__init_subclass__)
    Tensor._make_subclass = staticmethod(_C._make_subclass)
    _C.Generator.__reduce__ = _reduce_generator
    _C._AccumulateGrad = AccumulateGrad.of
    _C.__getattr__ = _private_name
    node: Any = _C.Node
    node.register_hook = _node_register_hook
    node.register_prehook = _node_register_prehook
    node.metadata = property(_node_metadata)
    node.__getattr__ = _node_getattr
    Tensor._grad_fn = property(
        lambda self: self.grad_fn,
        None,
        _refuse("Deletion of _grad_fn not allowed. Detach tensor instead!"),
    )
    Tensor._backward_hooks = property(
        lambda self: self.__dict__.get("_hooks_table"),
        _set_backward_hooks,
        _refuse("Deletion of _backwards_hooks not allowed!"),
    )
    Tensor.__array_priority__ = 1000  # NumPy's operators leave the work to ours
