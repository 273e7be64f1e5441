// Arithmetic slots. A pair of tensors, or a tensor and a Python number on either side, goes
// straight to the op; anything else is answered with NotImplemented, so that the other operand gets
// its turn.
#include "engine/python/bind/number.h"

#include "engine/ops/names.h"
#include "engine/ops/table.h"
#include "engine/python/bind/create.h"
#include "engine/python/bind/override.h"

namespace treadle::bind {
namespace {

// An operand: a tensor as it stands, or a number as a wrapped one.
class Operand {
 public:
  // False if it is neither.
  bool set(PyObject* o) {
    if (is_tensor(o)) {
      TensorImpl* impl = impl_of(o);
      if (impl->conj || impl->neg) {
        tensor_ = resolve(tensor_of(o));
        return true;
      }
      std::memcpy(static_cast<void*>(&tensor_), &impl, sizeof(void*));
      borrowed_ = true;
      return true;
    }
    if (PyFloat_Check(o)) {
      tensor_ = Tensor(PyFloat_AsDouble(o));
      return true;
    }
    Scalar number;
    if (!to_scalar(o, &number)) return false;
    tensor_ = number.tensor();
    return true;
  }
  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  ~Operand() {
    if (borrowed_) tensor_.release();
  }
  const Tensor& operator*() const { return tensor_; }

 private:
  Tensor tensor_;
  bool borrowed_ = false;
};

// The GIL is kept for small tensors: letting it go costs more than the op.
constexpr std::int64_t kLargeForGil = 1 << 14;
bool large(const Tensor& t) {
  std::int64_t n = 1;
  for (const std::int64_t size : t.shape()) n *= size;
  return n >= kLargeForGil;
}

template <class F>
Tensor run(const Tensor& a, const Tensor& b, F f) {
  if (large(a) || large(b)) {
    const WithoutGil running;
    return f(a, b);
  }
  const GilHeld held;
  return f(a, b);
}

using Binary = Tensor (*)(const Tensor&, const Tensor&);

// What an operator is for __torch_function__: Tensor.add, and Tensor.__radd__ where the tensor is
// on the right.
struct Names {
  const char *method, *reflected;
};

PyObject* ask_override(const Names& names, PyObject* a, PyObject* b) {
  return is_tensor(a) ? call_override(names.method, a, b) : call_override(names.reflected, b, a);
}

template <Binary F, const Names* N>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = ask_override(*N, a, b)) return made;
    }
    Operand x, y;
    if (!x.set(a) || !y.set(b)) {
      // An object that stands for a tensor without being one.
      if (takes_over(is_tensor(a) ? b : a)) return ask_override(*N, a, b);
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(run(*x, *y, F));
  });
}

template <Binary F, const char* Name>
PyObject* inplace_slot(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_override(Name, a, b)) return made;
    }
    Operand y;
    if (!y.set(b)) Py_RETURN_NOTIMPLEMENTED;
    const Borrowed x(a);
    if (x->is_lazy()) {
      check_inplace(*x);
      const Tensor value = resolve(*x);
      run(value, *y, F);
      copy_(*x, value);
    } else {
      run(*x, *y, F);
    }
    Py_INCREF(a);
    return a;
  });
}

// Ops without a C++ name of their own, by the table.
struct Row {
  const char* name;
  const OpDef* op = nullptr;
  const OpDef& get() {
    if (!op) {
      const std::span<const OpDef> found = find_op(name);
      if (found.empty())
        fail(ErrorKind::not_implemented, std::string(name) + " is not implemented");
      for (const OpDef& candidate : found) {
        const Schema& schema = schema_of(candidate);
        if (schema.args.size() >= 2 && schema.args[1].type == ArgType::tensor) op = &candidate;
        if (op) break;
      }
      if (!op) op = &found[0];
    }
    return *op;
  }
};

template <Row* R>
Tensor by_table(const Tensor& a, const Tensor& b) {
  Value args[] = {a, b};
  Value result;
  invoke(R->get(), args, &result);
  return std::get<Tensor>(std::move(result));
}
template <Row* R>
Tensor by_table_inplace(const Tensor& a, const Tensor& b) {
  Value args[] = {a, b};
  invoke_inplace(R->get(), args);
  return a;
}
template <Row* R>
PyObject* unary_by_table(PyObject* self) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_override(R->name, self)) return made;
    }
    Value args[] = {tensor_of(self)};
    Value result;
    invoke(R->get(), args, &result);
    return wrap(std::get<Tensor>(std::move(result)));
  });
}

Row row_and{"bitwise_and"}, row_or{"bitwise_or"}, row_xor{"bitwise_xor"}, row_invert{"bitwise_not"};
Row row_positive{"positive"}, row_abs{"abs"}, row_floor{"floor_divide"}, row_remainder{"remainder"},
    row_pow{"pow"};
Row row_left{"bitwise_left_shift"}, row_right{"bitwise_right_shift"};

Tensor add_op(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor sub_op(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor add_in(const Tensor& a, const Tensor& b) { return add_(a, b); }
Tensor sub_in(const Tensor& a, const Tensor& b) { return sub_(a, b); }

constexpr Names kAddOp{"add", "add"}, kSubOp{"sub", "__rsub__"}, kMulOp{"mul", "mul"},
    kDivOp{"div", "__rtruediv__"}, kFloorOp{"floor_divide", "__rfloordiv__"},
    kRemainderOp{"remainder", "__rmod__"}, kPowOp{"pow", "__rpow__"},
    kMatmulOp{"matmul", "__rmatmul__"}, kAndOp{"__and__", "__rand__"}, kOrOp{"__or__", "__ror__"},
    kXorOp{"__xor__", "__rxor__"}, kLeftOp{"__lshift__", "__rlshift__"},
    kRightOp{"__rshift__", "__rrshift__"};
// A comparison's reflection is another comparison.
constexpr Names kEqOp{"eq", "eq"}, kNeOp{"ne", "ne"}, kLtOp{"lt", "gt"}, kLeOp{"le", "ge"},
    kGtOp{"gt", "lt"}, kGeOp{"ge", "le"};
// The methods that the in-place operators are.
constexpr char kAdd[] = "add_", kSub[] = "sub_", kMul[] = "mul_", kDiv[] = "div_",
               kFloor[] = "floor_divide_", kRemainder[] = "remainder_", kPow[] = "pow_",
               kAnd[] = "bitwise_and_", kOr[] = "bitwise_or_", kXor[] = "bitwise_xor_",
               kLeft[] = "__ilshift__", kRight[] = "__irshift__";

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary_slot<pow, &kPowOp>(a, b);
}
PyObject* power_inplace_slot(PyObject* a, PyObject* b, PyObject*) {
  return inplace_slot<by_table_inplace<&row_pow>, kPow>(a, b);
}

PyObject* matmul_slot(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = ask_override(kMatmulOp, a, b)) return made;
    }
    if (!is_tensor(a) || !is_tensor(b)) {
      if (takes_over(is_tensor(a) ? b : a)) return ask_override(kMatmulOp, a, b);
      Py_RETURN_NOTIMPLEMENTED;
    }
    Operand x, y;
    x.set(a);
    y.set(b);
    return wrap(run(*x, *y, matmul));
  });
}

PyObject* negative_slot(PyObject* self) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_override("neg", self)) return made;
    }
    Operand x;
    x.set(self);
    return wrap(run(*x, *x, [](const Tensor& t, const Tensor&) { return neg(t); }));
  });
}
template <auto F>
void* slot() {
  return reinterpret_cast<void*>(F);
}

}  // namespace

namespace {

// tensor == array, which NumPy leaves to us: it asks the other side of == without an answer of its
// own, where for + it makes an array.
template <Binary F, const Names* N>
PyObject* equality_slot(PyObject* a, PyObject* b) {
  if (is_tensor(b) || !PyObject_CheckBuffer(b) || !PySequence_Check(b) || PyBytes_Check(b) ||
      PyByteArray_Check(b)) {
    return binary_slot<F, N>(a, b);
  }
  return guarded([&] { return wrap(run(*Borrowed(a), share_buffer(b, "=="), F)); });
}

}  // namespace

PyObject* compare_slot(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ:
      return equality_slot<eq, &kEqOp>(a, b);
    case Py_NE:
      return equality_slot<ne, &kNeOp>(a, b);
    case Py_LT:
      return binary_slot<lt, &kLtOp>(a, b);
    case Py_LE:
      return binary_slot<le, &kLeOp>(a, b);
    case Py_GT:
      return binary_slot<gt, &kGtOp>(a, b);
    default:
      return binary_slot<ge, &kGeOp>(a, b);
  }
}

std::span<const PyType_Slot> number_slots() {
  static const PyType_Slot slots[] = {
      {Py_nb_add, slot<binary_slot<add_op, &kAddOp>>()},
      {Py_nb_subtract, slot<binary_slot<sub_op, &kSubOp>>()},
      {Py_nb_multiply, slot<binary_slot<mul, &kMulOp>>()},
      {Py_nb_true_divide, slot<binary_slot<div, &kDivOp>>()},
      {Py_nb_floor_divide, slot<binary_slot<floor_divide, &kFloorOp>>()},
      {Py_nb_remainder, slot<binary_slot<remainder, &kRemainderOp>>()},
      {Py_nb_power, slot<power_slot>()},
      {Py_nb_matrix_multiply, slot<matmul_slot>()},
      {Py_nb_and, slot<binary_slot<by_table<&row_and>, &kAndOp>>()},
      {Py_nb_or, slot<binary_slot<by_table<&row_or>, &kOrOp>>()},
      {Py_nb_xor, slot<binary_slot<by_table<&row_xor>, &kXorOp>>()},
      {Py_nb_lshift, slot<binary_slot<by_table<&row_left>, &kLeftOp>>()},
      {Py_nb_rshift, slot<binary_slot<by_table<&row_right>, &kRightOp>>()},
      {Py_nb_negative, slot<negative_slot>()},
      {Py_nb_positive, slot<unary_by_table<&row_positive>>()},
      {Py_nb_absolute, slot<unary_by_table<&row_abs>>()},
      {Py_nb_invert, slot<unary_by_table<&row_invert>>()},
      {Py_nb_inplace_add, slot<inplace_slot<add_in, kAdd>>()},
      {Py_nb_inplace_subtract, slot<inplace_slot<sub_in, kSub>>()},
      {Py_nb_inplace_multiply, slot<inplace_slot<mul_, kMul>>()},
      {Py_nb_inplace_true_divide, slot<inplace_slot<div_, kDiv>>()},
      {Py_nb_inplace_floor_divide, slot<inplace_slot<by_table_inplace<&row_floor>, kFloor>>()},
      {Py_nb_inplace_remainder, slot<inplace_slot<by_table_inplace<&row_remainder>, kRemainder>>()},
      {Py_nb_inplace_power, slot<power_inplace_slot>()},
      {Py_nb_inplace_lshift, slot<inplace_slot<by_table_inplace<&row_left>, kLeft>>()},
      {Py_nb_inplace_rshift, slot<inplace_slot<by_table_inplace<&row_right>, kRight>>()},
      {Py_nb_inplace_and, slot<inplace_slot<by_table_inplace<&row_and>, kAnd>>()},
      {Py_nb_inplace_or, slot<inplace_slot<by_table_inplace<&row_or>, kOr>>()},
      {Py_nb_inplace_xor, slot<inplace_slot<by_table_inplace<&row_xor>, kXor>>()},
  };
  return slots;
}

}  // namespace treadle::bind
