// The C++ names of ops, with PyTorch's names, argument order and defaults (an undefined Tensor or
// nullopt is Python's None). Semantics, errors and gradients are those of the Python functions: see
// the docs in the op table.
#pragma once
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/core/dims.h"
#include "engine/core/tensor.h"
#include "engine/ops/schema.h"

#pragma GCC visibility push(default)
namespace treadle {

class Node;

// Elementwise; the rest of the lists in functor/ is reachable by call<Op>() (ops/call.h) and the op
// table.
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Tensor& other);
Tensor div_trunc(const Tensor& self, const Tensor& other);  // rounding_mode="trunc"
Tensor floor_divide(const Tensor& self, const Tensor& other);
Tensor remainder(const Tensor& self, const Tensor& other);
Tensor pow(const Tensor& self, const Tensor& exponent);
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
Tensor atan2(const Tensor& self, const Tensor& other);
Tensor logical_and(const Tensor& self, const Tensor& other);
Tensor logical_or(const Tensor& self, const Tensor& other);
Tensor neg(const Tensor& self);
Tensor abs(const Tensor& self);
Tensor sign(const Tensor& self);
Tensor square(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor rsqrt(const Tensor& self);
Tensor exp(const Tensor& self);
Tensor expm1(const Tensor& self);
Tensor log(const Tensor& self);
Tensor log1p(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor sinh(const Tensor& self);
Tensor cosh(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor erf(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor relu(const Tensor& self);
Tensor gelu(const Tensor& self, const std::string& approximate = "none");
Tensor floor(const Tensor& self);
Tensor trunc(const Tensor& self);
Tensor logical_not(const Tensor& self);
// Complex numbers. Of a real tensor the conjugate is itself.
Tensor conj(const Tensor& self);
Tensor real(const Tensor& self);  // views
Tensor imag(const Tensor& self);
Tensor view_as_real(const Tensor& self);     // (...) to (..., 2)
Tensor view_as_complex(const Tensor& self);  // and back
Tensor nonnegative(const Tensor& self);      // whether each is a real number >= 0
Tensor lazy_conj(const Tensor& self);        // a view that is_conj(); of a real tensor self
// self, or what a lazy conjugate or negative stands for, computed.
Tensor resolve(const Tensor& self);
Tensor isnan(const Tensor& self);
Tensor eq(const Tensor& self, const Tensor& other);
Tensor ne(const Tensor& self, const Tensor& other);
Tensor lt(const Tensor& self, const Tensor& other);
Tensor le(const Tensor& self, const Tensor& other);
Tensor gt(const Tensor& self, const Tensor& other);
Tensor ge(const Tensor& self, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
// The name of where() in derivative formulas (functor/op.h).
inline Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return where(condition, a, b);
}

// In-place forms return their first argument.
Tensor add_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor mul_(const Tensor& self, const Tensor& other);
Tensor div_(const Tensor& self, const Tensor& other);
Tensor copy_(const Tensor& self, const Tensor& src);
Tensor fill_(const Tensor& self, const Scalar& value);
Tensor zero_(const Tensor& self);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }

// Views: share memory with their argument and take part in its in-place tracking.
Tensor view(const Tensor& self, const Dims& size);
Tensor as_strided(const Tensor& self, const Dims& size, const Dims& stride,
                  std::optional<std::int64_t> storage_offset = std::nullopt);
Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1);
Tensor t(const Tensor& self);
Tensor permute(const Tensor& self, const Dims& dims);
Tensor movedim(const Tensor& self, const Dims& source, const Dims& destination);
Tensor expand(const Tensor& self, const Dims& size, bool implicit = false);
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, const Dims& dim);
Tensor unsqueeze(const Tensor& self, std::int64_t dim);
Tensor diagonal(const Tensor& self, std::int64_t offset = 0, std::int64_t dim1 = 0,
                std::int64_t dim2 = 1);
Tensor repeat(const Tensor& self, const Dims& repeats);
Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index);
Tensor slice(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start = std::nullopt,
             std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1);
Tensor narrow(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length);
std::vector<Tensor> split(const Tensor& self, std::int64_t split_size, std::int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& self, const Dims& split_sizes,
                                     std::int64_t dim = 0);
std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim = 0);
std::vector<Tensor> unbind(const Tensor& self, std::int64_t dim = 0);
Tensor detach(const Tensor& self);
Tensor alias(const Tensor& self);
// A view where strides allow, else a copy.
Tensor reshape(const Tensor& self, const Dims& shape);
Tensor flatten(const Tensor& self, std::int64_t start_dim = 0, std::int64_t end_dim = -1);
Tensor contiguous(const Tensor& self);
Tensor clone(const Tensor& self);
Tensor to(const Tensor& self, DType dtype, bool copy = false);
// The inverse of expand: sums `grad` down to `shape`. What every broadcasting op does with its
// gradient.
Tensor sum_to(const Tensor& grad, const Dims& shape);
// The node of a view whose base was changed in place (autograd/meta.cpp).
Ref<Node> as_strided_node(const Tensor& base, const Tensor& view);

// Creation. Throw Error{runtime} on negative sizes.
Tensor empty(const Dims& size, std::optional<DType> dtype = std::nullopt);
Tensor empty_strided(const Dims& size, const Dims& stride, DType dtype);
Tensor full(const Dims& size, const Scalar& value, std::optional<DType> dtype = std::nullopt);
Tensor zeros(const Dims& size, std::optional<DType> dtype = std::nullopt);
Tensor ones(const Dims& size, std::optional<DType> dtype = std::nullopt);
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype = std::nullopt);
Tensor ones_like(const Tensor& self, std::optional<DType> dtype = std::nullopt);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1,
              std::optional<DType> dtype = std::nullopt);
Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps,
                std::optional<DType> dtype = std::nullopt);
Tensor eye(std::int64_t n, std::optional<std::int64_t> m = std::nullopt,
           std::optional<DType> dtype = std::nullopt);
// A new tensor of `shape` with a copy of `values`, row by row.
template <class T>
Tensor from_values(std::span<const T> values, const Dims& shape, DType dtype);
Tensor tensor(std::initializer_list<double> values, DType dtype = default_dtype());

// Indexing. A None in `indices` (undefined tensor) keeps a dimension whole; bool masks and integer
// tensors follow NumPy's rules. Throw Error{index} naming the index, the dimension and its size.
Tensor index(const Tensor& self, const std::vector<Tensor>& indices);
Tensor index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                  bool accumulate = false);
Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index);
Tensor nonzero(const Tensor& self);
Tensor flip(const Tensor& self, const Dims& dims);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);

// Reductions. An empty `dim` means all dimensions.
Tensor sum(const Tensor& self, const Dims& dim = {}, bool keepdim = false,
           std::optional<DType> dtype = std::nullopt);
Tensor mean(const Tensor& self, const Dims& dim = {}, bool keepdim = false,
            std::optional<DType> dtype = std::nullopt);
Tensor amax(const Tensor& self, const Dims& dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, const Dims& dim = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, bool keepdim = false);
Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim = std::nullopt,
              bool keepdim = false);
Tensor any(const Tensor& self);
Tensor all(const Tensor& self);
Tensor cumsum(const Tensor& self, std::int64_t dim, std::optional<DType> dtype = std::nullopt);
Tensor softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype = std::nullopt);
Tensor log_softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype = std::nullopt);

// Linear algebra.
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = Tensor());

// Joining and losses.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = Tensor(),
                     const std::string& reduction = "mean", std::int64_t ignore_index = -100,
                     double label_smoothing = 0);

}  // namespace treadle
#pragma GCC visibility pop
