"""Special functions: treadle.special.

Elementwise; integers are computed in the default dtype. Some are functions of the package under a
second name. Bessel functions of the second kind are infinite at 0 and NaN below; orthogonal
polynomials take the degree n as a tensor or a number.
"""

from . import _C

airy_ai = _C._special.airy_ai
bessel_j0 = _C._special.bessel_j0
bessel_j1 = _C._special.bessel_j1
bessel_y0 = _C._special.bessel_y0
bessel_y1 = _C._special.bessel_y1
chebyshev_polynomial_t = _C._special.chebyshev_polynomial_t
chebyshev_polynomial_u = _C._special.chebyshev_polynomial_u
chebyshev_polynomial_v = _C._special.chebyshev_polynomial_v
chebyshev_polynomial_w = _C._special.chebyshev_polynomial_w
digamma = _C.digamma
entr = _C._special.entr
erf = _C.erf
erfc = _C.erfc
erfcx = _C._special.erfcx
erfinv = _C.erfinv
exp2 = _C.exp2
expit = _C.sigmoid
expm1 = _C.expm1
gammainc = _C.igamma
gammaincc = _C.igammac
gammaln = _C.lgamma
hermite_polynomial_h = _C._special.hermite_polynomial_h
hermite_polynomial_he = _C._special.hermite_polynomial_he
i0 = _C.i0
i0e = _C._special.i0e
i1 = _C._special.i1
i1e = _C._special.i1e
laguerre_polynomial_l = _C._special.laguerre_polynomial_l
legendre_polynomial_p = _C._special.legendre_polynomial_p
log1p = _C.log1p
log_ndtr = _C._special.log_ndtr
log_softmax = _C.log_softmax
logit = _C.logit
logsumexp = _C.logsumexp
modified_bessel_i0 = _C._special.modified_bessel_i0
modified_bessel_i1 = _C._special.modified_bessel_i1
modified_bessel_k0 = _C._special.modified_bessel_k0
modified_bessel_k1 = _C._special.modified_bessel_k1
multigammaln = _C.mvlgamma
ndtr = _C._special.ndtr
ndtri = _C._special.ndtri
polygamma = _C.polygamma
psi = _C.digamma
round = _C.round
shifted_chebyshev_polynomial_t = _C._special.shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u = _C._special.shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v = _C._special.shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w = _C._special.shifted_chebyshev_polynomial_w
scaled_modified_bessel_k0 = _C._special.scaled_modified_bessel_k0
scaled_modified_bessel_k1 = _C._special.scaled_modified_bessel_k1
sinc = _C.sinc
softmax = _C.softmax
spherical_bessel_j0 = _C._special.spherical_bessel_j0
xlog1py = _C._special.xlog1py
xlogy = _C.xlogy
zeta = _C._special.zeta
