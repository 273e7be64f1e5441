// Generator: seeded streams of random numbers.
#include "engine/core/random.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "engine/python/bind/bind.h"

namespace treadle::bind {
namespace {

// A state as Python sees it: PyTorch's layout, so that a state of the one goes into the other.
struct Packed {
  std::uint64_t seed;
  std::int32_t left, seeded;  // of the words: those not drawn yet, plus 1
  std::uint64_t next;
  std::array<std::uint64_t, Mt19937::kWords> words;
  double normal_x, normal, normal_rho;
  std::int32_t has_normal, unused[3];
};
static_assert(sizeof(Packed) == 5056, "PyTorch's size");

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
  Packed packed{};
  packed.seed = state.seed;
  packed.next = static_cast<std::uint64_t>(state.engine.next());
  packed.left = Mt19937::kWords + 1 - state.engine.next();
  // Of a fresh state PyTorch says 0. Its first word is the seed still.
  const bool fresh = state.engine.words()[0] == static_cast<std::uint32_t>(state.seed);
  if (fresh && packed.left == 1) packed.next = 0;
  packed.seeded = 1;
  std::copy(state.engine.words().begin(), state.engine.words().end(), packed.words.begin());
  packed.normal = state.has_normal ? state.normal : 0;
  packed.has_normal = state.has_normal;
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
  // PyTorch's fresh states have drawn nothing of a block that is used up.
  if (packed.left == 1) packed.next = Mt19937::kWords;
  const auto word_ok = [](std::uint64_t w) { return w <= UINT32_MAX; };
  if (packed.next > Mt19937::kWords ||
      packed.left != Mt19937::kWords + 1 - static_cast<std::int32_t>(packed.next) ||
      (packed.has_normal & ~1) || !std::all_of(packed.words.begin(), packed.words.end(), word_ok)) {
    fail(ErrorKind::runtime, "RNG state is invalid: its bytes don't come from get_state()");
  }
  std::array<std::uint32_t, Mt19937::kWords> words;
  std::transform(packed.words.begin(), packed.words.end(), words.begin(),
                 [](std::uint64_t w) { return static_cast<std::uint32_t>(w); });
  RandomState state;
  state.seed = packed.seed;
  state.normal = packed.normal;
  state.has_normal = packed.has_normal != 0;
  state.engine.restore(words, static_cast<int>(packed.next));
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
      .def(
          "clone_state",
          [](const Generator& g) {
            auto copy = std::make_unique<Generator>();
            copy->set_state(g.state());
            return copy.release();
          },
          nb::rv_policy::take_ownership, "A new generator at the same position.")
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
