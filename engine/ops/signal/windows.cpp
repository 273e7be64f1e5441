// Windows, and the short-time Fourier transform with its inverse, made of other ops. To add one:
// its body and a row at the end.
#include <algorithm>
#include <cmath>

#include "engine/ops/create/creation.h"
#include "engine/ops/elementwise/special.h"
#include "engine/ops/native.h"
#include "engine/ops/signal/fft.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;
using OptDevice = std::optional<Device>;
using OptInt = std::optional<std::int64_t>;

constexpr double kTurn = 6.283185307179586;

// -- windows

// `formula(positions 0 .. n-1, n - 1)` over `length` numbers; a periodic window leaves out the last
// of one more.
template <class F>
Tensor window(const char* op, std::int64_t length, bool periodic, OptDType given,
              const OptDevice& device, OptBool requires_grad, F formula) {
  const DType dtype = given.value_or(default_dtype());
  if (!is_floating(dtype)) {
    fail(ErrorKind::runtime,
         std::string(op) + " expects floating point dtypes, got: " + repr(dtype));
  }
  if (length < 0) {
    fail(ErrorKind::runtime,
         std::string(op) +
             " requires non-negative window_length, got window_length=" + std::to_string(length));
  }
  const NoGrad off;
  Tensor w;
  if (length <= 1) {
    w = ones({length}, dtype);
  } else {
    const std::int64_t n = length + (periodic ? 1 : 0);
    const DType wide = dtype == DType::float64 ? dtype : DType::float32;
    w = to(narrow(formula(arange(0, n, 1, wide), static_cast<double>(n - 1)), 0, 0, length), dtype);
  }
  return finish(w, device, requires_grad);
}

// sum of (-1)^k c[k] cos(2 pi k i / last)
Tensor cosines(const Tensor& i, double last, std::initializer_list<double> c) {
  Tensor sum = full(i.shape(), *c.begin(), i.dtype());
  double k = 0, sign = 1;
  for (const double a : c) {
    if (k > 0) sum = add(sum, mul(cos(mul(i, Tensor(kTurn * k / last))), Tensor(sign * a)));
    k += 1, sign = -sign;
  }
  return sum;
}

#define TREADLE_WINDOW_ARGS OptDType dtype, OptDevice device, OptBool grad

Tensor hamming(std::int64_t n, bool periodic, double alpha, double beta, TREADLE_WINDOW_ARGS) {
  return window("hamming_window", n, periodic, dtype, device, grad,
                [=](const Tensor& i, double last) {
                  return cosines(i, last, {alpha, beta});
                });
}
Tensor hamming_alpha(std::int64_t n, bool periodic, double alpha, TREADLE_WINDOW_ARGS) {
  return hamming(n, periodic, alpha, 0.46, dtype, device, grad);
}
Tensor hamming_default(std::int64_t n, bool periodic, TREADLE_WINDOW_ARGS) {
  return hamming(n, periodic, 0.54, 0.46, dtype, device, grad);
}
Tensor hann(std::int64_t n, bool periodic, TREADLE_WINDOW_ARGS) {
  return window("hann_window", n, periodic, dtype, device, grad, [](const Tensor& i, double last) {
    return cosines(i, last, {0.5, 0.5});
  });
}
Tensor blackman(std::int64_t n, bool periodic, TREADLE_WINDOW_ARGS) {
  return window("blackman_window", n, periodic, dtype, device, grad,
                [](const Tensor& i, double last) {
                  return cosines(i, last, {0.42, 0.5, 0.08});
                });
}
Tensor bartlett(std::int64_t n, bool periodic, TREADLE_WINDOW_ARGS) {
  return window("bartlett_window", n, periodic, dtype, device, grad,
                [](const Tensor& i, double last) {
                  return sub(Tensor(1), abs(sub(mul(i, Tensor(2 / last)), Tensor(1))));
                });
}
Tensor kaiser(std::int64_t n, bool periodic, double beta, TREADLE_WINDOW_ARGS) {
  return window("kaiser_window", n, periodic, dtype, device, grad,
                [=](const Tensor& i, double last) {
                  const Tensor x = sub(mul(i, Tensor(2 / last)), Tensor(1));
                  const Tensor rest = maximum(sub(Tensor(1), mul(x, x)), zeros_like(x));
                  const Tensor top = i0(full({}, std::abs(beta), i.dtype()));
                  return div(i0(mul(sqrt(rest), Tensor(beta))), top);
                });
}
Tensor kaiser_default(std::int64_t n, bool periodic, TREADLE_WINDOW_ARGS) {
  return kaiser(n, periodic, 12.0, dtype, device, grad);
}
#undef TREADLE_WINDOW_ARGS

// -- short-time Fourier transform

std::string shape_text(const Tensor& t) {
  return "torch." + std::string(info(t.dtype()).scalar) + "Tensor" + to_string(t.shape());
}
// The call as PyTorch's errors repeat it.
struct Call {
  const char* op;
  const Tensor& self;
  std::int64_t n_fft, hop, win;
  [[noreturn]] void bad(const std::string& what, ErrorKind kind = ErrorKind::runtime) const {
    fail(kind, std::string(op) + "(" + shape_text(self) + ", n_fft=" + std::to_string(n_fft) +
                   ", hop_length=" + std::to_string(hop) + ", win_length=" + std::to_string(win) +
                   ") : " + what);
  }
};

// The window to n_fft numbers, itself in the middle; ones if there is none.
Tensor full_window(const Tensor& window, std::int64_t win_length, std::int64_t n_fft, DType dtype,
                   bool in_middle) {
  const Tensor w = window.defined() ? window : ones({win_length}, dtype);
  const std::int64_t left = in_middle ? (n_fft - win_length) / 2 : 0;
  const std::int64_t right = n_fft - win_length - left;
  if (left == 0 && right == 0) return w;
  return cat({zeros({left}, w.dtype()), w, zeros({right}, w.dtype())});
}

// The last dimension continued by `pad` numbers on both sides.
Tensor padded(const Tensor& self, std::int64_t pad, const std::string& mode) {
  const std::int64_t size = self.size(-1);
  if (mode == "constant") {
    Dims shape = self.shape();
    shape[shape.size() - 1] = pad;
    const Tensor zero = zeros(shape, self.dtype());
    return cat({zero, self, zero}, -1);
  }
  if (mode != "reflect" && mode != "replicate" && mode != "circular") {
    fail(ErrorKind::not_implemented, "Unrecognised padding mode " + mode);
  }
  const Dims wide = {1, self.dim() == 1 ? 1 : self.size(0), size};
  if (mode == "reflect" && pad >= size) {
    fail(
        ErrorKind::runtime,
        "Argument #4: Padding size should be less than the corresponding input dimension, but got: "
        "padding (" +
            std::to_string(pad) + ", " + std::to_string(pad) + ") at dimension 2 of input " +
            to_string(wide));
  }
  if (mode == "circular" && pad > size) {
    fail(ErrorKind::runtime, "Padding value causes wrapping around more than once.");
  }
  if (size == 0) fail(ErrorKind::runtime, "stft: can't pad an empty signal");
  const auto whole = [](std::int64_t value) { return Tensor::wrapped(value); };
  Tensor index = arange(Scalar(-pad), Scalar(size + pad), 1, DType::int64);
  if (mode == "replicate") {
    index = maximum(minimum(index, whole(size - 1)), whole(0));
  } else if (mode == "circular") {
    index = remainder(index, whole(size));
  } else {  // reflect
    index = sub(whole(size - 1), abs(sub(abs(index), whole(size - 1))));
  }
  return index_select(self, -1, index);
}

Tensor stft(const Tensor& self, std::int64_t n_fft, OptInt hop_length, OptInt win_length,
            const Tensor& window, bool center, const std::string& pad_mode, bool normalized,
            OptBool onesided, OptBool return_complex, OptBool align_to_window) {
  const std::int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  const bool complex_in =
      is_complex(self.dtype()) || (window.defined() && is_complex(window.dtype()));
  if (!return_complex && !complex_in) {
    fail(ErrorKind::runtime,
         "stft requires the return_complex parameter be given for real inputs, and will further "
         "require that return_complex=True in a future PyTorch release.");
  }
  if (align_to_window && center) {
    fail(ErrorKind::runtime, "stft align_to_window should only be set when center = false");
  }
  const Call call{"stft", self, n_fft, hop, win};
  if (!is_floating(self.dtype()) && !is_complex(self.dtype())) {
    call.bad("expected a tensor of floating point or complex values", ErrorKind::not_implemented);
  }
  if (self.dim() > 2 || self.dim() < 1) call.bad("expected a 1D or 2D tensor");
  Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (center && n_fft > 0) x = padded(x, n_fft / 2, pad_mode);
  const std::int64_t length = x.size(1);
  if (n_fft <= 0 || n_fft > length) {
    call.bad("expected 0 < n_fft < " + std::to_string(length) +
             ", but got n_fft=" + std::to_string(n_fft));
  }
  if (hop <= 0) call.bad("expected hop_length > 0, but got hop_length=" + std::to_string(hop));
  if (win <= 0 || win > n_fft) {
    call.bad("expected 0 < win_length <= n_fft, but got win_length=" + std::to_string(win));
  }
  if (window.defined() && (window.dim() != 1 || window.size(0) != win)) {
    call.bad("expected a 1D window tensor of size equal to win_length=" + std::to_string(win) +
             ", but got window with size " + to_string(window.shape()));
  }
  const bool one = onesided.value_or(!complex_in);
  if (one && complex_in) {
    fail(ErrorKind::runtime, "Cannot have onesided output if window or input is complex");
  }
  // Frames of n_fft numbers, hop apart.
  const bool aligned = align_to_window.value_or(false);
  const std::int64_t frame = aligned ? win : n_fft;
  const std::int64_t frames = 1 + (length - frame) / hop;
  x = contiguous(x);
  Tensor pieces = as_strided(x, {x.size(0), frames, frame}, {length, hop, 1});
  if (window.defined() || win < n_fft) {
    const Tensor w = aligned && !window.defined() ? ones({win}, x.dtype())
                     : aligned                    ? window
                               : full_window(window, win, n_fft, x.dtype(), true);
    pieces = mul(pieces, w);
  }
  if (frame < n_fft) {
    pieces = cat({pieces, zeros({x.size(0), frames, n_fft - frame}, pieces.dtype())}, -1);
  }
  const double scale = normalized ? 1 / std::sqrt(static_cast<double>(n_fft)) : 1;
  const DType wide = pieces.dtype() == DType::float64 ? DType::complex128 : DType::complex64;
  Tensor out =
      one ? fft_real(pieces, 2, scale)
          : fft_complex(is_complex(pieces.dtype()) ? pieces : to(pieces, wide), 2, false, scale);
  out = transpose(out, 1, 2);
  if (self.dim() == 1) out = squeeze(out, {0});
  return return_complex.value_or(true) ? out : view_as_real(out);
}

Tensor istft(const Tensor& self, std::int64_t n_fft, OptInt hop_length, OptInt win_length,
             const Tensor& window, bool center, bool normalized, OptBool onesided, OptInt length,
             bool return_complex) {
  const std::int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  if (!is_complex(self.dtype())) {
    fail(ErrorKind::type,
         "istft requires a complex-valued input tensor matching the output from stft with "
         "return_complex=True.");
  }
  const Call call{"istft", self, n_fft, hop, win};
  if (self.numel() == 0) call.bad("input tensor cannot be empty.");
  if (self.dim() != 2 && self.dim() != 3) {
    call.bad("expected a tensor with 2 or 3 dimensions, but got " + std::to_string(self.dim()));
  }
  Tensor x = self.dim() == 2 ? unsqueeze(self, 0) : self;
  const std::int64_t rows = x.size(1), frames = x.size(2);
  const bool complex_window = window.defined() && is_complex(window.dtype());
  const bool one = onesided.value_or(rows != n_fft);
  if (one && (return_complex || complex_window)) {
    fail(ErrorKind::runtime, "Cannot have onesided output if window or input is complex");
  }
  if (n_fft <= 0 || rows != (one ? n_fft / 2 + 1 : n_fft)) {
    call.bad(
        "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft" +
        std::string(one ? " / 2 + 1 when onesided=True" : " when onesided=False") + ", but got " +
        std::to_string(rows));
  }
  if (hop <= 0 || hop > win) call.bad("expected 0 < hop_length <= win_length");
  if (win <= 0 || win > n_fft) call.bad("expected 0 < win_length <= n_fft");
  if (window.defined() && (window.dim() != 1 || window.size(0) != win)) {
    call.bad("Invalid window shape. window has to be 1D and length of `win_length`");
  }
  const DType real_dtype = self.dtype() == DType::complex128 ? DType::float64 : DType::float32;
  const Tensor w = full_window(window, win, n_fft, real_dtype, true);
  const double n = static_cast<double>(n_fft), scale = normalized ? 1 / std::sqrt(n) : 1 / n;
  x = transpose(x, 1, 2);
  // Of a real signal the other half says nothing new.
  Tensor pieces = return_complex
                      ? fft_complex(x, 2, true, scale)
                      : fft_half(one ? x : narrow(x, 2, 0, n_fft / 2 + 1), 2, n_fft, scale);
  pieces = mul(pieces, w);

  // Overlapping pieces added up: each number of a piece to its place in the signal.
  const std::int64_t total = n_fft + hop * (frames - 1);
  const Tensor place =
      reshape(add(unsqueeze(arange(0, frames, 1, DType::int64), 1) * Tensor::wrapped(hop),
                  arange(0, n_fft, 1, DType::int64)),
              {1, frames * n_fft});
  const auto overlapped = [&](const Tensor& p) {
    const Tensor flat = reshape(p, {p.size(0), frames * n_fft});
    return scatter_add(zeros({p.size(0), total}, p.dtype()), 1, expand(place, flat.shape()), flat);
  };
  const auto signal = [&](const Tensor& p) {
    if (!is_complex(p.dtype())) return overlapped(p);
    return view_as_complex(stack({overlapped(real(p)), overlapped(imag(p))}, -1));
  };
  const Tensor y = signal(pieces);
  const Tensor weight = signal(expand(unsqueeze(unsqueeze(mul(w, w), 0), 0), {1, frames, n_fft}));

  const std::int64_t start = center ? n_fft / 2 : 0;
  const std::int64_t end = length ? start + *length : center ? total - n_fft / 2 : total;
  if (end < start) call.bad("expected a non-negative length");
  const std::int64_t stop = std::min(end, total);
  const std::int64_t kept = std::max<std::int64_t>(0, stop - start);
  Tensor part = kept == 0 ? narrow(y, 1, 0, 0) : narrow(y, 1, start, kept);
  const Tensor envelope = kept == 0 ? narrow(weight, 1, 0, 0) : narrow(weight, 1, start, kept);
  if (kept > 0) {
    const NoGrad off;
    const double least = amin(abs(envelope)).item();
    if (!(least > 1e-11)) call.bad("window overlap add min: " + std::to_string(least));
  }
  part = div(part, envelope);
  if (end > stop)
    part = cat({part, zeros({part.size(0), end - std::max(start, stop)}, part.dtype())}, 1);
  return self.dim() == 2 ? squeeze(part, {0}) : part;
}

}  // namespace

#define TREADLE_KEYWORDS \
  "*, ScalarType? dtype=None, Device? device=None, bool? requires_grad=None) -> Tensor"
#define TREADLE_WINDOW(function, name, doc)                                          \
  native<function>(name "(int window_length, bool periodic=True, " TREADLE_KEYWORDS, \
                   doc " A periodic one leaves out the last number of one longer.",  \
                   kFunction | kOut, false)

std::span<const OpDef> signal_ops() {
  static constexpr OpDef rows[] = {
      TREADLE_WINDOW(hann, "hann_window", "Hann window: (1 - cos(2 pi i / (n - 1))) / 2."),
      TREADLE_WINDOW(hamming_default, "hamming_window",
                     "Hamming window: 0.54 - 0.46 cos(2 pi i / (n - 1))."),
      native<hamming_alpha>("hamming_window.periodic_alpha(int window_length, bool periodic, float "
                            "alpha, " TREADLE_KEYWORDS,
                            "Hamming window: alpha - 0.46 cos(2 pi i / (n - 1)).", kFunction | kOut,
                            false),
      native<hamming>("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float "
                      "alpha, float beta, " TREADLE_KEYWORDS,
                      "Hamming window: alpha - beta cos(2 pi i / (n - 1)).", kFunction | kOut,
                      false),
      TREADLE_WINDOW(blackman, "blackman_window",
                     "Blackman window: 0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - "
                     "1))."),
      TREADLE_WINDOW(bartlett, "bartlett_window", "Bartlett window: a triangle from 0 to 1 to 0."),
      TREADLE_WINDOW(
          kaiser_default, "kaiser_window",
          "Kaiser window with beta = 12: i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to "
          "1."),
      native<kaiser>(
          "kaiser_window.beta(int window_length, bool periodic, float beta, " TREADLE_KEYWORDS,
          "Kaiser window: i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1.", kFunction | kOut,
          false),
      native<stft>(
          "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
          "window=None, bool center=True, str pad_mode='reflect', bool normalized=False, "
          "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> "
          "Tensor",
          "Short-time Fourier transform of a signal (..., time): Fourier transforms of "
          "windowed pieces of n_fft numbers, hop_length apart; (..., frequency, piece).",
          kFunction | kMethod),
      native<istft>("istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
                    "Tensor? window=None, bool center=True, bool normalized=False, bool? "
                    "onesided=None, int? length=None, bool return_complex=False) -> Tensor",
                    "The inverse of stft: the pieces transformed back, added where they overlap, "
                    "divided by the windows' squares added alike.",
                    kFunction | kMethod),
  };
  return rows;
}
#undef TREADLE_WINDOW
#undef TREADLE_KEYWORDS

}  // namespace treadle
