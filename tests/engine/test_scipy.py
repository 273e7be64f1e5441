"""SciPy's functions for arrays of any library run on tensors, and give what they give for NumPy's.

SciPy reads SCIPY_ARRAY_API when it is imported, so the calls are made in a process of their own.
To add a function: its name in GROUPS, beside its arguments, or a case of its own in CASES. x and p
are vectors of 6, m is a matrix of 5 x 6, and xp the namespace.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy")

# Module, arguments, functions.
GROUPS = (
    (
        "special",
        "x",
        "digamma entr erf erfc exp1 expi expit gammaln i0 i0e i1 i1e j0 j1 k0 k1 k0e k1e log_ndtr "
        "ndtr psi log1p expm1 cbrt exp2 exp10 rgamma gamma y0 y1 log_expit",
    ),
    ("special", "p", "erfinv logit ndtri"),
    (
        "special",
        "x + 1, x",
        "xlogy xlog1py rel_entr kl_div gammainc gammaincc beta betaln zeta chdtr chdtrc pdtr poch "
        "binom hyp0f1 boxcox agm",
    ),
    ("special", "x, p", "gammaincinv gammainccinv chdtri stdtrit"),
    ("special", "x, x, p", "betainc betaincc betaincinv"),
    ("fft", "x", "fft ifft rfft ihfft hfft dct idct dst idst fftshift ifftshift"),
    ("fft", "m", "fft2 fftn dctn dstn"),
    (
        "stats",
        "x",
        "gmean hmean sem entropy tmean tvar tstd tsem tmin tmax circmean circvar circstd skew "
        "kurtosis variation zscore gzscore iqr median_abs_deviation differential_entropy rankdata "
        "gstd lmoment",
    ),
    ("signal", "x", "detrend hilbert medfilt cspline1d qspline1d"),
    ("signal", "x, p", "convolve fftconvolve oaconvolve"),
    ("signal", "m, m", "convolve2d correlate2d"),
    (
        "ndimage",
        "m",
        "uniform_filter sobel prewitt laplace spline_filter sum_labels mean variance maximum "
        "median",
    ),
    (
        "ndimage",
        "m, 3",
        "median_filter maximum_filter minimum_filter grey_erosion grey_dilation white_tophat "
        "morphological_gradient",
    ),
    ("ndimage", "m, 1.0", "gaussian_filter gaussian_laplace gaussian_gradient_magnitude"),
    (
        "ndimage",
        "m > 1",
        "binary_erosion binary_dilation binary_fill_holes distance_transform_edt "
        "distance_transform_cdt",
    ),
    ("integrate", "x", "trapezoid cumulative_trapezoid"),
    ("optimize", "x", "rosen rosen_der rosen_hess"),
    ("signal.windows", "7, xp=xp", "hann hamming blackman bartlett cosine tukey flattop nuttall"),
    ("cluster.hierarchy", "m", "linkage ward average"),
)
# Functions that give a result with a statistic and a p-value.
TESTS = (
    ("x, 0.5", "ttest_1samp"),
    ("x", "chisquare power_divergence jarque_bera"),
    ("m.reshape(-1)", "skewtest kurtosistest normaltest"),
    (
        "x, p",
        "ttest_ind ttest_rel pearsonr mannwhitneyu f_oneway bartlett levene fligner kruskal ansari "
        "mood cramervonmises_2samp epps_singleton_2samp chatterjeexi",
    ),
    ("x - p", "wilcoxon"),
    ("x, p, x * p", "friedmanchisquare"),
    ("p", "combine_pvalues"),
)
ORDER_2 = "xp.asarray([[1.0, 2.0, 1.0, 1.0, -0.5, 0.1]], dtype=xp.float64)"
RANGE = "xp.arange(6.0, dtype=xp.float64)"
CASES = {
    **{f"{a}.{f}": f"{a}.{f}({b})" for a, b, names in GROUPS for f in names.split()},
    **{f"stats.{f}": f"stats.{f}({a}).pvalue" for a, names in TESTS for f in names.split()},
    "special.logsumexp": "special.logsumexp(m, axis=1)",
    "special.softmax": "special.softmax(m, axis=0)",
    "special.log_softmax": "special.log_softmax(m)",
    "special.multigammaln": "special.multigammaln(x + 3, 2)",
    "special.polygamma": "special.polygamma(1, x)",
    "special.hyp2f1": "special.hyp2f1(x, x, x + 1, p)",
    "fft.irfft": "fft.irfft(fft.rfft(x))",
    "fft.fht": "fft.fht(x, 0.1, 1.0)",
    "fft.fftfreq": "fft.fftfreq(4, xp=xp)",
    "stats.pmean": "stats.pmean(x, 2)",
    "stats.moment": "stats.moment(x, 3)",
    "stats.kstat": "stats.kstat(x, 3)",
    "stats.zmap": "stats.zmap(x, p)",
    "stats.zscore.axis": "stats.zscore(m, axis=1)",
    "stats.quantile": "stats.quantile(x, p)",
    "stats.trim_mean": "stats.trim_mean(x, 0.2)",
    "stats.mode": "stats.mode(x).mode",
    "stats.describe": "stats.describe(x).variance",
    "stats.directional_stats": "stats.directional_stats(m).mean_direction",
    "stats.false_discovery_control": "stats.false_discovery_control(p)",
    "signal.hilbert2": "signal.hilbert2(m)",
    "signal.resample": "signal.resample(x, 4)",
    "signal.resample_poly": "signal.resample_poly(x, 2, 1)",
    "signal.lfilter": "signal.lfilter(p, 1 + x, x)",
    "signal.lfilter_zi": "signal.lfilter_zi(p[:2], 1 + x[:2])",
    "signal.filtfilt": "signal.filtfilt(p[:2], x[:2], m.reshape(-1))",
    "signal.sosfilt": f"signal.sosfilt({ORDER_2}, x)",
    "signal.sosfiltfilt": f"signal.sosfiltfilt({ORDER_2}, m.reshape(-1))",
    "signal.savgol_filter": "signal.savgol_filter(x, 3, 1)",
    "signal.upfirdn": "signal.upfirdn(p, x, 2)",
    "signal.medfilt2d": "signal.medfilt2d(m)",
    "signal.freqz": "signal.freqz(p, 1 + x)[1]",
    "signal.bilinear": "signal.bilinear(p, 1 + x)[0]",
    "signal.zpk2tf": "signal.zpk2tf(p, x, 1.0)[0]",
    "signal.windows.kaiser": "signal.windows.kaiser(7, 5.0, xp=xp)",
    "signal.windows.dpss": "signal.windows.dpss(7, 2.0, xp=xp)",
    "ndimage.correlate1d": "ndimage.correlate1d(m, p[:3])",
    "ndimage.percentile_filter": "ndimage.percentile_filter(m, 20, 3)",
    "ndimage.zoom": "ndimage.zoom(m, 2)",
    "ndimage.shift": "ndimage.shift(m, 0.5)",
    "ndimage.rotate": "ndimage.rotate(m, 30.0)",
    "ndimage.map_coordinates": "ndimage.map_coordinates(m, m[:2])",
    "ndimage.fourier_gaussian": "ndimage.fourier_gaussian(fft.fft2(m), 1.0)",
    "ndimage.histogram": "ndimage.histogram(m, 0, 2, 4)",
    "ndimage.label": "ndimage.label(m > 1)[0]",
    "integrate.tanhsinh": "integrate.tanhsinh(lambda t: t**2, 0 * x, x).integral",
    "integrate.cubature": (
        "integrate.cubature(lambda t: t[:, 0] * t[:, 1], 0 * x[:2], x[:2]).estimate"
    ),
    "differentiate.derivative": "differentiate.derivative(lambda t: t**3, x).df",
    "differentiate.jacobian": "differentiate.jacobian(lambda t: t**2, x).df",
    "differentiate.hessian": "differentiate.hessian(lambda t: xp.sum(t**3, axis=0), x).ddf",
    "optimize.find_root": (
        "optimize.elementwise.find_root(lambda t, c: t**2 - c, (0 * x, 2 + x), args=(x,)).x"
    ),
    "optimize.bracket_root": (
        "optimize.elementwise.bracket_root(lambda t, c: t**2 - c, 0 * x, 1 + 0 * x, args=(x,))"
        ".bracket[1]"
    ),
    "cluster.whiten": "cluster.vq.whiten(m)",
    "cluster.vq": "cluster.vq.vq(m, m[:2])[0]",
    "cluster.kmeans": "cluster.vq.kmeans(m, m[:2])[0]",
    "cluster.fcluster": "cluster.hierarchy.fcluster(cluster.hierarchy.linkage(m), 1.0)",
    "cluster.cophenet": "cluster.hierarchy.cophenet(cluster.hierarchy.linkage(m))",
    "linalg.orthogonal_procrustes": "linalg.orthogonal_procrustes(m[:, :3], m[:, 3:])[0]",
    "spatial.from_rotvec": "Rotation.from_rotvec(m[:, :3]).as_matrix()",
    "spatial.apply": "Rotation.from_euler('xyz', m[:, :3]).apply(m[:, :3])",
    "spatial.compose": (
        "(Rotation.from_quat(m[:, :4]) * Rotation.from_quat(m[0, :4])).as_euler('zyx')"
    ),
    "spatial.mean": "Rotation.from_quat(m[:, :4]).mean().as_quat()",
    "interpolate.make_interp_spline": f"interpolate.make_interp_spline({RANGE}, x)(x + 1)",
    "interpolate.BSpline": "interpolate.BSpline(xp.arange(10.0, dtype=xp.float64), x, 3)(x + 3)",
    "interpolate.CubicSpline": f"interpolate.CubicSpline({RANGE}, x)(x)",
    "interpolate.RBF": "interpolate.RBFInterpolator(m[:, :2], m[:, 2])(m[:3, :2])",
    "constants.convert_temperature": "constants.convert_temperature(x, 'C', 'K')",
}

PROGRAM = """
import json, sys
import numpy, treadle
from scipy import cluster, constants, differentiate, fft, integrate, interpolate, linalg, ndimage
from scipy import optimize, signal, special, stats
import scipy.cluster.hierarchy, scipy.cluster.vq, scipy.optimize.elementwise
from scipy.spatial.transform import Rotation
treadle.manual_seed(0)
x = treadle.rand(6, dtype=treadle.float64) + 0.5
p = treadle.rand(6, dtype=treadle.float64)
m = treadle.rand(5, 6, dtype=treadle.float64) + 0.5
tensors = {"x": x, "p": p, "m": m, "xp": x.__array_namespace__()}
arrays = {"x": x.numpy(), "p": p.numpy(), "m": m.numpy(), "xp": numpy}
results = {}
for name, text in json.load(sys.stdin).items():
    try:
        made, expected = eval(text, globals() | tensors), eval(text, globals() | arrays)
        right = isinstance(made, treadle.Tensor) and numpy.allclose(made.numpy(), expected, 1e-10)
        results[name] = "" if right else f"{made!r} instead of {expected!r}"
    except Exception as e:
        results[name] = f"{type(e).__name__}: {e}"
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_tensors_in_scipy(name, results):
    assert not results[name]
