#include "graph.h"

#include <algorithm>
#include <utility>

#include "dynet/ext/add_node.h"
#include "dynet/ext/memory.h"
#include "dynet/globals.h"
#include "dynet/ops/input.h"

#include "where.h"

namespace dynet::python {
namespace {

// Above either, what is computed takes some 100 us: a thousand times the cost of giving the GIL
// away.
constexpr std::size_t kManyNodes = 400;
constexpr std::int64_t kManyElements = 200'000;

/// A small graph runs with the GIL; a large one lets other Python threads go on.
class MaybeReleased {
 public:
  explicit MaybeReleased(bool released) : state_(released ? PyEval_SaveThread() : nullptr) {}
  ~MaybeReleased() {
    if (state_ != nullptr) {
      PyEval_RestoreThread(state_);
    }
  }
  MaybeReleased(const MaybeReleased&) = delete;
  MaybeReleased& operator=(const MaybeReleased&) = delete;

 private:
  PyThreadState* state_;
};

/// This thread's graph, owned by a capsule in the dictionary of the Python thread: it ends with the
/// thread while the GIL is held, before `join` returns. (A thread_local object would end later,
/// while other threads may be looking at its expressions.)
thread_local std::shared_ptr<PyGraph>* graph_of_thread = nullptr;

void end_graph(PyObject* capsule) {
  auto* owned = static_cast<std::shared_ptr<PyGraph>*>(PyCapsule_GetPointer(capsule, nullptr));
  if (owned == graph_of_thread) {
    graph_of_thread = nullptr;
  }
  delete owned;
}

std::shared_ptr<PyGraph>& make_graph() {
  PyObject* of_thread = PyThreadState_GetDict();
  if (of_thread == nullptr) {
    throw UsageError("no Python thread runs here");
  }
  auto owned = std::make_unique<std::shared_ptr<PyGraph>>(std::make_shared<PyGraph>());
  const nb::object capsule = nb::steal(PyCapsule_New(owned.get(), nullptr, &end_graph));
  if (!capsule.is_valid()) {
    throw nb::python_error();
  }
  std::shared_ptr<PyGraph>* graph = owned.release();
  if (PyDict_SetItemString(of_thread, "_dynet.graph", capsule.ptr()) != 0) {
    throw nb::python_error();
  }
  graph_of_thread = graph;
  return *graph;
}

}  // namespace

const std::shared_ptr<PyGraph>& current_graph_pointer() {
  return graph_of_thread != nullptr ? *graph_of_thread : make_graph();
}

PyGraph& current_graph() { return *current_graph_pointer(); }

void PyGraph::renew(bool immediate_compute, bool check_validity, std::optional<bool> batching) {
  cg.clear();
  cg.set_immediate_compute(immediate_compute);
  cg.set_check_validity(check_validity);
  cg.set_batching(batching.value_or(autobatch_flag != 0));
  ++version_;
  ++stamp_;
  used_ = 0;
  computed_ = 0;
}

void PyGraph::revert() {
  cg.revert();
  std::vector<Slot> kept;
  for (const Slot& s : slots_) {
    if (s.stamp == stamp_ && s.node.i < cg.nodes.size()) {
      kept.push_back(s);
    }
  }
  ++stamp_;
  used_ = 0;
  for (const Slot& s : kept) {
    enter(s.storage, s.node);
  }
  computed_ = std::min(computed_, cg.nodes.size());
}

PyGraph::Slot& PyGraph::slot(const void* storage) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = (reinterpret_cast<std::uintptr_t>(storage) >> 6) & mask;
  while (slots_[i].stamp == stamp_ && slots_[i].storage != storage) {
    i = (i + 1) & mask;
  }
  return slots_[i];
}

void PyGraph::enter(const void* storage, const Expression& node) {
  if (2 * (used_ + 1) > slots_.size()) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& s : old) {
      if (s.stamp == stamp_) {
        slot(s.storage) = s;
      }
    }
  }
  slot(storage) = {storage, node, stamp_};
  ++used_;
}

Expression PyGraph::node(const PyExpression& parameter) {
  const bool is_table = parameter.kind == PyExpression::Kind::kTable;
  const std::shared_ptr<void>& storage =
      is_table ? static_cast<const PyLookupParameters&>(parameter).storage
               : static_cast<const PyParameters&>(parameter).storage;
  const Slot& found = slot(storage.get());
  if (found.stamp == stamp_) {
    return found.node;
  }
  const ops::Parameter op{is_table ? static_cast<const PyLookupParameters&>(parameter).p.p->all_dim
                                   : static_cast<const PyParameters&>(parameter).p.dim(),
                          true};
  ext::NodePayload payload;
  payload.storage = &storage;
  const Expression e = ext::add_node(ext::kRecord<ops::Parameter>, &op, &cg, {}, payload, here());
  enter(storage.get(), e);
  return e;
}

bool PyGraph::is_long() {
  const std::size_t size = cg.nodes.size();
  if (size - std::min(size, computed_) > kManyNodes) {
    return true;
  }
  std::int64_t elements = 0;
  for (std::size_t i = computed_; i < size; ++i) {
    elements += cg.get_dimension(static_cast<VariableIndex>(i)).elements();
  }
  return elements > kManyElements;
}

void PyGraph::note_computed() { computed_ = cg.nodes.size(); }

Expression resolve_parameter(const PyExpression& x) { return current_graph().node(x); }

nb::object make_expression(const Expression& e, PyExpression::Settable settable) {
  return nb::cast(PyExpression(e, settable), nb::rv_policy::move);
}

std::shared_ptr<PyGraph> graph_of(const Expression& e) {
  if (e.is_stale()) {
    static_cast<void>(e.value());  // throws, with the text of the library
  }
  // Python has no other graphs, and they are destroyed with the GIL held.
  return static_cast<PyGraph::Cg*>(e.pg)->owner.shared_from_this();
}

void wait_for(const Device& device) {
  if (!device.is_host_visible()) {
    const nb::gil_scoped_release released;
    device.memory->wait();
  }
}

namespace {

const Tensor& compute_in(PyGraph& graph, const Expression& e, bool recalculate) {
  const auto run = [&]() -> const Tensor& {
    const MaybeReleased gil(recalculate || graph.is_long());
    return recalculate ? graph.cg.forward(e) : graph.cg.incremental_forward(e);
  };
  const Tensor& value = run();
  graph.note_computed();
  return value;
}

/// What `find` returns, when its device has computed it. It is asked twice where that takes a wait:
/// another thread may have computed the graph anew meanwhile.
template <class Find>
Value settled(std::shared_ptr<PyGraph> graph, Find find) {
  const Tensor* found = &find();
  if (const Device& device = *found->device; !device.is_host_visible()) {
    wait_for(device);
    found = &find();
  }
  return {std::move(graph), *found};
}

}  // namespace

void compute(const Expression& e, bool recalculate) {
  const std::shared_ptr<PyGraph> graph = graph_of(e);
  compute_in(*graph, e, recalculate);
}

Value evaluate(const Expression& e, bool recalculate) {
  const std::shared_ptr<PyGraph> graph = graph_of(e);
  return settled(graph, [&]() -> const Tensor& {
    return compute_in(*graph, e, std::exchange(recalculate, false));
  });
}

void run_backward(const Expression& e, bool full) {
  const std::shared_ptr<PyGraph> graph = graph_of(e);
  {
    const MaybeReleased gil(graph->cg.nodes.size() > kManyNodes || graph->is_long());
    graph->cg.backward(e, full);
  }
  graph->note_computed();
}

Value gradient_of(const Expression& e) {
  const std::shared_ptr<PyGraph> graph = graph_of(e);
  return settled(graph, [&]() -> const Tensor& { return graph->cg.get_gradient(e); });
}

}  // namespace dynet::python
