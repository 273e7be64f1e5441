// Entry of one ISA: fills the whole table.
#include "engine/backend/cpu/kernels/drive.h"

namespace treadle {
inline namespace TREADLE_ISA {

void fill(kernel::Table& table) {
  table = kernel::Table{};
  kernels::fill_unary(table);
  kernels::fill_unary_grad(table);
  kernels::fill_binary(table);
  kernels::fill_ternary(table);
  kernels::fill_reduce(table);
  kernels::fill_rows(table);
  kernels::fill_move(table);
  kernels::fill_index(table);
  kernels::fill_gemm(table);
}

}  // namespace TREADLE_ISA
}  // namespace treadle
