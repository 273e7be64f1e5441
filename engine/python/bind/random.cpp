// Generator: seeded streams of random numbers.
#include "engine/core/random.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstring>

#include "engine/python/bind/bind.h"

namespace treadle::bind {
namespace {

// A state as Python sees it: these numbers one after the other, as bytes.
struct Packed {
  std::uint64_t seed;
  double normal;
  std::int32_t has_normal, next;
  std::array<std::uint32_t, Mt19937::kWords> words;
};
static_assert(sizeof(Packed) == 24 + 4 * Mt19937::kWords, "no padding");

// Seeds are any int of 64 bits; negative ones count from the end, as in PyTorch.
std::uint64_t seed_of(nb::handle o) {
  PyObject* index = PyNumber_Index(o.ptr());
  if (!index) raise_python();
  const nb::object number = nb::steal(index);
  const unsigned long long value = PyLong_AsUnsignedLongLong(index);
  if (!PyErr_Occurred()) return value;
  PyErr_Clear();
  const long long negative = PyLong_AsLongLong(index);
  if (negative == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail(ErrorKind::runtime, "Overflow when unpacking long: a seed has 64 bits");
  }
  return static_cast<std::uint64_t>(negative);
}

nb::object state_of(const Generator& g) {
  const RandomState state = g.state();
  const Packed packed{state.seed, state.normal, state.has_normal, state.engine.next(),
                      state.engine.words()};
  const Tensor bytes = Tensor::empty({static_cast<std::int64_t>(sizeof packed)}, DType::uint8);
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return nb::steal(wrap(bytes));
}

void set_state(Generator& g, nb::handle new_state) {
  const Tensor bytes = expect_tensor(new_state.ptr(), "set_state(): new_state");
  Packed packed;
  if (bytes.dtype() != DType::uint8)
    fail(ErrorKind::type, "RNG state must be a tensor of dtype uint8");
  if (bytes.numel() != static_cast<std::int64_t>(sizeof packed) || !bytes.is_contiguous()) {
    fail(ErrorKind::runtime, "RNG state is wrong size: expected " + std::to_string(sizeof packed) +
                                 " bytes of get_state(), got " + std::to_string(bytes.numel()));
  }
  std::memcpy(&packed, bytes.data(), sizeof packed);
  if (packed.next < 0 || packed.next > Mt19937::kWords || (packed.has_normal & ~1)) {
    fail(ErrorKind::runtime, "RNG state is invalid: its bytes don't come from get_state()");
  }
  RandomState state;
  state.seed = packed.seed;
  state.normal = packed.normal;
  state.has_normal = packed.has_normal != 0;
  state.engine.restore(packed.words, packed.next);
  g.set_state(state);
}

}  // namespace

void bind_random(nb::module_& m) {
  auto c = nb::class_<Generator>(
      m, "Generator", "A stream of random numbers; PyTorch's numbers for the same seed.");
  types.generator = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.def(
       "__init__",
       [](Generator* self, nb::handle device) {
         Device d;
         if (!to_device(device.ptr(), &d))
           fail(ErrorKind::type, "Generator(): device must be a device");
         if (d.kind != Device::Kind::cpu) {
           fail(ErrorKind::runtime, "Generator(): this build has only the cpu device");
         }
         new (self) Generator();
       },
       nb::arg("device") = "cpu")
      .def(
          "manual_seed",
          [](nb::handle self, nb::handle seed) {
            nb::inst_ptr<Generator>(self)->manual_seed(seed_of(seed));
            return nb::borrow(self);
          },
          nb::arg("seed"), "Starts the stream of this seed; returns self.")
      .def(
          "seed", [](Generator& g) { return g.seed(); },
          "Takes a seed from the system; returns it.")
      .def("initial_seed", [](const Generator& g) { return g.initial_seed(); })
      .def(
          "get_state", [](const Generator& g) { return state_of(g); },
          "Position in the stream, a uint8 tensor.")
      .def(
          "set_state",
          [](nb::handle self, nb::handle state) {
            set_state(*nb::inst_ptr<Generator>(self), state);
            return nb::borrow(self);
          },
          nb::arg("new_state"),
          "Puts a state of get_state() back. TypeError or RuntimeError if it isn't one.")
      .def_prop_ro("device", [](const Generator&) { return nb::steal(wrap(Device{})); });
  m.attr("default_generator") = nb::cast(&default_generator(), nb::rv_policy::reference);
  m.def(
      "manual_seed",
      [](nb::handle seed) {
        default_generator().manual_seed(seed_of(seed));
        return nb::cast(&default_generator(), nb::rv_policy::reference);
      },
      nb::arg("seed"), "Seeds the default generator and returns it.");
  m.def(
      "seed", [] { return default_generator().seed(); },
      "Seeds the default generator from the system; returns the seed.");
  m.def(
      "initial_seed", [] { return default_generator().initial_seed(); },
      "The seed of the default generator.");
}

}  // namespace treadle::bind
