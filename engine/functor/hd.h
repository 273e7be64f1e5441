// The namespace and qualifiers of everything in functor/. The same source is compiled once per CPU
// ISA (by g++ and clang), by nvcc and by NVRTC, so it includes no standard header but <stdint.h>.
//
// ISA fence: each translation unit that includes functor/ defines TREADLE_ISA (base, avx2, avx512,
// neon, sve; `host` in ordinary code), and all names live in that inline namespace. Two objects
// then never share a symbol, and the linker can't put AVX code into a baseline caller.
#pragma once
#include <stdint.h>

#ifndef TREADLE_ISA
#define TREADLE_ISA host
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define TREADLE_HD __host__ __device__ __forceinline__
#define TREADLE_NOINLINE inline __host__ __device__ __noinline__
#else
#define TREADLE_HD inline __attribute__((always_inline))
#define TREADLE_NOINLINE inline __attribute__((noinline))
#endif

#define TREADLE_FUNCTOR_BEGIN    \
  namespace treadle {            \
  inline namespace TREADLE_ISA { \
  namespace functor {
#define TREADLE_FUNCTOR_END \
  }                         \
  }                         \
  }
