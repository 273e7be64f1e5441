"""Discrete Fourier transforms: treadle.fft.

Real and complex numbers of single and double precision; integers are converted to the default
dtype, 16-bit floats raise NotImplementedError. `n` or `s` cuts the input or continues it with
zeros. `norm`: "backward" (the default) divides inverse transforms by the number of elements,
"forward" the others, "ortho" both by its square root.
"""

from . import _C

fft = _C._fft.fft
fft2 = _C._fft.fft2
fftfreq = _C._fft.fftfreq
fftn = _C._fft.fftn
fftshift = _C._fft.fftshift
hfft = _C._fft.hfft
hfft2 = _C._fft.hfft2
hfftn = _C._fft.hfftn
ifft = _C._fft.ifft
ifft2 = _C._fft.ifft2
ifftn = _C._fft.ifftn
ifftshift = _C._fft.ifftshift
ihfft = _C._fft.ihfft
ihfft2 = _C._fft.ihfft2
ihfftn = _C._fft.ihfftn
irfft = _C._fft.irfft
irfft2 = _C._fft.irfft2
irfftn = _C._fft.irfftn
rfft = _C._fft.rfft
rfft2 = _C._fft.rfft2
rfftfreq = _C._fft.rfftfreq
rfftn = _C._fft.rfftn
