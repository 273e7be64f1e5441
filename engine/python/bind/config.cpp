// What this build runs on: instruction set, BLAS, threads.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/pool.h"
#include "engine/python/bind/bind.h"

namespace treadle::bind {

void bind_config(nb::module_& m) {
  m.def(
      "get_num_threads", [] { return get_num_threads(); },
      "Threads that take part in parallel work (TREADLE_NUM_THREADS, else the usable CPUs).");
  m.def(
      "set_num_threads", [](int n) { set_num_threads(n); }, nb::arg("int"),
      "Sets the number of threads. ValueError unless 1 <= n <= 1024.");
  m.def("_config", [] { return config_string(); });
  m.def(
      "_isa", [] { return std::string(current_isa()); },
      "Whose kernels run: base, avx2, avx512, neon or sve (TREADLE_FORCE_ISA chooses).");
}

}  // namespace treadle::bind
