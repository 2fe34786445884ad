// Graphs as text: errors, traces, Graphviz.
#include <atomic>

#include "graph/graph.h"

namespace dynet::graph {
namespace {
std::atomic<ext::LocationResolver> location_resolver{nullptr};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}
}  // namespace

std::string place_text(const Where& where) {
  if (where.code() != nullptr) {
    const ext::LocationResolver resolve = location_resolver.load();
    return resolve == nullptr ? std::string() : resolve(where.code(), where.line());
  }
  return where.file() == nullptr ? std::string()
                                 : std::string(where.file()) + ":" + std::to_string(where.line());
}

std::string built_at(const Where& where) {
  const std::string place = place_text(where);
  return place.empty() ? place : "\n  built at " + place;
}

std::string Graph::call_text(NodeId n) const {
  const Node& node = nodes_[n];
  const ext::Record& record = node.record();
  if (node.output != 0) {
    return std::string(record.info->name) + " output " + std::to_string(node.output) + " of v" +
           std::to_string(owner(n));
  }
  std::string text(record.info->name);
  text += '(';
  std::string separator;
  for (const NodeId a : args(n)) {
    text += separator + "v" + std::to_string(a);
    separator = ", ";
  }
  const std::string attributes = record.attrs_text(node.signature->op);
  if (!attributes.empty()) {
    text += separator + attributes;
  }
  return text + ")";
}

std::string Graph::describe(NodeId n) const {
  const std::string text = "node " + std::to_string(n) + ", " + call_text(n) + " " +
                           to_string(dim(n)) +
                           (&nodes_[n].device() == device_ ? "" : " on " + nodes_[n].device().name);
  const std::string place = place_text(nodes_[n].where);
  return place.empty() ? text : text + ", built at " + place;
}

std::string Graph::to_dot() const {
  std::string text = "digraph G {\n  rankdir=LR;\n  nodesep=.05;\n";
  for (NodeId n = 0; n < size(); ++n) {
    text += "  N" + std::to_string(n) + " [label=\"v" + std::to_string(n) + " = " +
            escaped(call_text(n)) + " " + to_string(dim(n)) + "\"];\n";
    for (const NodeId a : args(n)) {
      text += "  N" + std::to_string(a) + " -> N" + std::to_string(n) + ";\n";
    }
  }
  return text + "}\n";
}

}  // namespace dynet::graph

namespace dynet::ext {
void set_location_resolver(LocationResolver resolver) { graph::location_resolver.store(resolver); }
}  // namespace dynet::ext
