"""Parts of func under the private names by which programs written for PyTorch import them."""
