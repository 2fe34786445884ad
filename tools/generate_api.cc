// Writes the C++ functions of the operations, one header and one source per family, and the header
// that includes them all:
//
//   generate_api ROOT           writes ROOT/include/dynet/expr/*.h and ROOT/src/api/functions/*.cc
//   generate_api ROOT --check   exit status 1 and the names of the files that differ from that
//
// In: the lists of operations (dynet/ops/all.h). The form of a function follows from the
// operation alone: its arguments, its payload, its members with their types and defaults. Files are
// compared without regard to spaces, so that the check needs no clang-format; `tools/generate-api`
// runs it after writing.
//
// The rules that are not obvious:
// - A function that DyNet 2.1 lacks is a template, `template <int = 0>`: a program that says `using
//   namespace dynet` and has a function with the same name and parameters calls its own, because a
//   function is a better match than a template. Callers see no difference. The source instantiates
//   the template, so that the library exports it like a function (docs/decisions/0027).
// - The user's line reaches a named function as its last argument and an operator through
//   `detail::Located`, because operators cannot have default arguments. Named functions take
//   `const Expression&`: with a converting parameter, a template `f(const T&, const T&)` that a
//   using directive makes visible, std::max for one, would be the better match.
// - A pointer payload is taken as `detail::Pointer`, which converts from the pointer: so a literal
//   0 is an index and not a null pointer.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/ops/all.h"

namespace {

using dynet::ext::Info;
using dynet::ext::Payload;
using std::string;
using std::string_view;

/// The functions of DyNet 2.1 that are operations. A function with another name is new.
// clang-format off
constexpr string_view kOldNames[] = {
    "abs", "acos", "acosh", "affine_transform", "argmax", "asin", "asinh", "atan", "atanh",
    "average", "binary_log_loss", "block_dropout", "cdiv", "ceil", "circ_conv", "circ_corr",
    "cmult", "concatenate", "concatenate_to_batch", "constrained_softmax", "contract3d_1d", "cos",
    "cosh", "cube", "cumsum", "dot_product", "dropout", "dropout_batch", "dropout_dim", "elu",
    "erf", "exp", "filter1d_narrow", "flip_gradient", "floor", "fold_rows", "hinge",
    "huber_distance", "inverse", "kmax_pooling", "kmh_ngram", "l1_distance", "l2_norm",
    "layer_norm", "lgamma", "log", "log_sigmoid", "log_softmax", "logdet", "logistic",
    "logsumexp_dim", "max", "max_dim", "maxpooling2d", "min", "min_dim", "nobackprop", "noise",
    "pairwise_rank_loss", "pick", "pick_batch_elem", "pick_batch_elems", "pick_range",
    "pickneglogsoftmax", "poisson_loss", "pow", "rectify", "reshape", "round", "scale_gradient",
    "select_cols", "select_rows", "selu", "silu", "sin", "sinh", "softmax", "softsign",
    "sparsemax", "sparsemax_loss", "sqrt", "square", "squared_distance", "squared_norm", "sum",
    "sum_batches", "sum_elems", "tan", "tanh", "transpose", "vanilla_lstm_c", "vanilla_lstm_h",
    "weight_norm"};
// clang-format on

// ---- facts about an operation -------------------------------------------------------------------

struct Attribute {
  string name;
  string type;           ///< as a parameter: "float", "const Dim&", "const std::vector<unsigned>&"
  string default_value;  ///< empty: the caller must say
  string list_type;      ///< "ext::List<unsigned, 7>" for a list
};

struct Function {
  Info info;
  string op;  ///< "ops::Tanh"
  std::vector<Attribute> attributes;
  std::size_t arg_count = 0;
  std::vector<bool> optional;  ///< of each argument
  bool variadic = false;
  Payload payload = Payload::kNone;
  bool one_list = false;  ///< of indices, for all examples
  unsigned outputs = 1;

  [[nodiscard]] string name() const {
    if (only_mirrored()) {
      return mirrored_name();
    }
    return string(info.cpp.empty() ? info.name : info.cpp);
  }
  /// `a - x` has no form with the number on the right.
  [[nodiscard]] bool only_mirrored() const { return info.cpp == "-" && !info.mirrored.empty(); }
  [[nodiscard]] string mirrored_name() const {
    for (const auto& [python, cpp] : {std::pair{"__radd__", "operator+"},
                                      {"__rsub__", "operator-"},
                                      {"__rmul__", "operator*"},
                                      {"__rtruediv__", "operator/"}}) {
      if (info.mirrored == python) {
        return cpp;
      }
    }
    throw std::runtime_error("no C++ operator for " + string(info.mirrored));
  }
  [[nodiscard]] bool is_operator() const { return name().starts_with("operator"); }
  [[nodiscard]] bool is_new() const {
    return !is_operator() &&
           std::find(std::begin(kOldNames), std::end(kOldNames), name()) == std::end(kOldNames);
  }
};

template <class T>
string type_name() {
  const string_view whole = __PRETTY_FUNCTION__;
  const std::size_t from = whole.find("T = ") + 4;
  return string(whole.substr(from, whole.find_first_of(";]", from) - from));
}

template <class T>
string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    std::ostringstream os;
    os << value;
    string s = os.str();
    if constexpr (std::is_same_v<T, float>) {
      if (s.find_first_of(".en") == string::npos) {
        s += ".0";
      }
      s += "F";
    }
    return s;
  }
}

template <class T>
concept IsList = requires(T t) {
  t.items;
  t.count;
};

template <class Op, std::size_t kI>
Attribute describe_attribute() {
  const Op op{};
  const auto& value = std::get<kI>(dynet::ext::attributes(op));
  using T = std::remove_cvref_t<decltype(value)>;
  Attribute a;
  a.name = Op::kInfo.attrs[kI];
  if constexpr (std::is_same_v<T, dynet::Dim>) {
    a.type = "const Dim&";
  } else if constexpr (IsList<T>) {
    using Item = std::remove_cvref_t<decltype(value.items[0])>;
    const string item = std::is_same_v<Item, unsigned> ? "unsigned" : type_name<Item>();
    a.type = "const std::vector<" + item + ">&";
    a.list_type = "ext::List<" + item + ", " + std::to_string(std::size(value.items)) + ">";
    a.default_value = "{";
    for (const auto& v : value) {
      a.default_value += (a.default_value.size() > 1 ? ", " : "") + number_text(v);
    }
    a.default_value += "}";
  } else {
    a.type = std::is_same_v<T, unsigned> ? "unsigned" : type_name<T>();
    if (a.type.starts_with("dynet::")) {
      a.type.erase(0, string_view("dynet::").size());
    }
    if constexpr (dynet::ext::kHasDefault<Op, kI>) {
      a.default_value = number_text(value);
    }
  }
  return a;
}

template <class Op>
Function describe() {
  Function f;
  f.info = Op::kInfo;
  f.op = type_name<Op>();
  f.op.erase(0, string_view("dynet::").size());
  f.arg_count = dynet::ext::kArgCount<Op>;
  for (std::size_t i = 0; i < f.arg_count; ++i) {
    f.optional.push_back(!dynet::ext::detail::is_there<Op>(i, ~0U));
  }
  f.variadic = dynet::ext::detail::is_variadic<Op>();
  f.payload = dynet::ext::detail::payload_of<Op>();
  f.one_list = dynet::ext::detail::indices_per<Op>() == dynet::ext::IndicesPer::kNode ||
               requires(const Op op) { op.index_count(); };
  f.outputs = dynet::ext::detail::outputs_of<Op>();
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    (f.attributes.push_back(describe_attribute<Op, kI>()), ...);
  }(std::make_index_sequence<dynet::ext::kAttrCount<Op>>{});
  // A default argument before one without is none.
  bool required = false;
  for (auto a = f.attributes.rbegin(); a != f.attributes.rend(); ++a) {
    required = required || a->default_value.empty();
    if (required) {
      a->default_value.clear();
    }
  }
  return f;
}

// ---- one overload
// ---------------------------------------------------------------------------------

struct Parameter {
  string type;
  string name;
  string default_value;
};

/// One function: declared in the header, defined in the source.
struct Overload {
  string result;
  string name;
  std::vector<Parameter> parameters;
  string body;
  bool is_new = false;

  [[nodiscard]] string declaration() const {
    return (is_new ? "template <int = 0> " : "") + signature(name, true) + ";\n";
  }
  [[nodiscard]] string definition() const {
    string s = (is_new ? "template <int> " : "") + signature(name, false) + " {\n" + body + "\n}\n";
    if (is_new) {
      s += "template " + signature(name + "<>", false) + ";\n";
    }
    return s;
  }

 private:
  [[nodiscard]] string signature(const string& called, bool with_defaults) const {
    string s = result + " " + called + "(";
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[i];
      s += (i > 0 ? ", " : "") + p.type + " " + p.name;
      if (with_defaults && !p.default_value.empty()) {
        s += " = " + p.default_value;
      }
    }
    return s + ")";
  }
};

/// "ops::Elu{alpha}"
string construct(const Function& f, std::size_t given) {
  if (given == 0) {
    return f.op + "{}";
  }
  string s = f.op + "{";
  for (std::size_t i = 0; i < given; ++i) {
    const Attribute& a = f.attributes[i];
    s += i > 0 ? ", " : "";
    s += a.list_type.empty() ? a.name
                             : "api::to_list<" + a.list_type + ">(" + a.name + ", \"" +
                                   string(f.info.name) + "\", \"" + a.name + "\")";
  }
  return s + "}";
}

/// The rest of an overload once its leading parameters are known. `leading` ends with the payload,
/// `call` is the text of the call to make with the operation as `@`.
Overload finish(const Function& f, std::vector<Parameter> leading, const string& call,
                std::size_t attributes, bool location) {
  Overload o;
  o.name = f.name();
  o.is_new = f.is_new();
  o.result = f.outputs > 1 ? "std::array<Expression, " + std::to_string(f.outputs) + ">"
                           : string("Expression");
  o.parameters = std::move(leading);
  for (std::size_t i = 0; i < attributes; ++i) {
    const Attribute& a = f.attributes[i];
    // A list's default is an overload of its own: an empty argument costs no heap allocation.
    o.parameters.push_back({a.type, a.name, a.list_type.empty() ? a.default_value : ""});
  }
  if (location) {
    o.parameters.push_back({"Where", "where", "Where::here()"});
  }
  string text = call;
  text.replace(text.find('@'), 1, construct(f, attributes));
  if (f.outputs > 1) {
    text = "api::outputs<" + std::to_string(f.outputs) + ">(" + text + ")";
  }
  o.body = "return " + text + ";";
  return o;
}

/// The overload, and before it an overload without a trailing list that has a default.
void add_overloads(const Function& f, const std::vector<Parameter>& leading, const string& call,
                   bool location, std::vector<Overload>& to) {
  const std::size_t n = f.attributes.size();
  if (n > 0 && !f.attributes.back().list_type.empty() &&
      !f.attributes.back().default_value.empty()) {
    // Through Located: after a Where an empty list {} would be ambiguous.
    std::vector<Parameter> located = leading;
    located[0].type = "const detail::Located&";
    string short_call = call;
    const string given = "{" + located[0].name + ", where}";
    short_call.replace(short_call.find(given), given.size(), located[0].name);
    to.push_back(finish(f, located, short_call, n - 1, false));
  }
  to.push_back(finish(f, leading, call, n, location));
}

void add_variadic(const Function& f, std::vector<Overload>& to) {
  const string list(f.info.args[0]);
  for (const char* type :
       {"const std::initializer_list<Expression>&", "const std::vector<Expression>&"}) {
    const bool braces = string_view(type).find("initializer") != string_view::npos;
    std::ostringstream call;
    call << "ext::add_node(@, ";
    if (braces) {
      call << "{" << list << ".begin(), " << list << ".size()}";
    } else {
      call << list;
    }
    call << ", where)";
    add_overloads(f, {{type, list, ""}}, call.str(), true, to);
  }
}

void add_operator(const Function& f, std::vector<Overload>& to) {
  std::vector<Parameter> parameters;
  string call = "ext::add_node(@";
  for (std::size_t i = 0; i < f.arg_count; ++i) {
    const string name(f.info.args[i]);
    parameters.push_back({i == 0 ? "const detail::Located&" : "const Expression&", name, ""});
    call += ", " + name;
  }
  if (f.payload == Payload::kNone) {
    to.push_back(finish(f, parameters, call + ")", f.attributes.size(), false));
    return;
  }
  const string scalar(f.info.payload);
  call += ", ext::NodePayload::of(" + scalar + "))";
  const Parameter payload{"real", scalar, ""};
  if (!f.only_mirrored()) {
    parameters.push_back(payload);
    to.push_back(finish(f, parameters, call, f.attributes.size(), false));
    parameters.pop_back();
  }
  if (!f.info.mirrored.empty()) {
    parameters.insert(parameters.begin(), payload);
    to.push_back(finish(f, parameters, call, f.attributes.size(), false));
  }
}

void add_named(const Function& f, std::vector<Overload>& to) {
  std::vector<Parameter> parameters;
  string call = "ext::add_node(@";
  for (std::size_t i = 0; i < f.arg_count; ++i) {
    const string name(f.info.args[i]);
    parameters.push_back({"const Expression&", name, f.optional[i] ? "{}" : ""});
    call += i == 0 ? ", {" + name + ", where}" : ", " + name;
  }
  const string payload(f.info.payload);
  if (f.payload == Payload::kNone) {
    add_overloads(f, parameters, call + ")", true, to);
  } else if (f.payload == Payload::kValues) {
    parameters.push_back({"real", payload, ""});
    add_overloads(f, parameters, call + ", ext::NodePayload::of(" + payload + "))", true, to);
  } else {
    const string vector = "std::vector<unsigned>";
    for (const Parameter& p :
         {Parameter{"unsigned", payload, ""}, Parameter{"detail::Pointer<unsigned>", payload, ""},
          Parameter{"const " + vector + "&", payload, ""},
          Parameter{"detail::Pointer<" + vector + ">", payload, ""}}) {
      parameters.push_back(p);
      std::ostringstream whole;
      whole << call << ", ext::NodePayload::of(";
      if (p.type.starts_with("detail")) {
        whole << "api::pointee(" << payload << ", \"" << f.info.name << "\", \"" << payload
              << "\")";
      } else {
        whole << payload;
      }
      whole << "))";
      add_overloads(f, parameters, whole.str(), true, to);
      parameters.pop_back();
    }
  }
}

std::vector<Overload> overloads(const Function& f) {
  std::vector<Overload> all;
  if (f.variadic) {
    add_variadic(f, all);
  } else if (f.arg_count == 0) {
    throw std::runtime_error(f.name() +
                             ": functions without expression arguments are written by hand");
  } else if (f.is_operator()) {
    add_operator(f, all);
  } else {
    add_named(f, all);
  }
  return all;
}

// ---- files
// ----------------------------------------------------------------------------------------

/// Comment lines of at most 100 columns.
void write_comment(std::ostream& out, const string& text) {
  std::istringstream words(text);
  string word;
  string line = "///";
  while (words >> word) {
    if (line.size() + 1 + word.size() > 100) {
      out << line << "\n";
      line = "///  ";
    }
    line += " " + word;
  }
  out << line << "\n";
}

void write_documentation(std::ostream& out, const Function& f) {
  write_comment(out, string(f.info.summary));
  if (!f.info.formula.empty()) {
    write_comment(out, "`" + string(f.info.formula) + "`");
  }
  const auto sentence = [](const char* start, string_view text) {
    return start + string(text) + (text.ends_with(".") ? "" : ".");
  };
  if (!f.info.shapes.empty()) {
    write_comment(out, sentence("Shapes: ", f.info.shapes));
  }
  if (f.payload == Payload::kIndices && !f.variadic) {
    write_comment(out, "`" + string(f.info.payload) + "`: " +
                           (f.one_list ? "" : "one index for all examples, or one for each; ") +
                           "by pointer it is read again at every run.");
  }
  for (std::size_t i = 0; i < f.arg_count; ++i) {
    if (f.optional[i]) {
      write_comment(out, "`" + string(f.info.args[i]) + "`: may be absent, an empty Expression.");
    }
  }
  if (f.outputs > 1) {
    write_comment(out, "Results: in the order of the formula.");
  }
  if (!f.info.errors.empty()) {
    write_comment(out, sentence("Errors: ", f.info.errors));
  }
  if (!f.info.source.empty()) {
    write_comment(out, sentence("Source: ", f.info.source));
  }
}

const char* const kNotice = "// Written by tools/generate-api from the operations in dynet/ops/";

string header_of(const string& family, const std::vector<Function>& functions) {
  std::ostringstream out;
  out << "#pragma once\n\n" << kNotice << family << ".h. Not to be edited.\n\n";
  std::ostringstream body;
  for (const Function& f : functions) {
    write_documentation(body, f);
    for (const Overload& o : overloads(f)) {
      body << o.declaration();
    }
    body << "\n";
  }
  if (body.str().find("std::array") != string::npos) {
    out << "#include <array>\n";
  }
  if (body.str().find("initializer_list") != string::npos) {
    out << "#include <initializer_list>\n";
  }
  if (body.str().find("std::vector") != string::npos) {
    out << "#include <vector>\n";
  }
  out << "\n#include \"dynet/expr/arguments.h\"\n\nnamespace dynet {\n\n"
      << body.str() << "}  // namespace dynet\n";
  return out.str();
}

string source_of(const string& family, const std::vector<Function>& functions) {
  std::ostringstream out;
  out << kNotice << family << ".h. Not to be edited.\n\n";
  out << "#include \"dynet/ops/" << family << ".h\"\n\n#include \"dynet/expr/" << family
      << ".h\"\n#include \"dynet/ext/add_node.h\"\n\n#include \"api/functions.h\"\n\nnamespace "
         "dynet {\n\n";
  for (const Function& f : functions) {
    for (const Overload& o : overloads(f)) {
      out << o.definition();
    }
    out << "\n";
  }
  out << "}  // namespace dynet\n";
  return out.str();
}

struct File {
  std::filesystem::path path;
  string text;
};

template <class List>
void add_family(const string& family, std::vector<File>& files) {
  std::vector<Function> functions;
  List::for_each([&]<class Op>() {
    if (Op::kInfo.cpp != "-" || !Op::kInfo.mirrored.empty()) {
      functions.push_back(describe<Op>());
    }
  });
  if (functions.empty()) {
    return;
  }
  files.push_back({std::filesystem::path("include/dynet/expr") / (family + ".h"),
                   header_of(family, functions)});
  files.push_back({std::filesystem::path("src/api/functions") / (family + ".cc"),
                   source_of(family, functions)});
}

/// The header that includes the headers of all families.
string umbrella_of(const std::vector<File>& files) {
  std::vector<string> includes;
  for (const File& file : files) {
    if (file.path.extension() == ".h") {
      includes.push_back("#include \"dynet/expr/" + file.path.filename().string() + "\"\n");
    }
  }
  std::sort(includes.begin(), includes.end());
  string text = "#pragma once\n\n" + string(kNotice) + "all.h. Not to be edited.\n\n";
  for (const string& include : includes) {
    text += include;
  }
  return text;
}

std::vector<File> all_files() {
  namespace ops = dynet::ops;
  std::vector<File> files;
#define DYNET_ADD_FAMILY(family, Family) add_family<ops::Family>(#family, files);
  DYNET_FAMILIES(DYNET_ADD_FAMILY)
#undef DYNET_ADD_FAMILY
  files.push_back({std::filesystem::path("include/dynet/expr/all.h"), umbrella_of(files)});
  return files;
}

string without_spaces(const string& text) {
  string s;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      s += c;
    }
  }
  return s;
}

string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int check(const std::filesystem::path& root, const std::vector<File>& files) {
  int stale = 0;
  for (const File& f : files) {
    if (without_spaces(read_file(root / f.path)) != without_spaces(f.text)) {
      std::cerr << f.path.string() << " is not what the operations say: run tools/generate-api\n";
      stale = 1;
    }
  }
  return stale;
}

void write(const std::filesystem::path& root, const std::vector<File>& files) {
  for (const File& f : files) {
    std::filesystem::create_directories((root / f.path).parent_path());
    std::ofstream out(root / f.path);
    if (!(out << f.text).flush()) {
      throw std::runtime_error("cannot write " + f.path.string());
    }
    std::cout << f.path.string() << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<string> args(argv + 1, argv + argc);
    if (args.empty() || args.size() > 2 || (args.size() == 2 && args[1] != "--check")) {
      std::cerr << "usage: generate_api ROOT [--check]\n";
      return 2;
    }
    if (args.size() == 2) {
      return check(args[0], all_files());
    }
    write(args[0], all_files());
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "generate_api: " << e.what() << "\n";
    return 1;
  }
}
