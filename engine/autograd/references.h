// Who holds a reference to whom in the graph, for a garbage collector: Python's tp_traverse walks
// tensors and nodes that only C++ knows with it (python/bind/gc.cpp). To make a reference visible:
// report it in Node::references of the node that holds it, once for each counted reference.
#pragma once
#include "engine/core/tensor.h"

#pragma GCC visibility push(default)
namespace treadle {

class Node;

class ReferenceVisitor {
 public:
  virtual void tensor(const TensorImpl& held) = 0;
  virtual void node(const Node& held) = 0;
  virtual void python(void* callable) = 0;  // of a hook

 protected:
  ~ReferenceVisitor() = default;
};

// What the object holds of the graph: its gradient, history, base, edges, saved tensors and hooks.
// Nothing may change the graph meanwhile.
void visit_references(const TensorImpl& tensor, ReferenceVisitor& visitor);
void visit_references(const Node& node, ReferenceVisitor& visitor);

}  // namespace treadle
#pragma GCC visibility pop
