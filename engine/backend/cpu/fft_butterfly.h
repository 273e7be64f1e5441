// The innermost loops of fft.cpp: transforms of 2, 3, 4, 5 or p numbers, many beside each other.
#pragma once
#include <complex>
#include <cstdint>

namespace treadle::fourier {

// The butterfly of one radix over `lanes` dense numbers. y[k] = (sum of w^(i k) x[i]) t[k].
template <class T>
struct Lanes {
  std::int64_t count;        // numbers beside each other
  const T *re, *im;          // x[0]
  std::int64_t in;           // from x[i] to x[i + 1]
  T *out_re, *out_im;        // y[0]
  std::int64_t out;          // from y[k] to y[k + 1]
  const std::complex<T>* t;  // of k = 1, 2, ...
};

template <class T>
void put(T* re, T* im, T r, T i, std::complex<T> t) {
  *re = r * t.real() - i * t.imag();
  *im = r * t.imag() + i * t.real();
}

template <class T>
void butterfly2(const Lanes<T>& l) {
  const std::complex<T> t = l.t[0];
  for (std::int64_t q = 0; q < l.count; ++q) {
    const T ar = l.re[q], ai = l.im[q], br = l.re[q + l.in], bi = l.im[q + l.in];
    l.out_re[q] = ar + br;
    l.out_im[q] = ai + bi;
    put(l.out_re + q + l.out, l.out_im + q + l.out, ar - br, ai - bi, t);
  }
}
template <class T>
void butterfly3(const Lanes<T>& l) {
  const std::complex<T> t1 = l.t[0], t2 = l.t[1];
  const T half = T(0.5), sine = T(0.8660254037844386);
  for (std::int64_t q = 0; q < l.count; ++q) {
    const T* re = l.re + q;
    const T* im = l.im + q;
    const T sr = re[l.in] + re[2 * l.in], si = im[l.in] + im[2 * l.in];
    const T dr = sine * (re[l.in] - re[2 * l.in]), di = sine * (im[l.in] - im[2 * l.in]);
    const T cr = re[0] - half * sr, ci = im[0] - half * si;
    l.out_re[q] = re[0] + sr;
    l.out_im[q] = im[0] + si;
    put(l.out_re + q + l.out, l.out_im + q + l.out, cr + di, ci - dr, t1);
    put(l.out_re + q + 2 * l.out, l.out_im + q + 2 * l.out, cr - di, ci + dr, t2);
  }
}
template <class T>
void butterfly4(const Lanes<T>& l) {
  const std::complex<T> t1 = l.t[0], t2 = l.t[1], t3 = l.t[2];
  for (std::int64_t q = 0; q < l.count; ++q) {
    const T* re = l.re + q;
    const T* im = l.im + q;
    const T ar = re[0] + re[2 * l.in], ai = im[0] + im[2 * l.in];
    const T br = re[0] - re[2 * l.in], bi = im[0] - im[2 * l.in];
    const T cr = re[l.in] + re[3 * l.in], ci = im[l.in] + im[3 * l.in];
    const T dr = re[l.in] - re[3 * l.in], di = im[l.in] - im[3 * l.in];
    l.out_re[q] = ar + cr;
    l.out_im[q] = ai + ci;
    put(l.out_re + q + l.out, l.out_im + q + l.out, br + di, bi - dr, t1);
    put(l.out_re + q + 2 * l.out, l.out_im + q + 2 * l.out, ar - cr, ai - ci, t2);
    put(l.out_re + q + 3 * l.out, l.out_im + q + 3 * l.out, br - di, bi + dr, t3);
  }
}
template <class T>
void butterfly5(const Lanes<T>& l) {
  const T c1 = T(0.30901699437494745), c2 = T(-0.8090169943749475);  // cos(2 pi/5), cos(4 pi/5)
  const T s1 = T(0.9510565162951535), s2 = T(0.5877852522924731);
  const std::complex<T> t1 = l.t[0], t2 = l.t[1], t3 = l.t[2], t4 = l.t[3];
  for (std::int64_t q = 0; q < l.count; ++q) {
    const T* re = l.re + q;
    const T* im = l.im + q;
    const T ar = re[l.in] + re[4 * l.in], ai = im[l.in] + im[4 * l.in];
    const T br = re[l.in] - re[4 * l.in], bi = im[l.in] - im[4 * l.in];
    const T cr = re[2 * l.in] + re[3 * l.in], ci = im[2 * l.in] + im[3 * l.in];
    const T dr = re[2 * l.in] - re[3 * l.in], di = im[2 * l.in] - im[3 * l.in];
    l.out_re[q] = re[0] + ar + cr;
    l.out_im[q] = im[0] + ai + ci;
    const T ur = re[0] + c1 * ar + c2 * cr, ui = im[0] + c1 * ai + c2 * ci;
    const T vr = s1 * br + s2 * dr, vi = s1 * bi + s2 * di;
    put(l.out_re + q + l.out, l.out_im + q + l.out, ur + vi, ui - vr, t1);
    put(l.out_re + q + 4 * l.out, l.out_im + q + 4 * l.out, ur - vi, ui + vr, t4);
    const T wr = re[0] + c2 * ar + c1 * cr, wi = im[0] + c2 * ai + c1 * ci;
    const T zr = s2 * br - s1 * dr, zi = s2 * bi - s1 * di;
    put(l.out_re + q + 2 * l.out, l.out_im + q + 2 * l.out, wr + zi, wi - zr, t2);
    put(l.out_re + q + 3 * l.out, l.out_im + q + 3 * l.out, wr - zi, wi + zr, t3);
  }
}
template <class T>
void butterfly(const Lanes<T>& l, std::int64_t p, const std::complex<T>* roots) {
  for (std::int64_t q = 0; q < l.count; ++q) {
    const T* re = l.re + q;
    const T* im = l.im + q;
    for (std::int64_t k = 0; k < p; ++k) {
      T sr = re[0], si = im[0];
      std::int64_t at = 0;  // i k mod p
      for (std::int64_t i = 1; i < p; ++i) {
        at += k;
        if (at >= p) at -= p;
        const std::complex<T> w = roots[at];
        sr += re[i * l.in] * w.real() - im[i * l.in] * w.imag();
        si += re[i * l.in] * w.imag() + im[i * l.in] * w.real();
      }
      const std::complex<T> t = k == 0 ? std::complex<T>(1) : l.t[k - 1];
      put(l.out_re + q + k * l.out, l.out_im + q + k * l.out, sr, si, t);
    }
  }
}

}  // namespace treadle::fourier
