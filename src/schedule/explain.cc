#include "schedule/explain.h"

#include <algorithm>
#include <vector>

namespace dynet::schedule {

std::string to_text(const graph::Graph& graph, const Plan& plan) {
  std::string text;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    text += "group " + std::to_string(g) + ": " + std::to_string(group.members) + " x " +
            std::string(graph[plan.members[group.first]].record().info->name) +
            (group.part == Part::kFirst  ? ", first terms, "
             : group.part == Part::kRest ? ", other terms, "
                                         : ", ") +
            std::to_string(group.count) + (group.count == 1 ? " segment:" : " segments:");
    for (std::uint32_t m = 0; m < group.members; ++m) {
      text += " v" + std::to_string(plan.members[group.first + m]);
    }
    text += '\n';
  }
  return text;
}

namespace {

/// Why a node never shares a group.
std::string why_alone(const graph::Graph& graph, NodeId n) {
  const ext::Record& record = graph[n].record();
  const std::string text(record.info->name);
  if (record.aliases) {
    return text + ": runs alone, since it computes nothing: its memory is that of its argument";
  }
  const graph::Signature& s = *graph[n].signature;
  const bool by_argument =
      std::any_of(s.arg_shapes, s.arg_shapes + s.arity,
                  [&](graph::ShapeId id) { return graph.interner().shape(id).bd == s.batch; });
  return text + ": runs alone, since an argument has one example beside " +
         (by_argument ? "another one with several" : "several lists of indices");
}

/// Does `user` read the result of `n`, itself or through others?
bool waits_for(const graph::Graph& graph, NodeId user, NodeId n) {
  std::vector<bool> reached(user + std::size_t{1} - n, false);
  reached[user - n] = true;
  for (NodeId m = user; m > n; --m) {
    if (!reached[m - n]) {
      continue;
    }
    const NodeId owner = graph.owner(m);
    for (const NodeId arg : graph.args(owner)) {
      if (graph.owner(arg) >= n) {
        reached[graph.owner(arg) - n] = true;
      }
    }
  }
  return reached[0];
}

std::string different(const std::string& what, const std::string& x, const std::string& y) {
  return what + ": " + x + " != " + y;
}

std::string shape_text(const Dim& d) { return ext::is_absent(d) ? "absent" : to_string(d); }

/// An argument of a node of `batch` examples: whether it has as many, or one for all of them.
std::string examples_text(const Dim& d, std::uint32_t batch) {
  if (d.bd != batch) {
    return "one example for the node's " + std::to_string(batch);
  }
  return (batch == 1 ? "one example" : std::to_string(batch) + " examples") + ", as the node has";
}

/// Why different shapes of an argument have different keys, if they differ in lengths alone.
std::string why_not_cut(const graph::Graph& graph, const graph::Signature& x,
                        const graph::Signature& y, std::uint32_t i) {
  const auto without = [&](graph::ShapeId id) {
    Dim d = graph.interner().shape(id);
    for (unsigned k = 0; k < d.nd; ++k) {
      d.d[k] = ((graph.interner().lengths(id) >> k) & 1) != 0 ? 0 : d.d[k];
    }
    return d.single_batch();
  };
  const Dim dx = graph.interner().shape(x.arg_shapes[i]).single_batch();
  const Dim dy = graph.interner().shape(y.arg_shapes[i]).single_batch();
  return dx != dy && without(x.arg_shapes[i]) == without(y.arg_shapes[i])
             ? "; the lengths of lists, but the operation does not take column by column"
             : "";
}

/// The first argument whose part in the key differs; empty where there is none. Shapes go first:
/// who has the batch of a node follows from another argument as well.
std::string different_argument(const graph::Graph& graph, const graph::Signature& x,
                               const graph::Signature& y) {
  const auto shape = [&](const graph::Signature& s, std::uint32_t i) -> const Dim& {
    return graph.interner().shape(s.arg_shapes[i]);
  };
  const bool is_whole = x.record->has_whole;
  const auto argument = [](std::uint32_t i) { return "argument " + std::to_string(i); };
  for (std::uint32_t i = 0; i < x.arity; ++i) {
    const Dim& dx = shape(x, i);
    const Dim& dy = shape(y, i);
    if (ext::is_absent(dx) != ext::is_absent(dy) || dx.single_batch() != dy.single_batch() ||
        (is_whole && dx.bd != dy.bd)) {
      return different(argument(i), shape_text(dx), shape_text(dy)) + why_not_cut(graph, x, y, i);
    }
  }
  for (std::uint32_t i = 0; i < x.arity && !is_whole; ++i) {
    const Dim& dx = shape(x, i);
    const Dim& dy = shape(y, i);
    if ((dx.bd == x.batch) != (dy.bd == y.batch)) {
      return different(argument(i), examples_text(dx, x.batch), examples_text(dy, y.batch));
    }
  }
  return {};
}

}  // namespace

std::string explain(const graph::Graph& graph, NodeId a, NodeId b) {
  a = graph.owner(a);
  b = graph.owner(b);
  if (a == b) {
    return "one node";
  }
  const graph::Signature& x = *graph[a].signature;
  const graph::Signature& y = *graph[b].signature;
  if (x.record != y.record) {
    const std::string name(x.record->info->name);
    return name == y.record->info->name
               ? "operation: two different ones of the name " + name
               : different("operation", name, std::string(y.record->info->name));
  }
  if (x.record->reads_storage == ext::Storage::kWhole) {
    return "parameters are not computed: their value is their storage";
  }
  if (x.alone || y.alone) {
    return why_alone(graph, x.alone ? a : b);
  }
  if (x.key == y.key) {
    return waits_for(graph, std::max(a, b), std::min(a, b))
               ? "equal keys, but the later node waits for the earlier one"
               : "equal keys";
  }
  const std::string xs = x.record->attrs_text(x.op);
  const std::string ys = y.record->attrs_text(y.op);
  if (xs != ys) {
    return different("attributes", xs, ys);
  }
  if (!std::equal(x.attributes, x.attributes + x.record->attr_bytes, y.attributes)) {
    return "attributes: both are " + xs + " as text, but not to the last bit";
  }
  if (x.device != y.device) {
    return different("device", x.device->name, y.device->name);
  }
  if (x.from != y.from) {
    return different("device of the argument", (x.from != nullptr ? x.from : x.device)->name,
                     (y.from != nullptr ? y.from : y.device)->name);
  }
  if (x.arity != y.arity) {
    return different("arguments", std::to_string(x.arity), std::to_string(y.arity));
  }
  const std::string argument = different_argument(graph, x, y);
  return argument.empty() ? different("payload count", std::to_string(x.payload_count),
                                      std::to_string(y.payload_count))
                          : argument;
}

}  // namespace dynet::schedule
