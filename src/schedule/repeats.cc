#include "schedule/repeats.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace dynet::schedule {
namespace {

constexpr std::size_t kMostResults = ext::kMaxOutputs;  // of a cell
constexpr std::size_t kMostLines = 5;

/// The position of a node in the program: nodes from the same position have the same name.
using Name = std::uint64_t;
constexpr Name kOutside = 0;  // of nodes that a cell cannot hold
constexpr Name kSeveral = 1;

Name joined(Name a, std::uint64_t b) {
  const Name all = (a ^ b) * 0x9E3779B97F4A7C15ULL;
  return (all ^ (all >> 29)) | 2;  // neither of the two above
}

/// The neighbours of the nodes of one name: one name, or kSeveral.
struct Neighbours {
  Name before = kOutside;
  Name after = kOutside;
  std::uint32_t nodes = 0;
};

/// Whether a cell could hold the node.
bool fits_cell(const graph::Node& node) {
  const ext::Record& record = node.record();
  const bool has_own = record.reads_storage != ext::Storage::kNone || node.arity == 0;
  return !has_own && !record.random && !record.has_whole && node.signature->from == nullptr;
}

/// The recurrences of a program: positions that lead back to themselves.
/// (Tarjan, 1972, "Depth-first search and linear graph algorithms", without recursion.)
class Cycles {
 public:
  /// `from[p]`: the places that place p reads.
  explicit Cycles(const std::vector<std::vector<std::uint32_t>>& from)
      : from_(from), found_(from.size()) {
    for (std::uint32_t p = 0; p < from.size(); ++p) {
      if (found_[p].number == 0) {
        walk(p);
      }
    }
  }
  /// The cycle on which a place stands; 0 if it stands on none.
  [[nodiscard]] std::uint32_t of(std::uint32_t place) const { return found_[place].cycle; }

 private:
  struct Found {
    std::uint32_t number = 0;  ///< in the order of the walk, from 1
    std::uint32_t lowest = 0;  ///< the lowest number on the path that it leads back to
    std::uint32_t cycle = 0;
    std::uint32_t next = 0;  ///< of the places that it reads
    bool is_open = false;    ///< on `open_`
  };
  void enter(std::uint32_t place) {
    found_[place].number = found_[place].lowest = ++numbers_;
    found_[place].is_open = true;
    open_.push_back(place);
    path_.push_back(place);
  }
  void walk(std::uint32_t start) {
    enter(start);
    while (!path_.empty()) {
      const std::uint32_t place = path_.back();
      Found& at = found_[place];
      if (at.next < from_[place].size()) {
        const std::uint32_t read = from_[place][at.next++];
        if (found_[read].number == 0) {
          enter(read);
        } else if (found_[read].is_open) {
          at.lowest = std::min(at.lowest, found_[read].number);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        Found& before = found_[path_.back()];
        before.lowest = std::min(before.lowest, at.lowest);
      }
      if (at.lowest == at.number) {
        close(place);
      }
    }
  }
  /// The open places down to `place` are one component, and a cycle unless it is one place that
  /// does not read itself.
  void close(std::uint32_t place) {
    const auto& reads = from_[place];
    const bool is_cycle =
        open_.back() != place || std::find(reads.begin(), reads.end(), place) != reads.end();
    std::uint32_t last = 0;
    do {
      last = open_.back();
      open_.pop_back();
      found_[last].is_open = false;
      found_[last].cycle = is_cycle ? found_[place].number : 0;
    } while (last != place);
  }

  const std::vector<std::vector<std::uint32_t>>& from_;
  std::vector<Found> found_;
  std::uint32_t numbers_ = 0;
  std::vector<std::uint32_t> open_, path_;
};

class Finder {
 public:
  Finder(const graph::Graph& graph, const std::vector<NodeId>& wanted)
      : graph_(graph), wanted_(wanted), names_(wanted.size(), kOutside) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      names_[i] = name(i);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Neighbours& of = neighbours_[names_[i]];
      note(of.before, i == 0 ? kOutside : names_[i - 1], of.nodes);
      note(of.after, i + 1 == wanted.size() ? kOutside : names_[i + 1], of.nodes);
      ++of.nodes;
    }
    find_cycles();
  }

  /// The end of the stretch that begins with node `i`.
  [[nodiscard]] std::size_t end_of(std::size_t i) const {
    do {
      ++i;
    } while (i < names_.size() && !is_leader(i));
    return i;
  }
  [[nodiscard]] Name name_of(std::size_t i) const { return names_[i]; }

 private:
  static void note(Name& noted, Name neighbour, std::uint32_t nodes_before) {
    noted = nodes_before == 0 || noted == neighbour ? neighbour : kSeveral;
  }
  [[nodiscard]] bool is_leader(std::size_t i) const {
    return names_[i] == kOutside || names_[i - 1] == kOutside || cycles_[i] != cycles_[i - 1] ||
           neighbours_.at(names_[i]).before == kSeveral ||
           neighbours_.at(names_[i - 1]).after == kSeveral;
  }
  /// The name of a node is its operation and its weights. Without weights it is the operation, and
  /// the name before it if the node reads a node of its round. A round begins after a node that no
  /// cell can hold, and at a name with weights that the round has already.
  Name name(std::size_t i) {
    const graph::Node& node = graph_[wanted_[i]];
    if (!fits_cell(node)) {
      return kOutside;
    }
    if (i == 0 || names_[i - 1] == kOutside) {
      begin_round(wanted_[i]);
    }
    const Name key = joined(node.signature->key, 0);
    Name weights = kOutside;
    bool reads_round = false;
    for (const NodeId a : node.arguments()) {
      if (graph_[a].record().reads_storage == ext::Storage::kWhole) {
        weights = joined(weights, graph_.identity(a));
      } else {
        reads_round = reads_round || a >= round_;
      }
    }
    if (weights == kOutside) {
      return reads_round ? joined(key, names_[i - 1]) : key;
    }
    const Name name = joined(key, weights);
    if (!read_.insert(name).second) {
      begin_round(wanted_[i]);
      read_.insert(name);
    }
    return name;
  }
  void begin_round(NodeId first) {
    round_ = first;
    read_.clear();
  }

  /// Finds the recurrence of each node. A cell that holds a recurrence and nodes beside it would
  /// compute both step by step.
  void find_cycles() {
    std::unordered_map<Name, std::uint32_t> places;
    std::unordered_map<NodeId, std::uint32_t> place_of;
    std::vector<std::vector<std::uint32_t>> from;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto [found, is_new] =
          places.try_emplace(names_[i], static_cast<std::uint32_t>(from.size()));
      if (is_new) {
        from.emplace_back();
      }
      place_of[wanted_[i]] = found->second;
      for (const NodeId a : graph_.args(wanted_[i])) {
        const auto read = place_of.find(graph_.owner(a));
        if (read != place_of.end() && names_[i] != kOutside) {
          from[found->second].push_back(read->second);
        }
      }
    }
    for (std::vector<std::uint32_t>& reads : from) {
      std::sort(reads.begin(), reads.end());
      reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    }
    const Cycles cycles(from);
    for (const NodeId n : wanted_) {
      cycles_.push_back(cycles.of(place_of[n]));
    }
  }

  const graph::Graph& graph_;
  const std::vector<NodeId>& wanted_;
  std::vector<Name> names_;            ///< by wanted node
  std::vector<std::uint32_t> cycles_;  ///< by wanted node: the recurrence on which it stands; 0
  NodeId round_ = 0;                   ///< the first node of the present round
  std::unordered_set<Name> read_;      ///< names with weights in the present round
  std::unordered_map<Name, Neighbours> neighbours_;
};

/// How many nodes of a stretch are read outside of it, or nowhere.
std::size_t count_results(const graph::Graph& graph, NodeId first, NodeId last) {
  std::vector<bool> is_inner(last - first + 1, false);
  std::vector<bool> is_read_outside(last - first + 1, false);
  for (NodeId n = first + 1; n < graph.size(); ++n) {
    for (const NodeId a : graph.args(n)) {
      if (a >= first && a <= last) {
        (n <= last ? is_inner : is_read_outside)[a - first] = true;
      }
    }
  }
  std::size_t results = 0;
  for (NodeId n = first; n <= last; ++n) {
    const bool is_node = graph[n].record().reads_storage == ext::Storage::kNone;
    results += is_node && (is_read_outside[n - first] || !is_inner[n - first]) ? 1 : 0;
  }
  return results;
}

}  // namespace

std::vector<Repeat> find_repeats(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const Finder finder(graph, wanted);
  std::unordered_map<Name, Repeat> by_name;
  std::size_t end = 0;
  for (std::size_t i = 0; i < wanted.size(); i = end) {
    end = finder.end_of(i);
    if (finder.name_of(i) != kOutside && end - i >= kFewestNodes) {
      const Repeat found{wanted[i], wanted[end - 1], static_cast<std::uint32_t>(end - i), 0};
      ++by_name.try_emplace(finder.name_of(i), found).first->second.times;
    }
  }
  std::vector<Repeat> repeats;
  for (const auto& [name, repeat] : by_name) {
    if (repeat.times >= kFewestTimes &&
        count_results(graph, repeat.first, repeat.last) <= kMostResults) {
      repeats.push_back(repeat);
    }
  }
  std::sort(repeats.begin(), repeats.end(), [](const Repeat& a, const Repeat& b) {
    const std::uint64_t of_a = std::uint64_t{a.nodes} * a.times;
    const std::uint64_t of_b = std::uint64_t{b.nodes} * b.times;
    return of_a != of_b ? of_a > of_b : a.first < b.first;
  });
  return repeats;
}

std::string repeats_text(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const auto at = [&](NodeId n) {
    const graph::Node& node = graph[n];
    const std::string place = graph::place_text(node.where);
    return std::string(node.record().info->name) + (place.empty() ? "" : " at " + place);
  };
  std::string text;
  const std::vector<Repeat> repeats = find_repeats(graph, wanted);
  for (std::size_t i = 0; i < std::min(repeats.size(), kMostLines); ++i) {
    const Repeat& r = repeats[i];
    text += "repeats: " + std::to_string(r.nodes) + " nodes, " + std::to_string(r.times) +
            " times: from " + at(r.first) + " to " + at(r.last) +
            "; as a cell they would be one node\n";
  }
  return text;
}

}  // namespace dynet::schedule
