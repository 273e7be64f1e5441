// torch.fft. Everything is made of three transforms along one dimension (fft.h), each the gradient
// of another. To add a function: its body and a row at the end.
#include "engine/ops/signal/fft.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/fft.h"
#include "engine/ops/create/creation.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

using OptInt = std::optional<std::int64_t>;
using OptDims = std::optional<Dims>;
using Norm = std::optional<std::string>;

// `dim` moved last, dense.
Tensor as_rows(const Tensor& self, std::int64_t dim) {
  return contiguous(movedim(resolve(self), {dim}, {-1}));
}
// The result for `run(rows, n of the input, in, out)` over float or double.
template <class F>
Tensor along(const Tensor& self, std::int64_t dim, std::int64_t out_size, DType out_dtype,
             const F& run) {
  const NoGrad off;
  const Tensor in = as_rows(self, dim);
  Dims shape = in.shape();
  const std::int64_t n = shape.back();
  shape[shape.size() - 1] = out_size;
  const Tensor out = Tensor::empty(shape, out_dtype);
  const std::int64_t rows = out_size == 0 ? 0 : out.numel() / out_size;
  if (rows != 0) {
    const bool wide = out_dtype == DType::float64 || out_dtype == DType::complex128;
    if (wide) {
      run(double{}, rows, n, in, out);
    } else {
      run(float{}, rows, n, in, out);
    }
  }
  return dim == self.dim() - 1 ? out : contiguous(movedim(out, {-1}, {dim}));
}

DType complex_of(DType real) {
  return real == DType::float64 ? DType::complex128 : DType::complex64;
}
DType real_of(DType complex) {
  return complex == DType::complex128 ? DType::float64 : DType::float32;
}

// Cut, or continued with zeros, to n.
Tensor resized(const Tensor& self, std::int64_t dim, std::int64_t n) {
  const std::int64_t size = self.size(dim);
  if (size == n) return self;
  if (size > n) return narrow(self, dim, 0, n);
  Dims shape = self.shape();
  shape[dim] = n;
  return embed(self, shape, [=](const Tensor& t) { return narrow(t, dim, 0, size); });
}

}  // namespace

Tensor fft_complex(const Tensor& self, std::int64_t dim, bool backward, double scale) {
  const Tensor out = along(
      self, dim, self.size(dim), self.dtype(),
      [&]<class T>(T, std::int64_t rows, std::int64_t n, const Tensor& in, const Tensor& result) {
        fourier::complex_rows(rows, n, backward, scale, in.data_as<std::complex<T>>(),
                              result.data_as<std::complex<T>>());
      });
  if (needs_tape({&self})) {
    record("FftC2CBackward0", out, {&self}, [=](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{fft_complex(g[0], dim, !backward, scale)};
    });
  }
  return out;
}

Tensor fft_real(const Tensor& self, std::int64_t dim, double scale) {
  const std::int64_t size = self.size(dim);
  const Tensor out = along(
      self, dim, size / 2 + 1, complex_of(self.dtype()),
      [&]<class T>(T, std::int64_t rows, std::int64_t n, const Tensor& in, const Tensor& result) {
        fourier::real_rows(rows, n, scale, in.data_as<T>(), result.data_as<std::complex<T>>());
      });
  if (needs_tape({&self})) {
    record("FftR2CBackward0", out, {&self}, [=](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{real(fft_complex(resized(g[0], dim, size), dim, true, scale))};
    });
  }
  return out;
}

Tensor fft_half(const Tensor& self, std::int64_t dim, std::int64_t n, double scale) {
  const Tensor out = along(
      self, dim, n, real_of(self.dtype()),
      [&]<class T>(T, std::int64_t rows, std::int64_t, const Tensor& in, const Tensor& result) {
        fourier::half_rows(rows, n, scale, in.data_as<std::complex<T>>(), result.data_as<T>());
      });
  if (needs_tape({&self})) {
    record("FftC2RBackward0", out, {&self}, [=](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      const Tensor half = fft_real(g[0], dim, scale);
      // Numbers that also stand for their mirror images count twice.
      const std::int64_t size = n / 2 + 1, twice = n - size;
      const DType dtype = real_of(half.dtype());
      Tensor weight =
          cat({ones({1}, dtype), full({twice}, 2, dtype), ones({size - 1 - twice}, dtype)});
      for (std::int64_t i = dim + 1; i < half.dim(); ++i) weight = unsqueeze(weight, -1);
      return Gradients{mul(half, weight)};
    });
  }
  return out;
}

namespace {

[[noreturn]] void unsupported(DType dtype) {
  fail(ErrorKind::not_implemented, "Unsupported dtype " + std::string(info(dtype).scalar));
}
// In a dtype that has transforms.
Tensor promoted(const Tensor& self) {
  if (is_integral(self.dtype())) return to(self, default_dtype());
  if (is_short_float(to_real(self.dtype()))) unsupported(self.dtype());
  return self;
}
Tensor promoted_complex(const Tensor& self) {
  const Tensor x = promoted(self);
  if (is_complex(x.dtype())) return x;
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64) unsupported(x.dtype());
  return to(x, complex_of(x.dtype()));
}
void check_real(const Tensor& self, const char* op) {
  if (!is_complex(self.dtype())) return;
  fail(ErrorKind::type,
       std::string(op) + " input tensor, but got " + std::string(info(self.dtype()).scalar));
}

// The factor of a transform of n numbers altogether.
double scale_of(const Norm& norm, double n, bool backward) {
  const std::string mode = norm.value_or("backward");
  if (mode == "ortho") return 1 / std::sqrt(n);
  if (mode != "backward" && mode != "forward") {
    fail(ErrorKind::runtime, "Invalid normalization mode: \"" + mode + "\"");
  }
  return (mode == "backward") == backward ? 1 / n : 1;
}

std::int64_t only_dim(const Tensor& self, std::int64_t dim) {
  if (self.dim() == 0) {
    fail(ErrorKind::index,
         "Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions");
  }
  return wrap_dim(dim, self.dim());
}
void check_points(std::int64_t n) {
  if (n >= 1) return;
  fail(ErrorKind::runtime, "Invalid number of data points (" + std::to_string(n) + ") specified");
}

// -- one dimension

Tensor c2c(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm, bool backward) {
  const Tensor x = promoted_complex(self);
  dim = only_dim(x, dim);
  const std::int64_t size = n.value_or(x.size(dim));
  check_points(size);
  const double scale = scale_of(norm, static_cast<double>(size), backward);
  return fft_complex(resized(x, dim, size), dim, backward, scale);
}
Tensor r2c(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm, bool backward) {
  const Tensor x = promoted(self);
  dim = only_dim(x, dim);
  const std::int64_t size = n.value_or(x.size(dim));
  check_points(size);
  const double scale = scale_of(norm, static_cast<double>(size), backward);
  const Tensor y = fft_real(resized(x, dim, size), dim, scale);
  return backward ? conj(y) : y;
}
Tensor c2r(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm, bool backward) {
  const Tensor x = promoted_complex(self);
  dim = only_dim(x, dim);
  const std::int64_t size = n.value_or(2 * (x.size(dim) - 1));
  check_points(size);
  const double scale = scale_of(norm, static_cast<double>(size), backward);
  const Tensor half = resized(x, dim, size / 2 + 1);
  return fft_half(backward ? half : conj(half), dim, size, scale);
}

Tensor fft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  return c2c(self, n, dim, norm, false);
}
Tensor ifft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  return c2c(self, n, dim, norm, true);
}
Tensor rfft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  check_real(self, "rfft expects a real");
  return r2c(self, n, dim, norm, false);
}
Tensor ihfft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  check_real(self, "ihfft expects a real");
  return r2c(self, n, dim, norm, true);
}
Tensor irfft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  return c2r(self, n, dim, norm, true);
}
Tensor hfft(const Tensor& self, OptInt n, std::int64_t dim, const Norm& norm) {
  return c2r(self, n, dim, norm, false);
}

// -- several dimensions

struct Grid {
  Dims dims, sizes;
  double count() const {
    double n = 1;
    for (const std::int64_t s : sizes) n *= static_cast<double>(s);
    return n;
  }
};
// The dimensions and how long they are to be made. `half`: the last one holds half the numbers.
Grid grid_of(const Tensor& self, const OptDims& s, const OptDims& dim, bool half) {
  Grid g;
  if (dim) {
    for (const std::int64_t d : *dim) {
      const std::int64_t at = only_dim(self, d);
      if (std::find(g.dims.begin(), g.dims.end(), at) != g.dims.end()) {
        fail(ErrorKind::runtime, "FFT dims must be unique");
      }
      g.dims.push_back(at);
    }
  }
  if (s) {
    if (dim && s->size() != dim->size()) {
      fail(ErrorKind::runtime, "When given, dim and shape arguments must have the same length");
    }
    if (s->size() > self.dim()) {
      fail(ErrorKind::runtime, "Got shape with " + std::to_string(s->size()) +
                                   " values but input tensor only has " +
                                   std::to_string(self.dim()) + " dimensions.");
    }
    if (!dim) {
      for (std::int64_t i = self.dim() - s->size(); i < self.dim(); ++i) g.dims.push_back(i);
    }
  } else if (!dim) {
    for (std::int64_t i = 0; i < self.dim(); ++i) g.dims.push_back(i);
  }
  for (std::int64_t i = 0; i < g.dims.size(); ++i) {
    const bool last = i + 1 == g.dims.size();
    std::int64_t n = s ? (*s)[i] : -1;
    if (n == -1) {
      n = self.size(g.dims[i]);
      if (half && last) n = 2 * (n - 1);
    }
    check_points(n);
    g.sizes.push_back(n);
  }
  return g;
}
void check_some(const Grid& g, const char* op) {
  if (!g.dims.empty()) return;
  fail(ErrorKind::runtime, std::string(op) + " must transform at least one axis");
}

// Over all dimensions of the grid but the last `left`; the first gets the factor.
Tensor c2c_dims(Tensor x, const Grid& g, std::int64_t left, bool backward, double scale) {
  for (std::int64_t i = 0; i + left < g.dims.size(); ++i) {
    x = fft_complex(resized(x, g.dims[i], g.sizes[i]), g.dims[i], backward, i == 0 ? scale : 1);
  }
  return x;
}

Tensor c2cn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm,
            bool backward) {
  const Tensor x = promoted_complex(self);
  const Grid g = grid_of(x, s, dim, false);
  const double scale = scale_of(norm, g.count(), backward);
  return g.dims.empty() ? clone(x) : c2c_dims(x, g, 0, backward, scale);
}
Tensor r2cn(const char* op, const Tensor& self, const OptDims& s, const OptDims& dim,
            const Norm& norm, bool backward) {
  const Tensor x = promoted(self);
  const Grid g = grid_of(x, s, dim, false);
  check_some(g, op);
  const std::int64_t last = g.dims.back();
  const double scale = scale_of(norm, g.count(), backward);
  const Tensor y =
      c2c_dims(fft_real(resized(x, last, g.sizes.back()), last, scale), g, 1, false, 1);
  return backward ? conj(y) : y;
}
Tensor c2rn(const char* op, const Tensor& self, const OptDims& s, const OptDims& dim,
            const Norm& norm, bool backward) {
  const Tensor x = promoted_complex(self);
  const Grid g = grid_of(x, s, dim, true);
  check_some(g, op);
  const std::int64_t last = g.dims.back(), n = g.sizes.back();
  const double scale = scale_of(norm, g.count(), backward);
  const Tensor half = resized(c2c_dims(x, g, 1, backward, 1), last, n / 2 + 1);
  return fft_half(backward ? half : conj(half), last, n, scale);
}

Tensor fftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  return c2cn(self, s, dim, norm, false);
}
Tensor ifftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  return c2cn(self, s, dim, norm, true);
}
Tensor rfftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  check_real(self, "rfftn expects a real-valued");
  return r2cn("rfftn", self, s, dim, norm, false);
}
Tensor ihfftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  check_real(self, "ihfftn expects a real-valued");
  return r2cn("ihfftn", self, s, dim, norm, true);
}
Tensor irfftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  return c2rn("irfftn", self, s, dim, norm, true);
}
Tensor hfftn(const Tensor& self, const OptDims& s, const OptDims& dim, const Norm& norm) {
  return c2rn("hfftn", self, s, dim, norm, false);
}

// -- frequencies and shifts

Tensor frequencies(const char* op, std::int64_t n, double d, std::optional<DType> given, bool half,
                   const std::optional<Device>& device, std::optional<bool> requires_grad) {
  const DType dtype = given.value_or(default_dtype());
  if (is_integral(dtype)) {
    fail(ErrorKind::runtime, std::string(op) + " requires a floating point or complex dtype");
  }
  if (n < 0) {
    fail(ErrorKind::runtime, "Trying to create tensor with negative dimension " +
                                 std::to_string(n) + ": [" + std::to_string(n) + "]");
  }
  const NoGrad off;
  const DType real = is_complex(dtype) ? real_of(dtype) : dtype;
  Tensor k = arange(0, half ? n / 2 + 1 : n, 1, real);
  if (!half) {
    const std::int64_t positive = (n + 1) / 2;
    k = cat({narrow(k, 0, 0, positive), arange(-(n / 2), 0, 1, real)});
  }
  const Tensor f = to(mul(k, Tensor(1 / (static_cast<double>(n) * d))), dtype);
  return finish(f, device, requires_grad);
}
Tensor fftfreq(std::int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device,
               std::optional<bool> requires_grad) {
  return frequencies("fftfreq", n, d, dtype, false, device, requires_grad);
}
Tensor rfftfreq(std::int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device,
                std::optional<bool> requires_grad) {
  return frequencies("rfftfreq", n, d, dtype, true, device, requires_grad);
}

// Turns each dimension so that number `first` of its size becomes the first.
template <class F>
Tensor turned(const Tensor& self, const OptDims& dim, F first) {
  Tensor x = self;
  Dims dims;
  if (dim) {
    for (const std::int64_t d : *dim) dims.push_back(only_dim(self, d));
  } else {
    if (self.dim() == 0) fail(ErrorKind::runtime, "`shifts` required");
    for (std::int64_t i = 0; i < self.dim(); ++i) dims.push_back(i);
  }
  for (const std::int64_t d : dims) {
    const std::int64_t n = x.size(d), at = first(n);
    if (n > 1) x = cat({narrow(x, d, at, n - at), narrow(x, d, 0, at)}, d);
  }
  return same(x, self) ? clone(x) : x;
}
Tensor fftshift(const Tensor& self, const OptDims& dim) {
  return turned(self, dim, [](std::int64_t n) { return (n + 1) / 2; });
}
Tensor ifftshift(const Tensor& self, const OptDims& dim) {
  return turned(self, dim, [](std::int64_t n) { return n / 2; });
}

// The row of a transform whose out= must be complex, or real: no cast changes that.
constexpr OpDef with_out(OpDef op, void (*call_out)(Value*, Tensor*)) {
  op.call_out = call_out;
  return op;
}
void check_kind(const char* name, bool complex, const Tensor& out) {
  if (is_complex(out.dtype()) == complex && !is_integral(out.dtype())) return;
  fail(ErrorKind::runtime, std::string(name) + " expects a " +
                               (complex ? "complex" : "floating point") +
                               " output tensor, but got " + std::string(info(out.dtype()).scalar));
}

}  // namespace

#define TREADLE_ROW(fn, name, complex, arguments, doc)                             \
  with_out(native<fn>("fft_" name arguments " -> Tensor", doc, kSubmodule | kOut), \
           [](Value* args, Tensor* outs) {                                         \
             check_kind(name, complex, *outs);                                     \
             detail::call_native_out<fn>(args, outs);                              \
           })
#define TREADLE_ONE(name, complex, doc) \
  TREADLE_ROW(name, #name, complex, "(Tensor self, int? n=None, int dim=-1, str? norm=None)", doc)
#define TREADLE_MANY(name, complex, doc)                                             \
  TREADLE_ROW(name##n, #name "2", complex,                                           \
              "(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None)",  \
              doc " Over the last two dimensions."),                                 \
      TREADLE_ROW(name##n, #name "n", complex,                                       \
                  "(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None)", \
                  doc " Over all dimensions, or those of `dim`.")

std::span<const OpDef> fft_ops() {
  static constexpr OpDef rows[] = {
      TREADLE_ONE(fft, true, "Discrete Fourier transform: sum of x[j] e^(-2 pi i j k / n)."),
      TREADLE_ONE(ifft, true, "The inverse of fft."),
      TREADLE_ONE(rfft, true, "fft of real numbers: the first n / 2 + 1 results."),
      TREADLE_ONE(irfft, false, "The inverse of rfft; n defaults to 2 (size - 1)."),
      TREADLE_ONE(hfft, false,
                  "fft of numbers whose first half is given, the rest being conjugates."),
      TREADLE_ONE(ihfft, true, "The inverse of hfft."),
      TREADLE_MANY(fft, true, "Discrete Fourier transform in several dimensions."),
      TREADLE_MANY(ifft, true, "The inverse of fftn."),
      TREADLE_MANY(rfft, true, "fftn of real numbers: half of the last dimension."),
      TREADLE_MANY(irfft, false, "The inverse of rfftn."),
      TREADLE_MANY(hfft, false, "fftn of numbers of which half of the last dimension is given."),
      TREADLE_MANY(ihfft, true, "The inverse of hfftn."),
      native<fftfreq>("fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? "
                      "device=None, bool? requires_grad=None) -> Tensor",
                      "The frequencies of fft's results, in cycles per unit of d.",
                      kSubmodule | kOut, false),
      native<rfftfreq>("fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? "
                       "device=None, bool? requires_grad=None) -> Tensor",
                       "The frequencies of rfft's results, in cycles per unit of d.",
                       kSubmodule | kOut, false),
      native<fftshift>("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
                       "Moves the zero frequency into the middle.", kSubmodule),
      native<ifftshift>("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
                        "The inverse of fftshift.", kSubmodule),
  };
  return rows;
}
#undef TREADLE_ROW
#undef TREADLE_ONE
#undef TREADLE_MANY

}  // namespace treadle
