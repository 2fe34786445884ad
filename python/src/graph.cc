#include "graph.h"

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "dynet/ext/add_node.h"
#include "dynet/ext/memory.h"
#include "dynet/globals.h"
#include "dynet/ops/input.h"
#include "dynet/repeatable.h"
#include "dynet/tasks.h"

#include "ended.h"
#include "gil.h"
#include "lock.h"
#include "signals.h"
#include "where.h"

namespace dynet::python {
namespace {

// Above either limit a computation takes some 100 us: a thousand times the cost of releasing the
// GIL. The module's own lock (lock.h) may be wanted at once, and costs less.
#ifdef Py_GIL_DISABLED
constexpr std::size_t kManyNodes = 10;
constexpr std::int64_t kManyElements = 5'000;
#else
constexpr std::size_t kManyNodes = 400;
constexpr std::int64_t kManyElements = 200'000;
#endif

/// Whether the interpreter has another thread, which could run meanwhile. A thread that Python did
/// not start enters CPython's list of threads, and leaves it, without the GIL and under a lock that
/// is not ours to take. So this reads only this thread's own entry, which stays while the thread
/// runs here, and the head of the list. A thread that comes meanwhile gets its turn at the next
/// look. Without a GIL that entry changes at any time, and letting others in costs less than a
/// look: the answer is true.
bool has_other_threads() {
#ifdef Py_GIL_DISABLED
  return true;
#else
  PyThreadState* const own = PyThreadState_Get();
  return PyInterpreterState_ThreadHead(PyInterpreterState_Get()) != own ||
         PyThreadState_Next(own) != nullptr;
#endif
}

/// Scope of a computation by this thread. A computation known to be long lets other Python threads
/// run from its start; another one does so when it is first asked whether to go on. Ctrl-C stops a
/// computation of the main thread; other threads get no signals.
class Computing {
 public:
  explicit Computing(bool is_long) : scope_(&Computing::look, this) {
    if (is_long) {
      let_others_run();
    }
  }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  ~Computing() = default;

 private:
  static void look(void* of) {
    auto& self = *static_cast<Computing*>(of);
    if (!self.released_.has_value()) {
      self.let_others_run();
    }
    const WithGil gil;
    run_signal_handlers();
  }
  void let_others_run() {
    others_.begin();
    released_.emplace();
  }
  /// Nor is the module's lock waited for at each look.
  [[no_unique_address]] OthersMayEnter others_{false};
  std::optional<WithoutGil> released_;
  InterruptScope scope_;
};

/// The graphs of this thread. Owned by a capsule in the dictionary of the Python thread: they end
/// with the thread while the GIL is held, before `join` returns. (A thread_local object would end
/// later, while other threads may be looking at its expressions.)
struct Graphs {
  /// The thread's own graph, and the graphs of its `with` blocks, the innermost one last.
  std::vector<std::shared_ptr<PyGraph>> entered{std::make_shared<PyGraph>()};
  /// The thread's own graph as Python's object, so that renew_cg() need not make an object.
  nb::object own = nb::cast(entered.front());
};
thread_local Graphs* graphs_of_thread = nullptr;
thread_local const std::shared_ptr<PyGraph>* current =
    nullptr;  ///< the last one, once there is one

void end_graphs(PyObject* capsule) {
  const Entered entered;
  auto* owned = static_cast<Graphs*>(PyCapsule_GetPointer(capsule, nullptr));
  if (owned == graphs_of_thread) {
    graphs_of_thread = nullptr;
    current = nullptr;
  }
  delete owned;
}

const std::shared_ptr<PyGraph>& make_graph() {
  PyObject* of_thread = PyThreadState_GetDict();
  if (of_thread == nullptr) {
    throw errors::UsageError("no Python thread runs here");
  }
  auto owned = std::make_unique<Graphs>();
  const nb::object capsule = nb::steal(PyCapsule_New(owned.get(), nullptr, &end_graphs));
  if (!capsule.is_valid()) {
    throw nb::python_error();
  }
  Graphs* graphs = owned.release();
  if (PyDict_SetItemString(of_thread, "_dynet.graphs", capsule.ptr()) != 0) {
    throw nb::python_error();
  }
  graphs_of_thread = graphs;
  current = &graphs->entered.back();
  return *current;
}

}  // namespace

const std::shared_ptr<PyGraph>& current_graph_pointer() {
  return current != nullptr ? *current : make_graph();
}

PyGraph& current_graph() { return *current_graph_pointer(); }

void enter_graph(std::shared_ptr<PyGraph> graph) {
  static_cast<void>(current_graph());  // the thread has its own
  std::vector<std::shared_ptr<PyGraph>>& entered = graphs_of_thread->entered;
  entered.push_back(std::move(graph));
  current = &entered.back();
}

void leave_graph(const PyGraph& graph) {
  const auto is_it = [&graph](const std::shared_ptr<PyGraph>& one) { return one.get() == &graph; };
  const auto refuse = [] {
    throw errors::UsageError("ComputationGraph: left by a thread that did not enter it");
  };
  if (graphs_of_thread == nullptr) {
    refuse();
  }
  std::vector<std::shared_ptr<PyGraph>>& entered = graphs_of_thread->entered;
  const auto end = std::prev(entered.rend());  // the thread's own is not left
  const auto found = std::find_if(entered.rbegin(), end, is_it);
  if (found == end) {
    refuse();
  }
  entered.erase(std::prev(found.base()));  // whoever leaves it holds it
  current = &entered.back();
}

PyGraph::~PyGraph() {
  if (!cg.nodes.empty()) {
    note_end("a ComputationGraph ended");
  }
}

void PyGraph::set(bool immediate_compute, bool check_validity, std::optional<bool> batching) {
  cg.set_immediate_compute(immediate_compute);
  cg.set_check_validity(check_validity);
  cg.set_batching(batching.value_or(autobatch_flag != 0));
}

void PyGraph::renew(bool immediate_compute, bool check_validity, std::optional<bool> batching) {
  const std::vector<Kept> ended = take_all();
  set(immediate_compute, check_validity, batching);
  note_end("renew_cg()");
}

std::vector<PyGraph::Kept> PyGraph::take_all() {
  cg.clear();
  ++version_;
  ++stamp_;
  used_ = 0;
  computed_ = 0;
  return take_ended();
}

int PyGraph::traverse(visitproc visit, void* arg) const {
  if (weak_from_this().use_count() == 1) {
    for (const Kept& kept : kept_) {
      if (const int stop = kept.object->traverse(visit, arg); stop != 0) {
        return stop;
      }
    }
  }
  return 0;
}

void PyGraph::let_go() noexcept {
  try {
    const std::vector<Kept> ended = take_all();
  } catch (const std::exception& e) {  // no memory: kept objects stay
    PyErr_SetString(PyExc_MemoryError, e.what());
    PyErr_WriteUnraisable(nullptr);
  }
}

std::vector<PyGraph::Kept> PyGraph::take_ended() {
  const std::size_t nodes = cg.nodes.size();
  const auto first =
      std::find_if(kept_.begin(), kept_.end(), [nodes](const Kept& k) { return k.node >= nodes; });
  std::vector<Kept> ended(std::make_move_iterator(first), std::make_move_iterator(kept_.end()));
  kept_.erase(first, kept_.end());
  return ended;
}

void PyGraph::revert() {
  cg.revert();
  note_end("cg_revert()");
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
  const std::vector<Kept> ended = take_ended();
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
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
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

bool PyGraph::is_long(std::size_t first, const Expression& last) {
  if (!has_other_threads()) {
    return false;
  }
  // Another thread may have removed nodes while this one waited for the device.
  const std::size_t end = std::min(last.i + std::size_t{1}, cg.nodes.size());
  if (end > first + kManyNodes) {
    return true;
  }
  std::int64_t elements = 0;
  for (std::size_t i = first; i < end; ++i) {
    elements += cg.get_dimension(static_cast<VariableIndex>(i)).elements();
  }
  return elements > kManyElements;
}

bool PyGraph::is_long_to_compute(const Expression& e) { return is_long(computed_, e); }
bool PyGraph::is_long_in_all(const Expression& e) { return is_long(0, e); }

void PyGraph::note_computed(const Expression& e) {
  computed_ = std::min(std::max(computed_, e.i + std::size_t{1}), cg.nodes.size());
}

Expression resolve_parameter(const PyExpression& x) { return current_graph().node(x); }

std::shared_ptr<PyGraph> graph_of(const Expression& e) {
  if (e.is_stale()) {
    static_cast<void>(e.value());  // throws, with the text of the library
  }
  // Python has no other graphs, and they are destroyed with the GIL held.
  return static_cast<PyGraph::Cg*>(e.pg)->owner.shared_from_this();
}

void wait_for(const Device& device) {
  if (!device.is_host_visible()) {
    const WithoutGil released;
    device.memory->wait();
  }
}

namespace {

const Tensor& compute_in(PyGraph& graph, const Expression& e, bool recalculate) {
  const auto run = [&]() -> const Tensor& {
    const Computing computing(recalculate || graph.is_long_to_compute(e));
    return recalculate ? graph.cg.forward(e) : graph.cg.incremental_forward(e);
  };
  const Tensor& value = run();
  graph.note_computed(e);
  return value;
}

/// The result of `find`, when its device has computed it. `find` is asked again after a wait:
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

namespace {
/// Computes the expressions in `es` that belong to this graph, by one plan.
void compute_in_graph(PyGraph& graph, const std::vector<Expression>& es) {
  std::vector<Expression> ours;
  std::copy_if(es.begin(), es.end(), std::back_inserter(ours),
               [&graph](const Expression& e) { return e.pg == &graph.cg; });
  if (ours.empty()) {
    return;
  }
  const Expression last = *std::max_element(
      ours.begin(), ours.end(), [](const Expression& a, const Expression& b) { return a.i < b.i; });
  {
    const Computing computing(graph.is_long_to_compute(last));
    compute_together(ours);
  }
  graph.note_computed(last);
}

/// Computes the expressions in one graph after the other. If one of them fails, each graph draws
/// the same random numbers when the call is repeated.
void compute_graphs(std::span<const std::shared_ptr<PyGraph>> graphs,
                    const std::vector<Expression>& es, bool recalculate) {
  if (graphs.empty()) {
    return;
  }
  PyGraph& graph = *graphs.front();
  detail::RepeatableDraws draws(recalculate ? &graph.cg : nullptr);
  if (recalculate) {
    graph.cg.invalidate();
  }
  compute_in_graph(graph, es);
  compute_graphs(graphs.subspan(1), es, recalculate);
  draws.keep();
}
}  // namespace

void compute_all(const std::vector<Expression>& es, bool recalculate) {
  std::vector<std::shared_ptr<PyGraph>> graphs;
  for (const Expression& e : es) {
    std::shared_ptr<PyGraph> graph = graph_of(e);
    if (std::find(graphs.begin(), graphs.end(), graph) == graphs.end()) {
      graphs.push_back(std::move(graph));
    }
  }
  compute_graphs(graphs, es, recalculate);
}

Value evaluate(const Expression& e, bool recalculate) {
  std::shared_ptr<PyGraph> kept = graph_of(e);
  PyGraph& graph = *kept;
  return settled(std::move(kept), [&]() -> const Tensor& {
    return compute_in(graph, e, std::exchange(recalculate, false));
  });
}

void run_backward(const Expression& e, bool full) {
  const std::shared_ptr<PyGraph> graph = graph_of(e);
  {
    const Computing computing(graph->is_long_in_all(e));
    graph->cg.backward(e, full);
  }
  graph->note_computed(e);
}

Value gradient_of(const Expression& e) {
  std::shared_ptr<PyGraph> kept = graph_of(e);
  PyGraph& graph = *kept;
  return settled(std::move(kept), [&]() -> const Tensor& {
    const Computing computing(false);  // most are there; others take a second backward
    return graph.cg.get_gradient(e);
  });
}

}  // namespace dynet::python
