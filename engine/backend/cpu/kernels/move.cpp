// Casts between every pair of dtypes (to the same one: copies), fill and arange.
#include "engine/backend/cpu/kernels/drive.h"
#include "engine/functor/bits.h"

TREADLE_KERNELS_BEGIN

// Float to integer: towards zero; what doesn't fit int64 (NaN too) is its most negative number, as
// x86's own instruction gives and PyTorch on x86 with it; uint64 holds what fits it. Narrower
// integers take the low bits. Complex to real: the real part.
template <class To, class From>
TREADLE_HD To cast_value(From x) {
  if constexpr (__is_same(To, bool)) {
    return x != From(0);
  } else if constexpr (functor::is_complex<From> && !functor::is_complex<To>) {
    return cast_value<To>(x.re);
  } else if constexpr (functor::is_float<From> && !functor::is_float<To> &&
                       !functor::is_complex<To>) {
    constexpr From limit = From(9223372036854775808.0);  // 2^63
    const bool high = __is_same(To, uint64_t) & (x >= limit) & (x < From(2) * limit);
    const From low = high ? x - limit : x;
    const bool fits = (low >= -limit) & (low < limit);
    const int64_t i = static_cast<int64_t>(fits ? low : From(0));
    const uint64_t u = static_cast<uint64_t>(fits ? i : INT64_MIN);
    return static_cast<To>(u + (high ? uint64_t{1} << 63 : 0));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
uint32_t cast_loop(char* out, const char* const* in, int64_t n, const Params&) {
  auto* o = reinterpret_cast<typename Stored<To>::type*>(out);
  const auto* x = reinterpret_cast<const typename Stored<From>::type*>(in[0]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    o[i] = Stored<To>::store(cast_value<To>(Stored<From>::load(x[i])));
  }
  return kernel::kOk;
}
template <class From, class To>
uint32_t cast(const kernel::MapArgs& args) {
  if constexpr (__is_same(From, To)) {
    for (int64_t j = 0; j < args.size[1]; ++j) {
      copy_row(args.out + j * args.out_stride[1], args.out_stride[0],
               args.in[0] + j * args.in_stride[0][1], args.in_stride[0][0], args.size[0],
               sizeof(To));
    }
    return kernel::kOk;
  } else {
    using A = LoopType<From>;
    using B = LoopType<To>;
    return drive(args, cast_loop<A, B>, {sizeof(B), {sizeof(A)}, codec_of<From>(), codec_of<To>()});
  }
}

template <class V>
uint32_t fill_loop(char* out, const char* const*, int64_t n, const Params& params) {
  const auto x = Stored<V>::store(params.get<V>(0));
  auto* o = reinterpret_cast<typename Stored<V>::type*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = x;
  return kernel::kOk;
}
template <class S>
uint32_t fill_value(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  return drive(args, fill_loop<V>, {sizeof(V), {}, nullptr, codec_of<S>()});
}

// In double for float32 too, as PyTorch: large positions stay exact.
template <class V>
uint32_t arange(const kernel::MapArgs& args) {
  for (int64_t i = 0; i < args.size[0]; ++i) {
    const int64_t at = args.param[2].i + i;
    using W = typename Stored<V>::value;
    W x;
    if constexpr (functor::is_float<W> || functor::is_complex<W>) {
      x = static_cast<W>(args.param[0].f + static_cast<double>(at) * args.param[1].f);
    } else {
      x = static_cast<W>(args.param[0].i + at * args.param[1].i);
    }
    store<V>(args.out + i * args.out_stride[0], x);
  }
  return kernel::kOk;
}

template <class From, class... To>
void put_casts(kernel::Table& t, Types<To...>) {
  ((t.cast[DTypeOf<From>::value][DTypeOf<To>::value] = cast<From, To>), ...);
}
template <class... V>
void put_moves(kernel::Table& t, Types<V...>) {
  (put_casts<V>(t, AllTypes{}), ...);
  ((t.fill[DTypeOf<V>::value] = fill_value<V>), ...);
  ((t.arange[DTypeOf<V>::value] = arange<V>), ...);
}

void fill_move(kernel::Table& table) { put_moves(table, AllTypes{}); }

TREADLE_KERNELS_END
