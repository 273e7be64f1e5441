// The one place where kernels meet strides: runs dense loops over strided rectangles.
#include "engine/backend/cpu/kernels/drive.h"

TREADLE_KERNELS_BEGIN

namespace {

constexpr int kBuffer = 4096;  // bytes: five stay in a 32 KiB L1
constexpr int kTile = 512;     // elements at most

struct Sixteen {
  uint64_t low, high;
};

template <class T>
void copy_typed(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  if (from_stride == 0 && to_stride == static_cast<int64_t>(sizeof(T))) {
    const T x = *reinterpret_cast<const T*>(from);
    T* out = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = x;
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(to + i * to_stride) = *reinterpret_cast<const T*>(from + i * from_stride);
  }
}

}  // namespace

void copy_row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n,
              int size) {
  switch (size) {
    case 1:
      return copy_typed<uint8_t>(to, to_stride, from, from_stride, n);
    case 2:
      return copy_typed<uint16_t>(to, to_stride, from, from_stride, n);
    case 4:
      return copy_typed<uint32_t>(to, to_stride, from, from_stride, n);
    case 16:
      return copy_typed<Sixteen>(to, to_stride, from, from_stride, n);
    default:
      return copy_typed<uint64_t>(to, to_stride, from, from_stride, n);
  }
}

namespace {

template <class V>
void widen(char* to, const char* from, int64_t n) {
  auto* o = reinterpret_cast<LoopType<V>*>(to);
  const auto* x = reinterpret_cast<const V*>(from);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<LoopType<V>>(x[i]);
}
template <class V>
void narrow(char* to, const char* from, int64_t n) {
  auto* o = reinterpret_cast<V*>(to);
  const auto* x = reinterpret_cast<const LoopType<V>*>(from);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<V>(x[i]);
}
template <class V>
constexpr Codec kCodec{sizeof(V), sizeof(LoopType<V>), widen<V>, narrow<V>};

template <class V>
const Codec* find(int dtype) {
  if constexpr (__is_same(V, LoopType<V>)) {
    return nullptr;
  } else {
    return dtype == DTypeOf<V>::value ? &kCodec<V> : nullptr;
  }
}
template <class... V>
const Codec* find(int dtype, Types<V...>) {
  const Codec* found = nullptr;
  ((found = found ? found : find<V>(dtype)), ...);
  return found;
}

// A codec where the operand goes through one.
const Codec* applies(const Codec* c, int size) { return c && c->wide == size ? c : nullptr; }

// Rows of an operand, w elements each, into the dense form that the loop reads.
void gather_rows(char* to, const char* from, const int64_t* stride, int64_t h, int64_t w, int size,
                 const Codec* c) {
  if (!c) {
    for (int64_t r = 0; r < h; ++r) {
      copy_row(to + r * w * size, size, from + r * stride[1], stride[0], w, size);
    }
    return;
  }
  alignas(64) char dense[kTile * 4];
  for (int64_t r = 0; r < h; ++r) {
    copy_row(dense + r * w * c->stored, c->stored, from + r * stride[1], stride[0], w, c->stored);
  }
  c->widen(to, dense, w * h);
}
void scatter_rows(char* to, const int64_t* stride, const char* from, int64_t h, int64_t w, int size,
                  const Codec* c) {
  alignas(64) char dense[kTile * 4];
  if (c) {
    c->narrow(dense, from, w * h);
    from = dense;
    size = c->stored;
  }
  for (int64_t r = 0; r < h; ++r) {
    copy_row(to + r * stride[1], stride[0], from + r * w * size, size, w, size);
  }
}

// A rectangle whose rows aren't dense, or whose dtype has no loop of its own. Apart from drive(),
// which then needs no room for buffers.
[[gnu::noinline]] uint32_t drive_pieces(const kernel::MapArgs& a, Loop loop, const Shape& shape) {
  const Params& params = reinterpret_cast<const Params&>(a.param);
  const int64_t n = a.size[0], rows = a.size[1];
  uint32_t status = kernel::kOk;
  const Codec* codecs[kernel::kMaxInputs];
  int largest = shape.out_size;
  for (int k = 0; k < kernel::kMaxInputs; ++k) {
    codecs[k] = applies(shape.in_codec, shape.in_size[k]);
    largest = shape.in_size[k] > largest ? shape.in_size[k] : largest;
  }
  const Codec* out_codec = applies(shape.out_codec, shape.out_size);
  // Pieces of at most `tile` elements: part of a row, or several short rows after each other.
  const int64_t tile = largest * kTile <= kBuffer ? kTile : kBuffer / largest;
  alignas(64) char buffer[kernel::kMaxInputs + 1][kBuffer];
  const int64_t width = n < tile ? n : tile;
  const int64_t height = tile / width;
  for (int64_t j = 0; j < rows; j += height) {
    const int64_t h = rows - j < height ? rows - j : height;
    for (int64_t i = 0; i < n; i += width) {
      const int64_t w = n - i < width ? n - i : width;
      const char* in[kernel::kMaxInputs];
      for (int k = 0; k < kernel::kMaxInputs; ++k) {
        const int size = shape.in_size[k];
        in[k] = buffer[k];
        if (size == 0) continue;
        const char* from = a.in[k] + i * a.in_stride[k][0] + j * a.in_stride[k][1];
        if (h == 1 && a.in_stride[k][0] == size && !codecs[k]) {
          in[k] = from;
          continue;
        }
        // One value for the whole rectangle: the buffer still holds it.
        if (a.in_stride[k][0] == 0 && a.in_stride[k][1] == 0 && (i > 0 || j > 0)) continue;
        gather_rows(buffer[k], from, a.in_stride[k], h, w, size, codecs[k]);
      }
      char* out = a.out + i * a.out_stride[0] + j * a.out_stride[1];
      if (h == 1 && a.out_stride[0] == shape.out_size && !out_codec) {
        status |= loop(out, in, w, params);
        continue;
      }
      char* to = buffer[kernel::kMaxInputs];
      status |= loop(to, in, w * h, params);
      scatter_rows(out, a.out_stride, to, h, w, shape.out_size, out_codec);
    }
  }
  return status;
}

}  // namespace

const Codec* codec(int dtype) { return find(dtype, AllTypes{}); }

uint32_t drive(const kernel::MapArgs& a, Loop loop, const Shape& shape) {
  const Params& params = reinterpret_cast<const Params&>(a.param);
  const int64_t n = a.size[0], rows = a.size[1];
  if (n <= 0 || rows <= 0) return kernel::kOk;
  if (shape.in_codec || shape.out_codec) return drive_pieces(a, loop, shape);
  bool dense = a.out_stride[0] == shape.out_size || n == 1;
  for (int k = 0; k < kernel::kMaxInputs; ++k) {
    dense &= shape.in_size[k] == 0 || a.in_stride[k][0] == shape.in_size[k] || n == 1;
  }
  if (dense && rows == 1) return loop(a.out, a.in, n, params);
  if (!dense || n < 64) return drive_pieces(a, loop, shape);
  uint32_t status = kernel::kOk;
  for (int64_t j = 0; j < rows; ++j) {
    const char* in[kernel::kMaxInputs];
    for (int k = 0; k < kernel::kMaxInputs; ++k) in[k] = a.in[k] + j * a.in_stride[k][1];
    status |= loop(a.out + j * a.out_stride[1], in, n, params);
  }
  return status;
}

TREADLE_KERNELS_END
