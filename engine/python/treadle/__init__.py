"""Treadle: tensors with gradients, under PyTorch's names.

Importing this package loads the extension module and nothing else; `treadle.nn`, `treadle.optim`
and the other subpackages load when they are first used.
"""

from __future__ import annotations

from . import _C, _tensor
from ._C import *  # noqa: F403
from ._modes import DisableTorchFunctionSubclass
from ._modes import enable_grad as enable_grad
from ._modes import inference_mode as inference_mode
from ._modes import no_grad as no_grad
from ._modes import set_grad_enabled as set_grad_enabled
from ._version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import __config__ as __config__
    from . import array_api as array_api
    from . import autograd as autograd
    from . import backends as backends
    from . import cuda as cuda
    from . import fft as fft
    from . import func as func
    from . import functional as functional
    from . import linalg as linalg
    from . import nn as nn
    from . import optim as optim
    from . import overrides as overrides
    from . import profiler as profiler
    from . import random as random
    from . import return_types as return_types
    from . import signal as signal
    from . import special as special
    from . import storage as storage
    from . import testing as testing
    from . import utils as utils
    from ._array_api import astype as astype
    from ._array_api import bitwise_invert as bitwise_invert
    from ._array_api import broadcast_arrays as broadcast_arrays
    from ._array_api import cumulative_prod as cumulative_prod
    from ._array_api import cumulative_sum as cumulative_sum
    from ._array_api import expand_dims as expand_dims
    from ._array_api import matrix_transpose as matrix_transpose
    from ._array_api import permute_dims as permute_dims
    from ._array_api import repeat as repeat
    from ._array_api import take_along_axis as take_along_axis
    from ._array_api import unique_all as unique_all
    from ._array_api import unique_counts as unique_counts
    from ._array_api import unique_inverse as unique_inverse
    from ._array_api import unique_values as unique_values
    from ._array_api import unstack as unstack
    from ._array_api import vecdot as vecdot
    from ._convert import asarray as asarray
    from ._dtypes import can_cast as can_cast
    from ._dtypes import finfo as finfo
    from ._dtypes import iinfo as iinfo
    from ._dtypes import isdtype as isdtype
    from ._dtypes import result_type as result_type
    from ._file import from_file as from_file
    from ._legacy import get_default_device as get_default_device
    from ._legacy import range as range
    from ._legacy import set_default_device as set_default_device
    from ._legacy import set_default_tensor_type as set_default_tensor_type
    from ._legacy import typename as typename
    from ._lowrank import lobpcg as lobpcg
    from ._lowrank import pca_lowrank as pca_lowrank
    from ._lowrank import svd_lowrank as svd_lowrank
    from ._methods import get_device as get_device
    from ._methods import hash_tensor as hash_tensor
    from ._predicates import is_complex as is_complex
    from ._predicates import is_floating_point as is_floating_point
    from ._predicates import is_inference as is_inference
    from ._predicates import is_nonzero as is_nonzero
    from ._predicates import is_same_size as is_same_size
    from ._predicates import is_signed as is_signed
    from ._predicates import is_storage as is_storage
    from ._predicates import numel as numel
    from ._print import set_printoptions as set_printoptions
    from ._settings import compiled_with_cxx11_abi as compiled_with_cxx11_abi
    from ._settings import get_float32_matmul_precision as get_float32_matmul_precision
    from ._settings import get_num_interop_threads as get_num_interop_threads
    from ._settings import set_float32_matmul_precision as set_float32_matmul_precision
    from ._settings import set_flush_denormal as set_flush_denormal
    from ._settings import set_num_interop_threads as set_num_interop_threads
    from ._shape import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    )
    from ._shape import broadcast_shapes as broadcast_shapes
    from ._shape import get_deterministic_debug_mode as get_deterministic_debug_mode
    from ._shape import (
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,  # noqa: E501
    )
    from ._shape import set_deterministic_debug_mode as set_deterministic_debug_mode
    from ._shape import unravel_index as unravel_index
    from ._shape import use_deterministic_algorithms as use_deterministic_algorithms
    from ._sym import sym_float as sym_float
    from ._sym import sym_int as sym_int
    from ._sym import sym_ite as sym_ite
    from ._sym import sym_max as sym_max
    from ._sym import sym_min as sym_min
    from ._sym import sym_not as sym_not
    from ._sym import sym_sqrt as sym_sqrt
    from ._sym import sym_sum as sym_sum
    from ._warn import is_warn_always_enabled as is_warn_always_enabled
    from ._warn import set_warn_always as set_warn_always
    from .func import vmap as vmap
    from .functional import chain_matmul as chain_matmul
    from .functional import einsum as einsum
    from .functional import lu as lu
    from .functional import tensordot as tensordot
    from .random import get_rng_state as get_rng_state
    from .random import set_rng_state as set_rng_state
    from .storage import TypedStorage as TypedStorage
    from .storage import UntypedStorage as UntypedStorage

_tensor.install()
_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass  # where PyTorch has it

_SUBMODULES = (
    "__config__",
    "_functorch",
    "_ops",
    "_utils",
    "array_api",
    "autograd",
    "backends",
    "cuda",
    "fft",
    "func",
    "functional",
    "linalg",
    "nn",
    "optim",
    "overrides",
    "profiler",
    "random",
    "signal",
    "special",
    "return_types",
    "storage",
    "testing",
    "utils",
)
# Where the names are that load when they are first used.
_LAZY = {
    "set_printoptions": "_print",
    "_segment_reduce": "_C",
    "vmap": "func",
    **dict.fromkeys(("get_rng_state", "set_rng_state"), "random"),
    **dict.fromkeys(
        (
            "compiled_with_cxx11_abi", "get_float32_matmul_precision", "get_num_interop_threads",
            "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads",
        ),
        "_settings",
    ),
    **dict.fromkeys(
        (
            "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
            "sym_sum",
        ),
        "_sym",
    ),
    "from_file": "_file",
    "hash_tensor": "_methods",
    "get_device": "_methods",
    **dict.fromkeys(("is_warn_always_enabled", "set_warn_always"), "_warn"),
    **dict.fromkeys(("chain_matmul", "einsum", "lu", "tensordot"), "functional"),
    **dict.fromkeys(("lobpcg", "pca_lowrank", "svd_lowrank"), "_lowrank"),
    "asarray": "_convert",
    "can_cast": "_dtypes",
    "finfo": "_dtypes",
    "iinfo": "_dtypes",
    "isdtype": "_dtypes",
    "result_type": "_dtypes",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled", "broadcast_shapes",
            "get_deterministic_debug_mode", "is_deterministic_algorithms_warn_only_enabled",
            "set_deterministic_debug_mode", "unravel_index", "use_deterministic_algorithms",
        ),
        "_shape",
    ),
    **dict.fromkeys(
        (
            "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
            "float8_e5m2fnuz", "float8_e8m0fnu", "qint32", "qint8", "quint2x4", "quint4x2",
            "quint8",
        ),
        "_dtypes",
    ),
    **dict.fromkeys(
        (
            "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor",
            "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
            "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage",
            "ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage",
            "LongStorage", "ShortStorage", "get_default_device", "range", "set_default_device",
            "set_default_tensor_type", "typename",
        ),
        "_legacy",
    ),
    **dict.fromkeys(
        (
            "is_complex", "is_floating_point", "is_inference", "is_nonzero",
            "is_same_size", "is_signed", "is_storage", "numel",
        ),
        "_predicates",
    ),
    **dict.fromkeys(
        (
            "__array_namespace_info__", "astype", "bitwise_invert", "broadcast_arrays",
            "cumulative_prod", "cumulative_sum", "expand_dims", "matrix_transpose", "permute_dims",
            "repeat", "take_along_axis", "unique_all", "unique_counts", "unique_inverse",
            "unique_values", "unstack", "vecdot",
        ),
        "_array_api",
    ),
}  # fmt: skip
__array_api_version__ = "2024.12"

# In-place methods of several tensors that PyTorch has as functions, too.
_INPLACE = (
    "addmv_", "as_strided_", "clamp_max_", "clamp_min_", "detach_", "fill_", "index_put_",
    "resize_as_", "zero_",
)  # fmt: skip

e = 2.718281828459045
pi = 3.141592653589793
inf = 1e999  # `float` is a dtype in this module
nan = inf - inf
newaxis = None


def is_tensor(obj: object) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, _C.Tensor)


def __getattr__(name: str) -> object:
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module("." + name, __name__)
    if name in _LAZY:
        value = getattr(importlib.import_module("." + _LAZY[name], __name__), name)
        globals()[name] = value
        return value
    if name == "Storage":  # follows the default dtype
        return importlib.import_module("._legacy", __name__).storage_of_default()
    if name in _INPLACE and hasattr(_C.Tensor, name):
        return getattr(_C.Tensor, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_LAZY, *_INPLACE, "Storage"})
