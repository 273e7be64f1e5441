// Complex numbers: their parts as views, and the ops made of these. The gradient of a real function
// of z is dL/d(re) + i dL/d(im), PyTorch's convention.
#include <string>

#include "engine/core/iter.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

bool has_complex(DType part) { return is_floating(part) && part != DType::bfloat16; }

// The same memory as another dtype.
Tensor reinterpret(const Tensor& self, Dims shape, Dims strides, std::int64_t offset, DType dtype) {
  Tensor out(Ref<TensorImpl>::make(self.impl()->storage, offset, std::move(shape),
                                   std::move(strides), dtype));
  out.impl()->inference = self.impl()->inference;
  set_view(out, self);
  return out;
}

}  // namespace

Tensor view_as_real(const Tensor& self) {
  if (!is_complex(self.dtype())) {
    fail(ErrorKind::runtime, "view_as_real is only supported for complex tensors");
  }
  if (self.impl()->conj) {
    fail(ErrorKind::runtime,
         "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
         "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the "
         "resulting tensor will NOT alias the original.");
  }
  Dims shape = self.shape(), strides = self.strides();
  for (std::int64_t i = 0; i < strides.size(); ++i) strides[i] *= 2;
  shape.push_back(2);
  strides.push_back(1);
  const Tensor out = reinterpret(self, std::move(shape), std::move(strides),
                                 self.impl()->offset * 2, to_real(self.dtype()));
  if (needs_tape({&self})) {
    record("ViewAsRealBackward0", out, {&self}, [](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{view_as_complex(contiguous(g[0]))};
    });
  }
  return out;
}

Tensor view_as_complex(const Tensor& self) {
  if (!has_complex(self.dtype())) {
    fail(ErrorKind::not_implemented,
         "view_as_complex is only supported for half, float and double tensors, but got a tensor "
         "of scalar type: " +
             std::string(info(self.dtype()).scalar));
  }
  const DType dtype = to_complex(self.dtype());
  if (self.impl()->neg) return view_as_complex(resolve(self));
  if (self.dim() == 0) {
    fail(ErrorKind::runtime, "Input tensor must have one or more dimensions");
  }
  if (self.shape().back() != 2) {
    fail(ErrorKind::runtime, "Tensor must have a last dimension of size 2");
  }
  if (self.strides().back() != 1) {
    fail(ErrorKind::runtime, "Tensor must have a last dimension with stride 1");
  }
  Dims shape, strides;
  for (std::int64_t i = 0; i + 1 < self.dim(); ++i) {
    if (self.strides()[i] % 2 != 0) {
      fail(ErrorKind::runtime,
           "Tensor must have a stride divisible by 2 for all but last dimension");
    }
    shape.push_back(self.shape()[i]);
    strides.push_back(self.strides()[i] / 2);
  }
  if (self.impl()->offset % 2 != 0) {
    fail(ErrorKind::runtime, "Tensor must have a storage_offset divisible by 2");
  }
  const Tensor out =
      reinterpret(self, std::move(shape), std::move(strides), self.impl()->offset / 2, dtype);
  if (needs_tape({&self})) {
    record("ViewAsComplexBackward0", out, {&self}, [](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{view_as_real(g[0])};
    });
  }
  return out;
}

namespace {

// The same memory, its elements conjugated (negated) once more.
Tensor lazily(const Tensor& self, bool conjugate, const char* name) {
  const TensorImpl& i = *self.impl();
  const Tensor out = make_view(self, i.shape, i.strides, i.offset);
  if (conjugate)
    out.impl()->conj = !i.conj;
  else
    out.impl()->neg = !i.neg;
  if (needs_tape({&self})) {
    record(name, out, {&self}, [conjugate](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{conjugate ? conj(g[0]) : neg(g[0])};
    });
  }
  return out;
}

}  // namespace

Tensor lazy_conj(const Tensor& self) {
  return is_complex(self.dtype()) ? lazily(self, true, "ConjBackward0") : self;
}

Tensor resolve(const Tensor& self) {
  if (!self.is_lazy()) return self;
  Tensor out;
  {
    const NoGrad off;
    out = raw(self);
    out = self.impl()->conj ? conj(out) : clone(out);
    if (self.impl()->neg) out = neg(out);
  }
  if (needs_tape({&self})) {
    record("CloneBackward0", out, {&self}, [](Node&, const Gradients& g) { return g; });
  }
  return out;
}

Tensor real(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  return select(view_as_real(self.impl()->conj ? lazily(self, true, "ConjBackward0") : self), -1,
                0);
}
Tensor imag(const Tensor& self) {
  if (!is_complex(self.dtype())) {
    fail(ErrorKind::runtime, "imag is not implemented for tensors with non-complex dtypes.");
  }
  if (!self.impl()->conj) return select(view_as_real(self), -1, 1);
  // Of a conjugate: the negative of what lies in memory.
  const Tensor part = select(view_as_real(lazily(self, true, "ConjBackward0")), -1, 1);
  return lazily(part, false, "NegViewBackward0");
}

namespace {

void check_parts(const Tensor& real, const Tensor& imag) {
  if (!has_complex(real.dtype()) || !has_complex(imag.dtype())) {
    fail(ErrorKind::not_implemented,
         "Expected both inputs to be Half, Float or Double tensors but got " +
             std::string(info(real.dtype()).scalar) + " and " +
             std::string(info(imag.dtype()).scalar));
  }
  if (real.dtype() != imag.dtype()) {
    fail(ErrorKind::runtime, "Expected object of scalar type " +
                                 std::string(info(real.dtype()).scalar) + " but got scalar type " +
                                 std::string(info(imag.dtype()).scalar) + " for second argument");
  }
}

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts(real, imag);
  const Dims shape = broadcast_shapes(real.shape(), imag.shape());
  const Tensor out = view_as_complex(stack({expand(real, shape), expand(imag, shape)}, -1));
  if (GradMeta* m = out.impl()->grad_meta) m->view.reset();  // of what nobody else has
  return out;
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_parts(abs, angle);
  return complex(mul(abs, cos(angle)), mul(abs, sin(angle)));
}

// out= takes no other dtype than the result's.
template <auto Fn>
void complex_out(Value* args, Tensor* outs) {
  Value result;
  detail::call_native<Fn>(args, &result);
  const Tensor& made = std::get<Tensor>(result);
  if (made.dtype() != outs->dtype()) {
    fail(ErrorKind::runtime, "Expected object of scalar type " +
                                 std::string(info(made.dtype()).scalar) + " but got scalar type " +
                                 std::string(info(outs->dtype()).scalar) + " for argument 'out'");
  }
  write_out("complex", *outs, made);
}
template <auto Fn>
constexpr OpDef of_parts(const char* schema, const char* doc) {
  OpDef op = native<Fn>(schema, doc, kFunction | kOut);
  op.call_out = &complex_out<Fn>;
  return op;
}

// 0 for positive numbers, pi for negative ones, the angle of complex ones; NaN stays NaN.
Tensor angle(const Tensor& self) {
  if (is_complex(self.dtype())) return atan2(imag(self), real(self));
  const Tensor x = is_integral(self.dtype()) ? to(self, default_dtype()) : self;
  const Tensor zero = mul(zeros_like(x), where(isnan(x), zeros_like(x), x));
  const Tensor half_turn = full({}, Scalar(3.141592653589793), x.dtype());
  return where(isnan(x), x, where(lt(x, Tensor(0)), half_turn, zero));
}
Tensor isreal(const Tensor& self) {
  return is_complex(self.dtype()) ? eq(imag(self), Tensor(0))
                                  : fill_(empty(self.shape(), DType::boolean), true);
}
Tensor conj_physical(const Tensor& self) { return is_complex(self.dtype()) ? conj(self) : self; }
void conj_physical_inplace(const Tensor& self) {
  if (!is_complex(self.dtype())) return;
  check_inplace(self);
  copy_(self, conj(self));
}
Tensor neg_view(const Tensor& self) { return lazily(self, false, "NegViewBackward0"); }
Tensor resolve_conj(const Tensor& self) { return self.impl()->conj ? resolve(self) : self; }
Tensor resolve_neg(const Tensor& self) { return self.impl()->neg ? resolve(self) : self; }
Tensor adjoint(const Tensor& self) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime,
         "tensor.adjoint() is only supported on matrices or batches of matrices. Got " +
             std::to_string(self.dim()) + "-D tensor.");
  }
  return lazy_conj(transpose(self, -2, -1));
}
bool is_conj(const Tensor& self) { return self.impl()->conj; }
bool is_neg(const Tensor& self) { return self.impl()->neg; }

}  // namespace

Tensor conj(const Tensor& self) {
  if (!is_complex(self.dtype())) return self;
  Tensor out;
  {
    const NoGrad off;
    out = clone(self);
    const Tensor part = imag(out);
    copy_(part, neg(part));
  }
  if (needs_tape({&self})) {
    record("ConjBackward0", out, {&self}, [](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{conj(g[0])};
    });
  }
  return out;
}

Tensor nonnegative(const Tensor& self) {
  // A missing tensor is refused by the op.
  if (!self.defined() || !is_complex(self.dtype())) return ge(self, Tensor(0));
  return logical_and(eq(imag(self), Tensor(0)), ge(real(self), Tensor(0)));
}

std::span<const OpDef> complex_ops() {
  static constexpr OpDef rows[] = {
      native<view_as_real>("view_as_real(Tensor(a) self) -> Tensor(a)",
                           "The parts of complex numbers, in a last dimension of size 2.",
                           kFunction),
      native<view_as_complex>("view_as_complex(Tensor(a) self) -> Tensor(a)",
                              "Complex numbers whose parts lie in a last dimension of size 2.",
                              kFunction),
      native<real>("real(Tensor(a) self) -> Tensor(a)", "The real parts.", kFunction),
      native<imag>("imag(Tensor(a) self) -> Tensor(a)", "The imaginary parts.", kFunction),
      of_parts<complex>("complex(Tensor real, Tensor imag) -> Tensor", "real + i imag."),
      of_parts<polar>("polar(Tensor abs, Tensor angle) -> Tensor",
                      "Complex numbers of given size and angle in radians."),
      native<angle>("angle(Tensor self) -> Tensor", "The angle in radians, from -pi to pi.",
                    kFunction | kMethod | kOut),
      native<lazy_conj>("conj(Tensor(a) self) -> Tensor(a)",
                        "The conjugate: a view that is_conj(); of a real tensor self.",
                        kFunction | kMethod),
      native<conj_physical, conj_physical_inplace>("conj_physical(Tensor self) -> Tensor",
                                                   "The conjugate, computed.",
                                                   kFunction | kMethod | kOut),
      native<resolve_conj>("resolve_conj(Tensor(a) self) -> Tensor(a)",
                           "self, or a copy if it is a lazy conjugate.", kFunction | kMethod),
      native<resolve_neg>("resolve_neg(Tensor(a) self) -> Tensor(a)",
                          "self, or a copy if it is a lazy negative.", kFunction | kMethod),
      native<neg_view>("_neg_view(Tensor(a) self) -> Tensor(a)",
                       "The negative: a view that is_neg().", kFunction | kMethod),
      native<adjoint>("adjoint(Tensor(a) self) -> Tensor(a)",
                      "A view with the last two dimensions swapped and conjugated.",
                      kFunction | kMethod),
      native<is_conj>("is_conj(Tensor(a) self) -> bool",
                      "Whether self is a conjugate that isn't computed yet.", kFunction | kMethod,
                      false),
      native<is_neg>("is_neg(Tensor(a) self) -> bool",
                     "Whether self is a negative that isn't computed yet.", kFunction | kMethod,
                     false),
      native<isreal>("isreal(Tensor self) -> Tensor", "Whether the imaginary part is 0.",
                     kFunction | kMethod, false),
  };
  return rows;
}

}  // namespace treadle
