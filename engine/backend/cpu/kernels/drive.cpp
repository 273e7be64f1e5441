// The one place where kernels meet strides: runs dense loops over strided rectangles.
#include "engine/backend/cpu/kernels/drive.h"

TREADLE_KERNELS_BEGIN

namespace {

constexpr int kTile = 512;  // elements per buffer: five of 8 bytes stay in a 32 KiB L1

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
    case 4:
      return copy_typed<uint32_t>(to, to_stride, from, from_stride, n);
    default:
      return copy_typed<uint64_t>(to, to_stride, from, from_stride, n);
  }
}

namespace {

// A rectangle whose rows aren't dense. Apart from drive(), which then needs no room for buffers.
[[gnu::noinline]] uint32_t drive_pieces(const kernel::MapArgs& a, Loop loop, Shape shape) {
  const Params& params = reinterpret_cast<const Params&>(a.param);
  const int64_t n = a.size[0], rows = a.size[1];
  uint32_t status = kernel::kOk;
  // Pieces of at most kTile elements: part of a row, or several short rows after each other.
  alignas(64) char buffer[kernel::kMaxInputs + 1][kTile * 8];
  const int64_t width = n < kTile ? n : kTile;
  const int64_t height = kTile / width;
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
        if (h == 1 && a.in_stride[k][0] == size) {
          in[k] = from;
          continue;
        }
        // One value for the whole rectangle: the buffer still holds it.
        if (a.in_stride[k][0] == 0 && a.in_stride[k][1] == 0 && (i > 0 || j > 0)) continue;
        for (int64_t r = 0; r < h; ++r) {
          copy_row(buffer[k] + r * w * size, size, from + r * a.in_stride[k][1], a.in_stride[k][0],
                   w, size);
        }
      }
      char* out = a.out + i * a.out_stride[0] + j * a.out_stride[1];
      if (h == 1 && a.out_stride[0] == shape.out_size) {
        status |= loop(out, in, w, params);
        continue;
      }
      char* to = buffer[kernel::kMaxInputs];
      status |= loop(to, in, w * h, params);
      for (int64_t r = 0; r < h; ++r) {
        copy_row(out + r * a.out_stride[1], a.out_stride[0], to + r * w * shape.out_size,
                 shape.out_size, w, shape.out_size);
      }
    }
  }
  return status;
}

}  // namespace

uint32_t drive(const kernel::MapArgs& a, Loop loop, Shape shape) {
  const Params& params = reinterpret_cast<const Params&>(a.param);
  const int64_t n = a.size[0], rows = a.size[1];
  if (n <= 0 || rows <= 0) return kernel::kOk;
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
