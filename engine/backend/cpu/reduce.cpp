#include "engine/backend/cpu/reduce.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/core/visit.h"
#include "engine/functor/reduce.h"

namespace treadle {
namespace {

using functor::IndexOf;
using kernel::ReduceArgs;

// A chunk of 2^5 of the kernels' blocks of 2^10: a whole subtree of their tree of additions
// (kernels/tree.h), so that cutting here changes nothing.
constexpr std::int64_t kChunk = std::int64_t{1} << 15;

// The kernels' counter over chunks: pairwise, the rest from the right.
template <class A, class Join>
A join_chunks(const std::vector<A>& part, const Join& join) {
  std::vector<A> stack;
  for (std::size_t i = 0; i < part.size(); ++i) {
    A a = part[i];
    for (std::size_t k = i + 1; (k & 1) == 0; k >>= 1) {
      a = join(stack.back(), a);
      stack.pop_back();
    }
    stack.push_back(a);
  }
  A a = stack.back();
  stack.pop_back();
  for (; !stack.empty(); stack.pop_back()) a = join(stack.back(), a);
  return a;
}

// The results of one output's chunks, by a kernel that writes type A (and the positions).
template <class A>
struct Parts {
  std::vector<A> value;
  std::vector<std::int64_t> index;
};
template <class A>
Parts<A> run_chunks(kernel::ReduceFn fn, const ReduceArgs& args, bool with_index) {
  const std::int64_t chunks = (args.count + kChunk - 1) / kChunk;
  Parts<A> out;
  out.value.resize(static_cast<std::size_t>(chunks));
  if (with_index) out.index.resize(static_cast<std::size_t>(chunks));
  parallel_for(0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      ReduceArgs piece = args;
      piece.outer = 1;
      piece.in += c * kChunk * args.in_reduce;
      piece.count = std::min(kChunk, args.count - c * kChunk);
      piece.out = reinterpret_cast<char*>(&out.value[static_cast<std::size_t>(c)]);
      piece.index =
          with_index ? reinterpret_cast<char*>(&out.index[static_cast<std::size_t>(c)]) : nullptr;
      piece.index_base = args.index_base + c * kChunk;
      fn(piece);
    }
  });
  return out;
}

template <class Op, class A>
void cut_sum(int id, DType dtype, const ReduceArgs& args) {
  const Parts<A> parts = run_chunks<A>(table().reduce[id][static_cast<int>(dtype)], args, false);
  *reinterpret_cast<A*>(args.out) =
      join_chunks(parts.value, [](A a, A b) { return Op::join(a, b); });
}

template <class Op, class V>
void cut_choice(int value_id, bool value_out, DType dtype, const ReduceArgs& args) {
  const Parts<V> parts = run_chunks<V>(table().reduce[value_id][static_cast<int>(dtype)], args,
                                       !value_out || args.index != nullptr);
  std::size_t best = 0;
  for (std::size_t c = 1; c < parts.value.size(); ++c) {
    if (Op::better(parts.value[best], parts.value[c])) best = c;
  }
  if (!value_out) {
    *reinterpret_cast<std::int64_t*>(args.out) = parts.index[best];
    return;
  }
  *reinterpret_cast<V*>(args.out) = parts.value[best];
  if (args.index) *reinterpret_cast<std::int64_t*>(args.index) = parts.index[best];
}

template <class Op>
void cut_sum_of(int id, DType dtype, const ReduceArgs& args) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
      return cut_sum<Op, float>(id, dtype, args);
    case DType::float64:
      return cut_sum<Op, double>(id, dtype, args);
    case DType::complex32:
    case DType::complex64:
      return cut_sum<Op, Complex64>(id, dtype, args);
    case DType::complex128:
      return cut_sum<Op, Complex128>(id, dtype, args);
    default:
      return cut_sum<Op, std::int64_t>(id, dtype, args);
  }
}
template <class Op>
void cut_choice_of(bool value_out, DType dtype, const ReduceArgs& args) {
  constexpr int id = IndexOf<Op, functor::Reduce>::value;
  visit(dtype, "max", [&](auto zero) {
    // A vector<bool> isn't an array of bool.
    using V =
        std::conditional_t<std::is_same_v<decltype(zero), bool>, std::uint8_t, decltype(zero)>;
    cut_choice<Op, V>(id, value_out, dtype, args);
  });
}

// One output, an axis of several chunks.
void reduce_cut(int id, DType dtype, const ReduceArgs& args) {
  switch (id) {
    case IndexOf<functor::Sum, functor::Reduce>::value:
      return cut_sum_of<functor::Sum>(id, dtype, args);
    case IndexOf<functor::Prod, functor::Reduce>::value:
      return cut_sum_of<functor::Prod>(id, dtype, args);
    case IndexOf<functor::Any, functor::Reduce>::value:
      return cut_sum<functor::Any, std::uint8_t>(id, dtype, args);
    case IndexOf<functor::All, functor::Reduce>::value:
      return cut_sum<functor::All, std::uint8_t>(id, dtype, args);
    case IndexOf<functor::Max, functor::Reduce>::value:
      return cut_choice_of<functor::Max>(true, dtype, args);
    case IndexOf<functor::Min, functor::Reduce>::value:
      return cut_choice_of<functor::Min>(true, dtype, args);
    case IndexOf<functor::ArgMax, functor::Reduce>::value:
      return cut_choice_of<functor::Max>(false, dtype, args);
    case IndexOf<functor::ArgMin, functor::Reduce>::value:
      return cut_choice_of<functor::Min>(false, dtype, args);
    default:
      table().reduce[id][static_cast<int>(dtype)](args);  // an op that can't be cut
  }
}

}  // namespace

void reduce(int id, DType dtype, const ReduceArgs& args) {
  const kernel::ReduceFn fn = table().reduce[id][static_cast<int>(dtype)];
  if (fn == nullptr)
    fail(ErrorKind::not_implemented,
         "this reduction is not implemented for dtype " + std::string(info(dtype).name));
  const std::int64_t count = std::max<std::int64_t>(1, args.count);
  if (args.outer * count <= kGrain) return fn(args);
  if (args.count >= 2 * kChunk && args.outer <= 4) {
    for (std::int64_t o = 0; o < args.outer; ++o) {
      ReduceArgs one = args;
      one.outer = 1;
      one.in += o * args.in_outer;
      one.out += o * args.out_stride;
      if (args.index) one.index += o * args.index_stride;
      reduce_cut(id, dtype, one);
    }
    return;
  }
  // Outputs beside each other are reduced 32 columns at a time.
  const std::int64_t grain = (std::max<std::int64_t>(1, kGrain / count) + 31) / 32 * 32;
  parallel_for(0, args.outer, count > kGrain ? 1 : grain,
               [&](std::int64_t begin, std::int64_t end) {
                 ReduceArgs piece = args;
                 piece.outer = end - begin;
                 piece.in += begin * args.in_outer;
                 piece.out += begin * args.out_stride;
                 if (args.index) piece.index += begin * args.index_stride;
                 fn(piece);
               });
}

void map_rows(kernel::RowFn fn, const kernel::RowArgs& args) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, args.count));
  parallel_for(0, args.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    kernel::RowArgs piece = args;
    piece.rows = end - begin;
    piece.out += begin * args.out_stride;
    for (int k = 0; k < 2; ++k) {
      if (piece.in[k]) piece.in[k] += begin * args.in_stride[k];
    }
    fn(piece);
  });
}

}  // namespace treadle
