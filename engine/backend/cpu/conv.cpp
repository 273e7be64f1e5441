// Convolution as matrix products: the windows of some output positions are laid out as columns
// (im2col), a tile at a time, and multiplied with the weights.
#include "engine/backend/cpu/conv.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/error.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

// Elements of the columns of one tile.
constexpr std::int64_t kTile = 1 << 17;
constexpr std::int64_t kMinColumns = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The run of output positions [first, last) of a line of `n` whose input lies in [0, size).
struct Run {
  std::int64_t first, last;
};
Run inside(std::int64_t offset, std::int64_t stride, std::int64_t size, std::int64_t from,
           std::int64_t to) {
  Run r{from, to};
  if (offset < 0) r.first = std::max(r.first, ceil_div(-offset, stride));
  r.last = offset >= size ? r.first : std::min(r.last, (size - 1 - offset) / stride + 1);
  r.last = std::max(r.last, r.first);
  return r;
}

// Calls segment(column, input, first, last, end) for the lines of outputs that [begin, end) cuts
// out, for one element k of the window: columns [column, column + (end - from)) of the tile, of
// which those in [first, last) have an input; input is the position of the first such one, apart by
// stride[2].
template <class F>
void for_lines(const Windows& w, const std::int64_t k[3], std::int64_t begin, std::int64_t end,
               const F& segment) {
  const std::int64_t width = w.out[2];
  std::int64_t offset[3];
  for (int d = 0; d < 3; ++d) offset[d] = k[d] * w.dilation[d] - w.pad[d];
  for (std::int64_t p = begin; p < end;) {
    const std::int64_t row = p / width, from = p % width;
    const std::int64_t to = std::min(width, from + end - p);
    const std::int64_t i0 = row / w.out[1] * w.stride[0] + offset[0];
    const std::int64_t i1 = row % w.out[1] * w.stride[1] + offset[1];
    Run run{from, from};
    if (i0 >= 0 && i0 < w.in[0] && i1 >= 0 && i1 < w.in[1]) {
      run = inside(offset[2], w.stride[2], w.in[2], from, to);
    }
    const std::int64_t input =
        run.first < run.last ? (i0 * w.in[1] + i1) * w.in[2] + run.first * w.stride[2] + offset[2]
                             : 0;
    segment(p - begin, input, run.first - from, run.last - from, to - from);
    p += to - from;
  }
}

template <class F>
void for_taps(const Windows& w, const F& f) {
  std::int64_t k[3], row = 0;
  for (k[0] = 0; k[0] < w.kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < w.kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < w.kernel[2]; ++k[2]) f(k, row++);
    }
  }
}

// columns[c, k, p - begin] of `channels` planes for output positions [begin, end).
template <class T>
void gather(const Windows& w, const T* image, std::int64_t channels, std::int64_t begin,
            std::int64_t end, T* columns) {
  const std::int64_t line = end - begin, step = w.stride[2];
  for (std::int64_t c = 0; c < channels; ++c) {
    const T* plane = image + c * w.inputs();
    for_taps(w, [&](const std::int64_t* k, std::int64_t row) {
      T* out = columns + (c * w.taps() + row) * line;
      for_lines(w, k, begin, end,
                [&](std::int64_t column, std::int64_t input, std::int64_t first, std::int64_t last,
                    std::int64_t n) {
                  T* to = out + column;
                  std::fill(to, to + first, T{});
                  if (step == 1) {
                    std::copy(plane + input, plane + input + (last - first), to + first);
                  } else {
                    for (std::int64_t i = first; i < last; ++i) {
                      to[i] = plane[input + (i - first) * step];
                    }
                  }
                  std::fill(to + last, to + n, T{});
                });
    });
  }
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return a + b;
  }
}

// The reverse: adds the columns to the image.
template <class T>
void scatter(const Windows& w, const T* columns, std::int64_t channels, std::int64_t begin,
             std::int64_t end, T* image) {
  const std::int64_t line = end - begin, step = w.stride[2];
  for (std::int64_t c = 0; c < channels; ++c) {
    T* plane = image + c * w.inputs();
    for_taps(w, [&](const std::int64_t* k, std::int64_t row) {
      const T* in = columns + (c * w.taps() + row) * line;
      for_lines(w, k, begin, end,
                [&](std::int64_t column, std::int64_t input, std::int64_t first, std::int64_t last,
                    std::int64_t) {
                  const T* from = in + column;
                  for (std::int64_t i = first; i < last; ++i) {
                    T& to = plane[input + (i - first) * step];
                    to = plus(to, from[i]);
                  }
                });
    });
  }
}

// What the three products share: sizes within a group, and tiles of output positions.
template <class T>
struct Plan {
  explicit Plan(const ConvShape& s)
      : shape(s),
        in_channels(s.in_channels / s.groups),
        out_channels(s.out_channels / s.groups),
        taps(s.taps()),
        rows(in_channels * taps),
        inputs(s.inputs()),
        outputs(s.outputs()),
        direct(s.trivial()) {}

  const ConvShape& shape;
  std::int64_t in_channels, out_channels, taps, rows, inputs, outputs;
  bool direct;  // the image is its own columns

  std::int64_t tile(std::int64_t channels) const {
    return std::min(outputs,
                    std::max(kMinColumns, kTile / std::max<std::int64_t>(1, channels * taps)));
  }
  // Channels of the input that are worked on together where outputs can't be split over threads.
  std::int64_t block() const { return std::max<std::int64_t>(1, ceil_div(in_channels, 8)); }

  static kernel::GemmArgs product(std::int64_t m, std::int64_t k, std::int64_t n, bool add) {
    kernel::GemmArgs g{};
    g.m = m, g.k = k, g.n = n;
    g.alpha = {1, 1, 0};
    if (add) g.beta = {1, 1, 0};
    return g;
  }
};

template <class T>
void set(const T* p, std::int64_t row, std::int64_t col, const char*& base, std::int64_t& row_bytes,
         std::int64_t& col_bytes) {
  base = reinterpret_cast<const char*>(p);
  row_bytes = row * static_cast<std::int64_t>(sizeof(T));
  col_bytes = col * static_cast<std::int64_t>(sizeof(T));
}
template <class T>
void multiply(DType dtype, kernel::GemmArgs g, const T* a, std::int64_t a_row, std::int64_t a_col,
              const T* b, std::int64_t b_row, std::int64_t b_col, T* c, std::int64_t c_row) {
  const char* out = nullptr;
  set(a, a_row, a_col, g.a, g.a_row, g.a_col);
  set(b, b_row, b_col, g.b, g.b_row, g.b_col);
  set(c, c_row, 1, out, g.c_row, g.c_col);
  g.c = reinterpret_cast<char*>(c);
  gemm(dtype, g);
}

template <class T>
void output(DType dtype, const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const Plan<T> plan(s);
  const std::int64_t tile = plan.tile(plan.in_channels), tiles = ceil_div(plan.outputs, tile);
  const std::int64_t m = plan.out_channels, k = plan.rows;
  parallel_for(0, s.batch * s.groups * tiles, 1, [&](std::int64_t from, std::int64_t to) {
    std::unique_ptr<T[]> columns;
    if (!plan.direct) {
      columns = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(k * tile));
    }
    for (std::int64_t unit = from; unit < to; ++unit) {
      const std::int64_t image = unit / tiles, g = image % s.groups;
      const std::int64_t begin = unit % tiles * tile, end = std::min(plan.outputs, begin + tile);
      const T* in = x + image * plan.in_channels * plan.inputs;
      T* out = y + image * m * plan.outputs + begin;
      if (bias) {
        for (std::int64_t o = 0; o < m; ++o) {
          std::fill(out + o * plan.outputs, out + o * plan.outputs + (end - begin),
                    bias[g * m + o]);
        }
      }
      if (!plan.direct) gather(s, in, plan.in_channels, begin, end, columns.get());
      multiply(dtype, Plan<T>::product(m, k, end - begin, bias != nullptr), w + g * m * k, k, 1,
               plan.direct ? in + begin : columns.get(), plan.direct ? plan.outputs : end - begin,
               1, out, plan.outputs);
    }
  });
}

template <class T>
void input(DType dtype, const ConvShape& s, const T* y, const T* w, T* x) {
  const Plan<T> plan(s);
  const std::int64_t block = plan.block(), blocks = ceil_div(plan.in_channels, block);
  const std::int64_t tile = plan.tile(block);
  const std::int64_t m = plan.out_channels;
  parallel_for(0, s.batch * s.groups * blocks, 1, [&](std::int64_t from, std::int64_t to) {
    std::unique_ptr<T[]> columns;
    if (!plan.direct) {
      columns =
          std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(block * plan.taps * tile));
    }
    for (std::int64_t unit = from; unit < to; ++unit) {
      const std::int64_t image = unit / blocks, g = image % s.groups;
      const std::int64_t first = unit % blocks * block;
      const std::int64_t channels = std::min(block, plan.in_channels - first);
      const std::int64_t rows = channels * plan.taps;
      T* out = x + (image * plan.in_channels + first) * plan.inputs;
      const T* in = y + image * m * plan.outputs;
      const T* weight = w + g * m * plan.rows + first * plan.taps;
      if (plan.direct) {
        multiply(dtype, Plan<T>::product(rows, m, plan.outputs, false), weight, 1, plan.rows, in,
                 plan.outputs, 1, out, plan.outputs);
        continue;
      }
      std::fill(out, out + channels * plan.inputs, T{});
      for (std::int64_t begin = 0; begin < plan.outputs; begin += tile) {
        const std::int64_t end = std::min(plan.outputs, begin + tile);
        multiply(dtype, Plan<T>::product(rows, m, end - begin, false), weight, 1, plan.rows,
                 in + begin, plan.outputs, 1, columns.get(), end - begin);
        scatter(s, columns.get(), channels, begin, end, out);
      }
    }
  });
}

template <class T>
void weight(DType dtype, const ConvShape& s, const T* y, const T* x, T* w) {
  const Plan<T> plan(s);
  const std::int64_t block = plan.block(), blocks = ceil_div(plan.in_channels, block);
  const std::int64_t tile = plan.tile(block);
  const std::int64_t m = plan.out_channels, size = s.out_channels * plan.rows;
  // Few channels: the images are split too, each part with a sum of its own.
  const std::int64_t parts = s.groups * blocks >= 8 ? 1 : std::clamp<std::int64_t>(s.batch, 1, 8);
  std::vector<T> partial(static_cast<std::size_t>(parts > 1 ? (parts - 1) * size : 0));
  std::fill(w, w + size, T{});
  parallel_for(0, parts * s.groups * blocks, 1, [&](std::int64_t from, std::int64_t to) {
    std::unique_ptr<T[]> columns;
    if (!plan.direct) {
      columns =
          std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(block * plan.taps * tile));
    }
    for (std::int64_t unit = from; unit < to; ++unit) {
      const std::int64_t part = unit / (s.groups * blocks);
      const std::int64_t g = unit / blocks % s.groups, first = unit % blocks * block;
      const std::int64_t channels = std::min(block, plan.in_channels - first);
      const std::int64_t rows = channels * plan.taps;
      T* out = (part == 0 ? w : partial.data() + (part - 1) * size) + g * m * plan.rows +
               first * plan.taps;
      for (std::int64_t n = s.batch * part / parts; n < s.batch * (part + 1) / parts; ++n) {
        const T* in = x + ((n * s.groups + g) * plan.in_channels + first) * plan.inputs;
        const T* grad = y + (n * s.groups + g) * m * plan.outputs;
        for (std::int64_t begin = 0; begin < plan.outputs; begin += tile) {
          const std::int64_t end = std::min(plan.outputs, begin + tile);
          if (!plan.direct) gather(s, in, channels, begin, end, columns.get());
          multiply(dtype, Plan<T>::product(m, end - begin, rows, true), grad + begin, plan.outputs,
                   1, plan.direct ? in + begin : columns.get(), 1,
                   plan.direct ? plan.outputs : end - begin, out, plan.rows);
        }
      }
    }
  });
  for (std::int64_t part = 1; part < parts; ++part) {
    const T* more = partial.data() + (part - 1) * size;
    for (std::int64_t i = 0; i < size; ++i) w[i] = plus(w[i], more[i]);
  }
}

template <class F>
void visit_product(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(Complex64{});
    case DType::complex128:
      return f(Complex128{});
    case DType::int64:
      return f(std::int64_t{});
    default:
      no_implementation(dtype, "convolution");
  }
}
template <class T>
const T* as(const char* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
T* as(char* p) {
  return reinterpret_cast<T*>(p);
}

}  // namespace

bool Windows::trivial() const {
  for (int d = 0; d < 3; ++d) {
    if (kernel[d] != 1 || stride[d] != 1 || pad[d] != 0 || in[d] != out[d]) return false;
  }
  return true;
}

void conv_output(DType dtype, const ConvShape& shape, const char* x, const char* w,
                 const char* bias, char* y) {
  visit_product(dtype, [&](auto zero) {
    using T = decltype(zero);
    output(dtype, shape, as<T>(x), as<T>(w), as<T>(bias), as<T>(y));
  });
}
void conv_input(DType dtype, const ConvShape& shape, const char* y, const char* w, char* x) {
  visit_product(dtype, [&](auto zero) {
    using T = decltype(zero);
    input(dtype, shape, as<T>(y), as<T>(w), as<T>(x));
  });
}
void conv_weight(DType dtype, const ConvShape& shape, const char* y, const char* x, char* w) {
  visit_product(dtype, [&](auto zero) {
    using T = decltype(zero);
    weight(dtype, shape, as<T>(y), as<T>(x), as<T>(w));
  });
}

void unfold_windows(DType dtype, const Windows& windows, std::int64_t planes, const char* image,
                    char* columns) {
  visit_any(dtype, "unfold", [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t size = windows.taps() * windows.outputs();
    parallel_for(0, planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, size)),
                 [&](std::int64_t from, std::int64_t to) {
                   for (std::int64_t p = from; p < to; ++p) {
                     gather(windows, as<T>(image) + p * windows.inputs(), 1, 0, windows.outputs(),
                            as<T>(columns) + p * size);
                   }
                 });
  });
}
void fold_windows(DType dtype, const Windows& windows, std::int64_t planes, const char* columns,
                  char* image) {
  visit_any(dtype, "fold", [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t size = windows.taps() * windows.outputs();
    parallel_for(0, planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, size)),
                 [&](std::int64_t from, std::int64_t to) {
                   for (std::int64_t p = from; p < to; ++p) {
                     T* plane = as<T>(image) + p * windows.inputs();
                     std::fill(plane, plane + windows.inputs(), T{});
                     scatter(windows, as<T>(columns) + p * size, 1, 0, windows.outputs(), plane);
                   }
                 });
  });
}

}  // namespace treadle
