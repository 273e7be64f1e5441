#include "engine/backend/cpu/fft.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/backend/cpu/fft_butterfly.h"
#include "engine/backend/cpu/pool.h"
#include "engine/functor/math.h"

namespace treadle::fourier {
namespace {

constexpr std::int64_t kLargestPrime = 64;  // above: Bluestein

// e^(-2 pi i k / n), from an angle of at most an eighth of a turn. 0 <= k < n < 2^60.
std::complex<double> root(std::int64_t k, std::int64_t n) {
  const std::int64_t eighths = 8 * k / n;
  const std::int64_t quarter = (eighths + 1) / 2;  // the nearest multiple of n / 4
  const std::int64_t rest = 4 * k - quarter * n;   // of 4 n, exact
  const double angle = static_cast<double>(rest) / static_cast<double>(n) * 1.5707963267948966;
  const double c = functor::cos(angle), s = functor::sin(angle);
  switch (quarter & 3) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

// Numbers beside each other: one array of real parts, one of imaginary ones.
template <class T>
struct Parts {
  T* re;
  T* im;
};
// The arrays of a pair of buffers lie `shift` elements beside where powers of two would put them
// all in the same cache lines.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t n, std::int64_t shift = 0)
      : n_(n), shift_(shift), data_(static_cast<std::size_t>(2 * n + kGap + shift)) {}
  Parts<T> parts() { return {data_.data() + shift_, data_.data() + shift_ + n_ + kGap}; }

 private:
  static constexpr std::int64_t kGap = 64;
  std::int64_t n_, shift_;
  std::vector<T> data_;
};

// One pass: of the remaining length, `radix` is split off. m = what remains after it.
template <class T>
struct Pass {
  std::int64_t radix, m;
  std::vector<std::complex<T>> twiddle;  // [j][k - 1]: w(radix m)^(j k), k = 1 .. radix - 1
  std::vector<std::complex<T>> roots;    // w(radix)^k, of radices without code of their own
};

template <class T>
struct Plan {
  std::int64_t n = 1;
  std::vector<Pass<T>> passes;
  // Bluestein: the chirp e^(-pi i k^2 / n), the transform of its conjugate continued on both sides,
  // divided by its length, and the plan of that length.
  std::vector<std::complex<T>> chirp, filter;
  std::shared_ptr<const Plan> inner;
  // w(2 n)^k, k = 0 .. n: what joins the halves of 2 n real numbers. Only in plans for these.
  std::vector<std::complex<T>> join;
  std::int64_t room() const { return inner ? inner->n : n; }  // elements of a row's buffer
};

std::vector<std::int64_t> factors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  if (n > 1) out.push_back(n);
  return out;
}

// The forward transform of `lanes` sequences whose elements lie beside each other. `x` and `work`
// change places; what is returned is the one that holds the result.
template <class T>
Parts<T> run_passes(const Plan<T>& plan, std::int64_t lanes, Parts<T> x, Parts<T> work) {
  std::int64_t done = lanes;  // numbers beside each other so far
  for (const Pass<T>& pass : plan.passes) {
    const std::int64_t p = pass.radix, m = pass.m;
    for (std::int64_t j = 0; j < m; ++j) {
      const std::int64_t from = j * done, to = j * p * done;
      const Lanes<T> l{done,         x.re + from,  x.im + from, m * done,
                       work.re + to, work.im + to, done,        pass.twiddle.data() + j * (p - 1)};
      switch (p) {
        case 2:
          butterfly2(l);
          break;
        case 3:
          butterfly3(l);
          break;
        case 4:
          butterfly4(l);
          break;
        case 5:
          butterfly5(l);
          break;
        default:
          butterfly(l, p, pass.roots.data());
      }
    }
    std::swap(x, work);
    done *= p;
  }
  return x;
}

// z = z w, of each of `lanes` numbers.
template <class T>
void multiply(T* re, T* im, std::int64_t lanes, std::complex<T> w) {
  for (std::int64_t q = 0; q < lanes; ++q) put(re + q, im + q, re[q], im[q], w);
}

template <class T>
Parts<T> transform(const Plan<T>& plan, std::int64_t lanes, Parts<T> x, Parts<T> work) {
  if (!plan.inner) return run_passes(plan, lanes, x, work);
  // j k = (j^2 + k^2 - (k - j)^2) / 2: a product with the chirp, a convolution with its conjugate,
  // a product with the chirp.
  const std::int64_t n = plan.n, wide = plan.inner->n;
  for (std::int64_t k = 0; k < n; ++k) {
    multiply(x.re + k * lanes, x.im + k * lanes, lanes, plan.chirp[static_cast<std::size_t>(k)]);
  }
  std::fill(x.re + n * lanes, x.re + wide * lanes, T(0));
  std::fill(x.im + n * lanes, x.im + wide * lanes, T(0));
  Parts<T> y = run_passes(*plan.inner, lanes, x, work);
  for (std::int64_t k = 0; k < wide; ++k) {
    multiply(y.re + k * lanes, y.im + k * lanes, lanes, plan.filter[static_cast<std::size_t>(k)]);
  }
  // Backwards: with the parts exchanged.
  const Parts<T> other = y.re == x.re ? work : x;
  const Parts<T> z =
      run_passes(*plan.inner, lanes, Parts<T>{y.im, y.re}, Parts<T>{other.im, other.re});
  const Parts<T> result{z.im, z.re};
  for (std::int64_t k = 0; k < n; ++k) {
    multiply(result.re + k * lanes, result.im + k * lanes, lanes,
             plan.chirp[static_cast<std::size_t>(k)]);
  }
  return result;
}

template <class T>
std::complex<T> narrow(std::complex<double> z) {
  return {static_cast<T>(z.real()), static_cast<T>(z.imag())};
}

// The least number >= n without a prime above 5.
std::int64_t smooth(std::int64_t n) {
  std::int64_t best = 1;
  while (best < n) best *= 2;
  for (std::int64_t five = 1; five < best; five *= 5) {
    for (std::int64_t three = five; three < best; three *= 3) {
      std::int64_t x = three;
      while (x < n) x *= 2;
      best = std::min(best, x);
    }
  }
  return best;
}

template <class T>
std::shared_ptr<const Plan<T>> plan_of(std::int64_t n, bool joins = false);

template <class T>
void make_passes(Plan<T>& plan, const std::vector<std::int64_t>& radices) {
  std::int64_t length = plan.n;
  for (const std::int64_t p : radices) {
    Pass<T> pass{p, length / p, {}, {}};
    pass.twiddle.reserve(static_cast<std::size_t>((p - 1) * pass.m));
    for (std::int64_t j = 0; j < pass.m; ++j) {
      for (std::int64_t k = 1; k < p; ++k) pass.twiddle.push_back(narrow<T>(root(j * k, length)));
    }
    if (p > 5) {
      for (std::int64_t k = 0; k < p; ++k) pass.roots.push_back(narrow<T>(root(k, p)));
    }
    length = pass.m;
    plan.passes.push_back(std::move(pass));
  }
}

template <class T>
void make_chirp(Plan<T>& plan) {
  const std::int64_t n = plan.n, wide = smooth(2 * n - 1);
  plan.inner = plan_of<T>(wide);
  const double scale = 1.0 / static_cast<double>(wide);
  Buffer<double> a(wide), b(wide);
  const Parts<double> x = a.parts();
  std::int64_t square = 0;  // k^2 mod 2 n
  for (std::int64_t k = 0; k < n; ++k) {
    const std::complex<double> w = root(square, 2 * n);
    plan.chirp.push_back(narrow<T>(w));
    for (const std::int64_t at : {k, k == 0 ? 0 : wide - k}) {
      x.re[at] = w.real() * scale;
      x.im[at] = -w.imag() * scale;
    }
    square = (square + 2 * k + 1) % (2 * n);
  }
  const Parts<double> y = run_passes(*plan_of<double>(wide), 1, x, b.parts());
  for (std::int64_t k = 0; k < wide; ++k) plan.filter.push_back(narrow<T>({y.re[k], y.im[k]}));
}

template <class T>
std::shared_ptr<const Plan<T>> make_plan(std::int64_t n, bool joins) {
  auto plan = std::make_shared<Plan<T>>();
  plan->n = n;
  const std::vector<std::int64_t> radices = factors(n);
  if (!radices.empty() && radices.back() > kLargestPrime) {
    make_chirp(*plan);
  } else {
    make_passes(*plan, radices);
  }
  for (std::int64_t k = 0; joins && k <= n; ++k) {
    plan->join.push_back(narrow<T>(root(k, 2 * n)));
  }
  return plan;
}

// The plans used last are kept.
template <class T>
std::shared_ptr<const Plan<T>> plan_of(std::int64_t n, bool joins) {
  constexpr std::size_t kKept = 24;
  static std::mutex mutex;
  static std::list<std::shared_ptr<const Plan<T>>> kept;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      if ((*it)->n != n || (*it)->join.empty() == joins) continue;
      kept.splice(kept.begin(), kept, it);
      return kept.front();
    }
  }
  std::shared_ptr<const Plan<T>> made =
      make_plan<T>(n, joins);  // without the lock: it may ask for others
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_front(made);
  if (kept.size() > kKept) kept.pop_back();
  return made;
}

// Calls row_group(first, count, lanes' buffers) for groups of rows that fit in the cache together.
template <class T, class F>
void for_groups(const Plan<T>& plan, std::int64_t rows, const F& group) {
  const std::int64_t room = plan.room();
  const std::int64_t lanes = std::clamp<std::int64_t>(8192 / room, 1, 16);
  const std::int64_t groups = (rows + lanes - 1) / lanes;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (room * lanes));
  parallel_for(0, groups, grain, [&](std::int64_t begin, std::int64_t end) {
    Buffer<T> a(room * lanes), b(room * lanes, 128);
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t first = g * lanes, count = std::min(lanes, rows - first);
      group(first, count, a.parts(), b.parts());
    }
  });
}

template <class T>
Parts<T> exchanged(Parts<T> p) {
  return {p.im, p.re};
}

}  // namespace

template <class T>
void complex_rows(std::int64_t rows, std::int64_t n, bool backward, double scale,
                  const std::complex<T>* in, std::complex<T>* out) {
  const auto plan = plan_of<T>(n);
  const T factor = static_cast<T>(scale);
  for_groups(*plan, rows, [&](std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
    // A backward transform is a forward one with real and imaginary parts exchanged.
    const Parts<T> x = backward ? exchanged(a) : a;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::complex<T>* row = in + (first + r) * n;
      for (std::int64_t k = 0; k < n; ++k) {
        x.re[k * count + r] = row[k].real();
        x.im[k * count + r] = row[k].imag();
      }
    }
    Parts<T> y = transform(*plan, count, a, b);
    if (backward) y = exchanged(y);
    for (std::int64_t r = 0; r < count; ++r) {
      std::complex<T>* row = out + (first + r) * n;
      for (std::int64_t k = 0; k < n; ++k) {
        row[k] = {y.re[k * count + r] * factor, y.im[k * count + r] * factor};
      }
    }
  });
}

template <class T>
void real_rows(std::int64_t rows, std::int64_t n, double scale, const T* in, std::complex<T>* out) {
  const T factor = static_cast<T>(scale);
  const std::int64_t half = n / 2, wide = half + 1;
  if (n % 2 != 0) {  // as complex numbers
    const auto plan = plan_of<T>(n);
    for_groups(*plan, rows, [&](std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t r = 0; r < count; ++r) a.re[k * count + r] = in[(first + r) * n + k];
      }
      std::fill(a.im, a.im + n * count, T(0));
      const Parts<T> y = transform(*plan, count, a, b);
      for (std::int64_t r = 0; r < count; ++r) {
        std::complex<T>* row = out + (first + r) * wide;
        for (std::int64_t k = 0; k < wide; ++k) {
          row[k] = {y.re[k * count + r] * factor, y.im[k * count + r] * factor};
        }
        row[0].imag(T(0));
      }
    });
    return;
  }
  // Even numbers as real parts, odd ones as imaginary parts: half the length.
  const auto plan = plan_of<T>(half, true);
  for_groups(*plan, rows, [&](std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
    for (std::int64_t r = 0; r < count; ++r) {
      const T* row = in + (first + r) * n;
      for (std::int64_t k = 0; k < half; ++k) {
        a.re[k * count + r] = row[2 * k];
        a.im[k * count + r] = row[2 * k + 1];
      }
    }
    const Parts<T> z = transform(*plan, count, a, b);
    for (std::int64_t r = 0; r < count; ++r) {
      std::complex<T>* row = out + (first + r) * wide;
      for (std::int64_t k = 0; k <= half; ++k) {
        const std::int64_t at = (k == half ? 0 : k) * count + r;
        const std::int64_t mirror = (k == 0 ? 0 : half - k) * count + r;
        // The transforms of the even and of the odd numbers.
        const T er = T(0.5) * (z.re[at] + z.re[mirror]), ei = T(0.5) * (z.im[at] - z.im[mirror]);
        const T or_ = T(0.5) * (z.im[at] + z.im[mirror]), oi = T(0.5) * (z.re[mirror] - z.re[at]);
        const std::complex<T> w = plan->join[static_cast<std::size_t>(k)];
        const T re = er + (or_ * w.real() - oi * w.imag());
        const T im = ei + (or_ * w.imag() + oi * w.real());
        row[k] = {re * factor, (k == 0 || k == half ? T(0) : im) * factor};
      }
    }
  });
}

template <class T>
void half_rows(std::int64_t rows, std::int64_t n, double scale, const std::complex<T>* in, T* out) {
  const T factor = static_cast<T>(scale);
  const std::int64_t half = n / 2, wide = half + 1;
  if (n % 2 != 0) {
    const auto plan = plan_of<T>(n);
    for_groups(*plan, rows, [&](std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
      const Parts<T> x = exchanged(a);
      for (std::int64_t r = 0; r < count; ++r) {
        const std::complex<T>* row = in + (first + r) * wide;
        x.re[r] = row[0].real();
        x.im[r] = T(0);
        for (std::int64_t k = 1; k < wide; ++k) {
          const std::int64_t at = k * count + r, mirror = (n - k) * count + r;
          x.re[at] = x.re[mirror] = row[k].real();
          x.im[at] = row[k].imag();
          x.im[mirror] = -row[k].imag();
        }
      }
      const Parts<T> y = exchanged(transform(*plan, count, a, b));
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t k = 0; k < n; ++k) {
          out[(first + r) * n + k] = y.re[k * count + r] * factor;
        }
      }
    });
    return;
  }
  const auto plan = plan_of<T>(half, true);
  for_groups(*plan, rows, [&](std::int64_t first, std::int64_t count, Parts<T> a, Parts<T> b) {
    const Parts<T> x = exchanged(a);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::complex<T>* row = in + (first + r) * wide;
      for (std::int64_t k = 0; k < half; ++k) {
        const std::complex<T> p = k == 0 ? row[0].real() : row[k];
        const std::complex<T> q = k == 0 ? row[half].real() : row[half - k];
        // e = p + conj(q), o = (p - conj(q)) / w: transforms of the even and of the odd numbers.
        const T er = p.real() + q.real(), ei = p.imag() - q.imag();
        const T dr = p.real() - q.real(), di = p.imag() + q.imag();
        const std::complex<T> w = plan->join[static_cast<std::size_t>(k)];
        const T or_ = dr * w.real() + di * w.imag(), oi = di * w.real() - dr * w.imag();
        x.re[k * count + r] = er - oi;
        x.im[k * count + r] = ei + or_;
      }
    }
    const Parts<T> y = exchanged(transform(*plan, count, a, b));
    for (std::int64_t r = 0; r < count; ++r) {
      T* row = out + (first + r) * n;
      for (std::int64_t k = 0; k < half; ++k) {
        row[2 * k] = y.re[k * count + r] * factor;
        row[2 * k + 1] = y.im[k * count + r] * factor;
      }
    }
  });
}

template void complex_rows<float>(std::int64_t, std::int64_t, bool, double,
                                  const std::complex<float>*, std::complex<float>*);
template void complex_rows<double>(std::int64_t, std::int64_t, bool, double,
                                   const std::complex<double>*, std::complex<double>*);
template void real_rows<float>(std::int64_t, std::int64_t, double, const float*,
                               std::complex<float>*);
template void real_rows<double>(std::int64_t, std::int64_t, double, const double*,
                                std::complex<double>*);
template void half_rows<float>(std::int64_t, std::int64_t, double, const std::complex<float>*,
                               float*);
template void half_rows<double>(std::int64_t, std::int64_t, double, const std::complex<double>*,
                                double*);

}  // namespace treadle::fourier
