#include "op_cases.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/all.h"

#include "probes.h"
#include "support/named_operations.h"

namespace dynet::bench {

namespace {

using Expressions = std::vector<Expression>;
using Attributes = std::map<std::string, std::string>;

/// Functions that are several operations of the list.
using Composition = Expression (*)(const Expressions& xs, const Attributes& attributes);
const std::map<std::string, Composition>& compositions() {
  static const std::map<std::string, Composition> all{
      {"max(list)", [](const Expressions& xs, const Attributes&) { return max(xs); }},
      {"min(list)", [](const Expressions& xs, const Attributes&) { return min(xs); }},
      {"logsumexp(list)", [](const Expressions& xs, const Attributes&) { return logsumexp(xs); }},
      {"contract3d_1d_1d", [](const Expressions& xs,
                              const Attributes&) { return contract3d_1d_1d(xs[0], xs[1], xs[2]); }},
      {"trace_of_product",
       [](const Expressions& xs, const Attributes&) { return trace_of_product(xs[0], xs[1]); }},
      {"colwise_add",
       [](const Expressions& xs, const Attributes&) { return colwise_add(xs[0], xs[1]); }},
      {"einsum",
       [](const Expressions& xs, const Attributes& a) { return einsum(a.at("spec"), xs); }},
  };
  return all;
}

/// Numbers that no branch predictor can guess.
std::vector<float> numbers(const Dim& dim, double low, double high, std::uint32_t seed) {
  std::vector<float> x(static_cast<std::size_t>(dim.elements()));
  for (float& v : x) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<float>(low + (high - low) * (seed >> 8) / (1U << 24));
  }
  return x;
}

void read_option(OpCase& c, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string text = word.substr(equals + 1);
  if (key == "from") {
    c.from = std::stod(text);
  } else if (key == "to") {
    c.to = std::stod(text);
  } else if (key == "value") {
    c.values = {std::stof(text)};
  } else if (key == "values") {
    c.values.assign(std::stoul(text), 0.5F);
  } else if (key == "indices") {
    const unsigned limit = static_cast<unsigned>(std::stoul(text.substr(text.find('<') + 1)));
    c.indices.resize(std::stoul(text));
    for (unsigned i = 0; i < c.indices.size(); ++i) {
      c.indices[i] = (i * 7 + 3) % limit;
    }
  } else {
    throw std::invalid_argument("'" + word + "' in the case '" + c.text + "'");
  }
}

/// The node of a case, made repeatedly in one graph.
class Node {
 public:
  explicit Node(const OpCase& c)
      : case_(c), named_(testing::named_operation(c.name, c.attributes)) {
    for (std::size_t a = 0; a < c.in.size(); ++a) {
      const Dim& dim = c.in[a];
      args_.push_back(
          ext::is_absent(dim)
              ? Expression()
              : input(graph_, dim, numbers(dim, c.from, c.to, static_cast<std::uint32_t>(a) + 1)));
    }
    if (const auto found = compositions().find(c.name); found != compositions().end()) {
      composition_ = found->second;
    }
    payload_ = !c.indices.empty()  ? ext::NodePayload::of(c.indices)
               : !c.values.empty() ? ext::NodePayload::of(c.values)
                                   : ext::NodePayload();
  }
  void forward() {
    graph_.checkpoint();
    graph_.incremental_forward(make());
    graph_.revert();
  }
  /// The shape of the value.
  Dim dim() {
    graph_.checkpoint();
    const Dim result = make().dim();
    graph_.revert();
    return result;
  }
  void backward() {
    graph_.checkpoint();
    const Expression loss = sum_batches(sum_elems(make()));
    graph_.backward(loss, true);
    graph_.revert();
  }

 private:
  Expression make() {
    return composition_ != nullptr
               ? composition_(args_, case_.attributes)
               : ext::add_node(*named_.record, named_.op.get(), &graph_, args_, payload_, Where());
  }

  const OpCase& case_;
  testing::NamedOperation named_;
  ComputationGraph graph_;
  Expressions args_;
  Composition composition_ = nullptr;
  ext::NodePayload payload_;
};

/// Multiply-adds of a product's case; 0 for other cases.
double multiply_adds(const OpCase& c, const Dim& out) {
  const auto results = static_cast<double>(out.elements());
  if (c.name == "matmul" || c.name == "batch_matmul") {
    return results * c.in[0][1];
  }
  if (c.name == "affine_transform") {
    double each = 0;
    for (std::size_t a = 1; a < c.in.size(); a += 2) {
      each += c.in[a][1];
    }
    return results * each;
  }
  if (c.name == "conv2d" || c.name == "filter1d_narrow") {
    const Dim& filters = c.in[1];
    return results * static_cast<double>(filters.elements()) / filters[filters.nd - 1];
  }
  if (c.name == "inverse" || c.name == "logdet") {
    const double n = c.in[0][0];
    return n * n * n / (c.name == "logdet" ? 3 : 1);
  }
  return c.name.starts_with("contract3d") ? static_cast<double>(c.in[0].elements()) : 0;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Least CPU seconds of a call.
template <class F>
double least_seconds(F&& f, double round_seconds, int rounds) {
  const auto time = [&](int calls) {
    const double start = cpu_seconds();
    for (int i = 0; i < calls; ++i) {
      f();
    }
    return (cpu_seconds() - start) / calls;
  };
  int calls = 1;
  double best = time(1);  // the first call allocates
  for (best = time(1); best * calls < round_seconds / 2 && calls < 1 << 20;) {
    calls *= 2;
    best = time(calls);
  }
  for (int i = 0; i < rounds; ++i) {
    best = std::min(best, time(calls));
  }
  return best;
}

/// Least seconds of a copy that reads and writes as much as the case, half of it each.
double copy_seconds(const OpCase& c, const Dim& out) {
  auto numbers = static_cast<std::size_t>(out.elements());
  for (const Dim& dim : c.in) {
    numbers += ext::is_absent(dim) ? 0 : static_cast<std::size_t>(dim.elements());
  }
  const std::size_t half = numbers / 2 + 1;
  std::vector<float> from(half, 0.5F);
  std::vector<float> to(half, 0.0F);
  const auto copy = [&] {
    std::memcpy(to.data(), from.data(), half * sizeof(float));
    detail::keep(to[0]);
  };
  return least_seconds(copy, 0.001, 3);
}

/// "- name: reason" after the cases.
std::string name_of_reason(const std::string& line) { return line.substr(2, line.find(':') - 2); }

/// The cases of a line: one for each name and each size in place of "%".
void read_line(const std::string& line, std::vector<OpCase>& to) {
  const std::size_t colon = line.find(" :");
  std::istringstream words(line.substr(0, colon));
  const std::string rest = line.substr(colon);
  std::vector<std::string> names;
  std::string attributes;
  for (std::string word; words >> word;) {
    if (word.find('=') == std::string::npos) {
      names.push_back(word);
    } else {
      attributes += ' ' + word;
    }
  }
  const bool is_sized = rest.find('%') != std::string::npos;
  for (const std::string& name : names) {
    for (const char* size : {"{64}", "{4096}", "{1048576}"}) {
      std::string text = name;
      text.append(attributes).append(rest);
      for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos;) {
        text.replace(at, 1, size);
      }
      to.push_back(op_case(text));
      if (!is_sized) {
        break;
      }
    }
  }
}

}  // namespace

OpCase op_case(const std::string& text) {
  OpCase c;
  c.text = text;
  std::istringstream words(text);
  words >> c.name;
  std::string word;
  while (words >> word && word != ":") {
    const std::size_t equals = word.find('=');
    c.attributes[word.substr(0, equals)] = word.substr(equals + 1);
  }
  while (words >> word && word != ";") {
    c.in.push_back(word == "absent" ? ext::absent() : testing::shape_of_text(word));
  }
  while (words >> word) {
    read_option(c, word);
  }
  const bool is_composed = compositions().contains(c.name);
  if (!is_composed && testing::named_operation(c.name, c.attributes).record == nullptr) {
    throw std::invalid_argument("no operation is called '" + c.name + "'");
  }
  return c;
}

std::vector<OpCase> op_cases(const std::string& file) {
  std::vector<OpCase> all;
  std::ifstream in(file);
  std::set<std::string> seen;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("- ")) {
      seen.insert(name_of_reason(line));
    } else if (!line.empty() && line[0] != '#') {
      read_line(line, all);
    }
  }
  for (const OpCase& c : all) {
    seen.insert(c.name);
  }
  ops::AllOps::for_each([&]<class Op>() {
    const std::string name(Op::kInfo.name);
    if (!seen.contains(name)) {
      throw std::runtime_error(file + " has neither a case of '" + name +
                               "' nor a reason why there is none");
    }
  });
  return all;
}

OpSeconds op_seconds(const OpCase& c, double round_seconds, int rounds) {
  static const double fma_rate = probe_machine().fma_gflops * 1e9;
  Node node(c);
  const Dim out = node.dim();
  const double least = std::max(copy_seconds(c, out), 2 * multiply_adds(c, out) / fma_rate);
  const auto forward = [&] { node.forward(); };
  const auto backward = [&] { node.backward(); };
  return {out.elements(), least_seconds(forward, round_seconds, rounds),
          c.in.empty() ? 0 : least_seconds(backward, round_seconds, rounds), least};
}

}  // namespace dynet::bench
