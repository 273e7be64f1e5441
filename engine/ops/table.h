// The op table: one row for each op and overload, folded from the lists in functor/ and from the
// `native` rows at the end of each file of ops/. Python's functions, methods, in-place and out=
// forms, the stubs, the docs and the tests are loops over it.
//
// To add a native op: write a C++ function over Tensor in its file, and one row
// `native<function>(schema, doc, variants)` in the array at that file's end. Arguments are unboxed
// by the function's type.
#pragma once
#include <span>
#include <string_view>

#include "engine/ops/schema.h"

#pragma GCC visibility push(default)
namespace treadle {

enum Variant : unsigned {
  kFunction = 1,     // torch.name(...)
  kMethod = 2,       // tensor.name(...); `self` is the first Tensor argument
  kInplace = 4,      // tensor.name_(...); with kFunctional nn.functional.name_(tensor, ...)
  kOut = 8,          // name(..., out=) (a tensor, or a tuple if there are several results)
  kFunctional = 16,  // torch.nn.functional.name only
  kSubmodule = 32    // "linalg_inv": torch.linalg.inv only; likewise fft_ and special_
};

struct OpDef {
  const char*
      schema;  // PyTorch's text, e.g. "sum.dim_IntList(Tensor self, int[1]? dim, ...) -> Tensor"
  const char* doc;
  unsigned variants;
  bool differentiable;
  // `args`: one for each argument of the schema, defaults filled in, None as monostate. A Tensor
  // argument also takes a Scalar, which becomes a wrapped number. `results`: one for each result of
  // the schema (a list of tensors is one result). Arguments must have been checked (see invoke).
  void (*call)(Value* args, Value* results);
  void (*call_inplace)(Value* args);            // writes args[0]; null without kInplace
  void (*call_out)(Value* args, Tensor* outs);  // resizes and writes outs; null without kOut
  // Bit k: tensor k may be a Python number; kOnlyNumbers: all of them at once. -1: by the rule in
  // python/bind/parse.cpp.
  int numbers = -1;
  static constexpr int kOnlyNumbers = 128;
};

// Sorted by name, overloads of one name in the order in which they should be tried.
std::span<const OpDef> op_table();
std::span<const OpDef> find_op(std::string_view name);  // all overloads; empty if there is none
const Schema& schema_of(const OpDef& op);  // parsed once; `op` must be a row of op_table()

// The value of an argument that wasn't given. Throws Error{type} naming op and argument if it has
// no default.
Value default_value(const OpDef& op, const Arg& arg);

// Checked calls: throw Error{type} naming op, argument and what was expected if an argument has the
// wrong kind or a required one is missing. No argument that gets past them can crash the process.
void check_args(const OpDef& op, std::span<const Value> args);
void invoke(const OpDef& op, std::span<Value> args, Value* results);
void invoke_inplace(const OpDef& op, std::span<Value> args);
void invoke_out(const OpDef& op, std::span<Value> args, std::span<Tensor> outs);

}  // namespace treadle
#pragma GCC visibility pop
