// Indexing by int64 arrays and by masks. Every index is checked before the element it names is
// touched.
#include "engine/backend/cpu/kernels/drive.h"

TREADLE_KERNELS_BEGIN

enum class Move { get, put, add };

// Byte offset of position p, or the index that is out of range.
struct Offset {
  int64_t bytes;
  int64_t bad;  // -1: none
};
TREADLE_HD Offset offset_of(const kernel::IndexArgs& a, int64_t p) {
  int64_t bytes = p * a.data_stride;
  for (int64_t k = 0; k < a.indices; ++k) {
    int64_t i = load<int64_t>(a.index[k] + p * a.index_stride[k]);
    if (i < -a.size[k] || i >= a.size[k]) return {0, k};
    i += i < 0 ? a.size[k] : 0;
    bytes += i * a.step[k];
  }
  return {bytes, -1};
}

template <class V, Move M>
int64_t index_move(const kernel::IndexArgs& a) {
  for (int64_t p = 0; p < a.count; ++p) {
    const Offset at = offset_of(a, p);
    if (at.bad >= 0) return p * kernel::kMaxIndices + at.bad;
    char* data = a.data + at.bytes;
    char* values = a.values + p * a.values_stride;
    if constexpr (M == Move::get) {
      copy_row(values, a.values_inner, data, a.data_inner, a.inner, sizeof(V));
    } else if constexpr (M == Move::put) {
      copy_row(data, a.data_inner, values, a.values_inner, a.inner, sizeof(V));
    } else {
      for (int64_t i = 0; i < a.inner; ++i) {
        char* to = data + i * a.data_inner;
        using W = typename Stored<V>::value;
        store<V>(to, static_cast<W>(load<V>(to) + load<V>(values + i * a.values_inner)));
      }
    }
  }
  return -1;
}

int64_t count_true(const char* mask, int64_t n, int64_t stride) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += mask[i * stride] != 0;
  return count;
}
void true_positions(const char* mask, int64_t n, int64_t stride, int64_t* out, int64_t base) {
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i * stride] != 0) *out++ = base + i;
  }
}

template <class... V>
void put_index(kernel::Table& t, Types<V...>) {
  ((t.index_get[DTypeOf<V>::value] = index_move<V, Move::get>), ...);
  ((t.index_put[DTypeOf<V>::value] = index_move<V, Move::put>), ...);
  ((t.index_add[DTypeOf<V>::value] = index_move<V, Move::add>), ...);
}

void fill_index(kernel::Table& table) {
  put_index(table, AllTypes{});
  table.count_true = count_true;
  table.true_positions = true_positions;
}

TREADLE_KERNELS_END
