#pragma once

// Functions of the operations of one family: a loop over its list. There is no line for any one
// operation here. CMake makes a source for each family (bind_family.cc.in), so that a change of one
// operation compiles the functions of its family only.
//
// The parameters of a Python function are the arguments, the payload (an index, or one per example
// in the form named python_batch, or a number), the attributes with their defaults, and batch_size
// if an attribute is a shape. An operation whose Python name is "-" has a function written by hand,
// elsewhere. Example: elu gets x and the attribute alpha with its default.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/ext/op.h"

#include "binding.h"
#include "describe.h"
#include "graph.h"
#include "op_names.h"
#include "operators.h"
#include "quick.h"
#include "where.h"

namespace dynet::python {

template <class... T>
struct Types {};

template <class Op, std::size_t kI>
using Member = std::remove_reference_t<
    std::tuple_element_t<kI, decltype(ext::attributes(std::declval<Op&>()))>>;
template <class Op, std::size_t... kI>
constexpr bool has_shape_attribute(std::index_sequence<kI...> /*members*/) {
  return (std::is_same_v<Member<Op, kI>, Dim> || ...);
}

// ---- calling
// -----------------------------------------------------------------------------------------

inline void set_batch(Dim& d, unsigned batch_size) { d = DimArg{d}.with_batch(batch_size); }
template <class T>
void set_batch(T& /*attribute*/, unsigned /*batch_size*/) {}
template <class Op>
void set_batches(Op& op, unsigned batch_size) {
  std::apply([batch_size](auto&... member) { (set_batch(member, batch_size), ...); },
             ext::attributes(op));
}

inline ext::NodePayload payload_of() { return {}; }
template <class T>
ext::NodePayload payload_of(const T& v) {
  return ext::NodePayload::of(v);
}
inline ext::NodePayload payload_of(const IndexArg& v) { return ext::NodePayload::of(v.index); }
inline ext::NodePayload payload_of(const IndexListArg& v) { return ext::NodePayload::of(v.list); }

/// The number of entries from which the operation selects in the argument.
template <class Op>
unsigned count_of_places(const Op& op, const ExprArg& x) {
  const Dim shape = x.node().dim();
  return op.index_limit(ext::Shapes(Op::kInfo, {&shape, 1}, shape.bd, 1));
}
template <class Op, class T, class... X>
const T& settled(const Op& /*op*/, const T& v, const X&... /*arguments*/) {
  // The arguments of a call outlive it. NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter)
  return v;
}
template <class Op>
IndexArg settled(const Op& op, const PlaceArg& v, const ExprArg& x) {
  return {v.place >= 0 ? static_cast<unsigned>(v.place)
                       : v.in(Op::kInfo.name, count_of_places(op, x))};
}
template <class Op>
IndexListArg settled(const Op& op, const PlaceListArg& v, const ExprArg& x) {
  return {v.in(Op::kInfo.name, count_of_places(op, x))};
}

template <std::size_t kOutputs>
auto outputs(const Expression& first, PyExpression::Settable settable) {
  if constexpr (kOutputs == 1) {
    return PyExpression(first, settable);
  } else {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return std::make_tuple(PyExpression(
          Expression(first.pg, first.i + static_cast<VariableIndex>(kI), first.graph_id))...);
    }(std::make_index_sequence<kOutputs>{});
  }
}

/// The shape for attributes that count from the end: the shape of the first argument; in a list,
/// the shape with most dimensions.
template <class... X>
Dim shape_of(const ExprArg& first, const X&... /*others*/) {
  return first.node().dim();
}
inline Dim shape_of(const ExprListArg& list) {
  Dim most;
  for (const Expression& x : list.nodes()) {
    most = x.dim().nd > most.nd ? x.dim() : most;
  }
  return most;
}

template <class Op>
constexpr bool is_optional(std::size_t arg) {
  if constexpr (requires { Op::kOptional; }) {
    return Op::kOptional[arg] != 0;
  } else {
    return false;
  }
}

/// Shapes have no default, and an empty list is none.
template <class Op, std::size_t kI>
constexpr bool has_default() {
  if constexpr (requires(Member<Op, kI> list) { list.items; }) {
    Op op{};
    return std::get<kI>(ext::attributes(op)).count != 0;
  } else {
    return ext::kHasDefault<Op, kI> && !std::is_same_v<Member<Op, kI>, Dim>;
  }
}

/// One Python function. X: its arguments, V: its payload (none or one), A: attributes in members'
/// order, B: batch_size (none or one).
template <class Op, class Xs, class Vs, class As, class Bs>
struct Function;
template <class Op, class... X, class... V, class... A, class... B>
struct Function<Op, Types<X...>, Types<V...>, Types<A...>, Types<B...>> {
  static auto call(X... x, V... payload, A... attr, B... batch_size) {
    Op op = [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return Op{read<kI>(attr, batch_size..., x...)...};
    }(std::index_sequence_for<A...>{});
    if constexpr ((std::is_same_v<A, PlaceArg> || ...)) {
      std::apply([&](auto&... member) { (set_bound(member, attr, op, x...), ...); },
                 ext::attributes(op));
    }
    if constexpr (sizeof...(B) > 0) {
      set_batches(op, batch_size...);
    }
    return outputs<ext::detail::outputs_of<Op>()>(
        add(op, x..., payload_of(settled(op, payload, x...)...)), kSettable);
  }
  /// With attributes that all have their defaults.
  static auto call_plain(X... x, V... payload) {
    const Op op{};
    return outputs<ext::detail::outputs_of<Op>()>(
        add(op, x..., payload_of(settled(op, payload, x...)...)), kSettable);
  }
  /// Gives the Python function `name`, which was made of `call`, its quick way, if there is one.
  static void add_quick(nb::handle m, const char* name) {
    if constexpr (kAreQuick<X..., V...>) {
      if constexpr (has_defaults(std::index_sequence_for<A...>())) {
        add_quick_way<&Function::call_plain>(m, name);
      } else if constexpr (kAreQuick<A..., B...>) {
        add_quick_way<&Function::call>(m, name);
      }
    }
  }

 private:
  template <std::size_t... kI>
  static constexpr bool has_defaults(std::index_sequence<kI...> /*attributes*/) {
    return (has_default<Op, kI>() && ...);
  }
  static constexpr auto kSettable =
      ext::detail::payload_of<Op>() != ext::Payload::kIndices ? PyExpression::Settable::kNot
      : is_of_places(Op::kInfo.name)                          ? PyExpression::Settable::kPlaces
                                                              : PyExpression::Settable::kIndices;

  /// Attribute kI. Shapes, which not all need, are asked for where it counts from the end.
  template <std::size_t kI, class Attr, class... Arguments>
  static auto read(const Attr& attr, const Arguments&... arguments) {
    if constexpr (std::is_same_v<Attr, AxisArg>) {
      return attr.axis >= 0 ? static_cast<unsigned>(attr.axis) : attr.in(shape_of(arguments...));
    } else if constexpr (std::is_same_v<Attr, AxesArg>) {
      return AttrParam<Member<Op, kI>>::read(attr.in(shape_of(arguments...)));
    } else if constexpr (std::is_same_v<Attr, RestDimArg>) {
      return rest_of(attr, arguments...);
    } else if constexpr (std::is_same_v<Attr, PlaceArg>) {
      return static_cast<unsigned>(std::max<std::int64_t>(attr.place, 0));
    } else {
      return AttrParam<Member<Op, kI>>::read(attr);
    }
  }
  /// A negative bound counts from the end of dimension d.
  static void set_bound(unsigned& bound, const PlaceArg& attr, const Op& op, const ExprArg& x) {
    if (attr.place < 0) {
      bound = attr.in(Op::kInfo.name, x.node().dim()[op.d]);
    }
  }
  template <class T, class Attr>
  static void set_bound(T& /*member*/, const Attr& /*attr*/, const Op& /*op*/, const X&... /*x*/) {}
  static Dim rest_of(const RestDimArg& attr, unsigned batch_size, const ExprArg& x) {
    return attr.rest == RestDimArg::kNone ? attr.dim : attr.of(shape_of(x), batch_size);
  }

  static Expression add(const Op& op, const ExprListArg& list, const ext::NodePayload& payload) {
    return add_to(op, list.some_nodes(), payload);
  }
  template <class... Args>
  static Expression add(const Op& op, const Args&... args) {
    return add_each(op, std::forward_as_tuple(args...),
                    std::make_index_sequence<sizeof...(Args) - 1>{});
  }
  template <class Tuple, std::size_t... kI>
  static Expression add_each(const Op& op, const Tuple& args, std::index_sequence<kI...> /*all*/) {
    const Expression nodes[] = {node_of(std::get<kI>(args))...};
    return add_to(op, nodes, std::get<sizeof...(kI)>(args));
  }
  static Expression add_to(const Op& op, std::span<const Expression> args,
                           const ext::NodePayload& payload) {
    return ext::add_node(ext::kRecord<Op>, &op, nullptr, args, payload, here());
  }
};

// ---- signatures
// ---------------------------------------------------------------------------------------

/// Names as nanobind wants them: C strings that live for ever.
const char* keep(std::string_view name);
/// The documentation that Python shows.
std::string doc_of(const ext::Info& info);

template <class Op, std::size_t kI>
auto attribute_arg(const char* name) {
  if constexpr (has_default<Op, kI>()) {
    Op op{};
    return nb::arg(name) = AttrParam<Member<Op, kI>>::write(std::get<kI>(ext::attributes(op)));
  } else {
    return nb::arg(name);
  }
}

template <class Op, std::size_t kI>
auto expression_arg(const char* name) {
  if constexpr (is_optional<Op>(kI)) {
    return nb::arg(name).none() = nb::none();
  } else {
    return nb::arg(name);
  }
}

// ---- definitions
// ---------------------------------------------------------------------------------------

/// The type of an attribute. In an operation with arguments "d" and "dims" name their dimensions,
/// "s" and "e" are bounds in dimension d, and in a shape one extent may be the rest of theirs.
template <class Op, std::size_t kI>
auto attribute_param() {
  using Attribute = AttrParam<Member<Op, kI>>;
  constexpr std::string_view kName = Op::kInfo.attrs[kI];
  if constexpr (ext::kArgCount<Op> == 0 && !ext::detail::is_variadic<Op>()) {
    return std::type_identity<typename Attribute::Type>();
  } else if constexpr (std::is_same_v<Member<Op, kI>, Dim>) {
    return std::type_identity<RestDimArg>();
  } else if constexpr (kName == "d" && std::is_same_v<Member<Op, kI>, unsigned>) {
    return std::type_identity<AxisArg>();
  } else if constexpr (kName == "s" || kName == "e") {
    return std::type_identity<PlaceArg>();
  } else if constexpr (kName == "dims" &&
                       std::is_same_v<typename Attribute::Type, std::vector<unsigned>>) {
    return std::type_identity<AxesArg>();
  } else {
    return std::type_identity<typename Attribute::Type>();
  }
}
template <class Op, std::size_t kI>
using AttributeParam = typename decltype(attribute_param<Op, kI>())::type;

/// The types of one form of an operation's function. V: type of its payload, or nothing.
template <class Op, class Vs>
struct Form;
template <class Op, class... V>
struct Form<Op, Types<V...>> {
  template <std::size_t... kI>
  static auto args_of(std::index_sequence<kI...> /*args*/) {
    if constexpr (ext::detail::is_variadic<Op>()) {
      return Types<ExprListArg>{};
    } else {
      return Types<std::conditional_t<is_optional<Op>(kI), std::optional<ExprArg>, ExprArg>...>{};
    }
  }
  template <std::size_t... kI>
  static auto attrs_of(std::index_sequence<kI...> /*members*/) -> Types<AttributeParam<Op, kI>...>;

  using Args = std::make_index_sequence<ext::kArgCount<Op>>;
  using Attrs = std::make_index_sequence<ext::kAttrCount<Op>>;
  static constexpr bool kHasBatch = has_shape_attribute<Op>(Attrs{});
  using Batch = std::conditional_t<kHasBatch, Types<unsigned>, Types<>>;
  using Call =
      Function<Op, decltype(args_of(Args{})), Types<V...>, decltype(attrs_of(Attrs{})), Batch>;
  static constexpr std::size_t kArgs = ext::detail::is_variadic<Op>() ? 1 : Args::size();

  /// Defines `name` in the module.
  template <class... Extra>
  static void define(nb::module_& m, std::string_view name, const Names& names,
                     const Extra&... payload_arg) {
    const std::string doc = doc_of(Op::kInfo);
    [&]<std::size_t... kX, std::size_t... kA>(std::index_sequence<kX...>,
                                              std::index_sequence<kA...>) {
      const auto def = [&](const auto&... batch_arg) {
        const char* const of_function = keep(name);
        m.def(of_function, &Call::call, expression_arg<Op, kX>(keep(names.all[kX]))...,
              payload_arg..., attribute_arg<Op, kA>(keep(names.all[kArgs + sizeof...(V) + kA]))...,
              batch_arg..., doc.c_str());
        Call::add_quick(m, of_function);
      };
      if constexpr (kHasBatch) {
        def(nb::arg("batch_size") = 1U);
      } else {
        def();
      }
    }(std::make_index_sequence<kArgs>{}, Attrs{});
  }
  /// Defines an operator: a method of Expression.
  static void define_operator(std::string_view dunder) {
    const std::string doc = doc_of(Op::kInfo);
    const nb::handle type(reinterpret_cast<PyObject*>(object_type<PyExpression>));
    nb::borrow<nb::class_<PyExpression>>(type).def(keep(dunder), &Call::call, nb::is_operator(),
                                                   doc.c_str());
    enter_operator(dunder, ext::kRecord<Op>);
  }
};

inline bool is_operator(std::string_view name) { return name.starts_with("__"); }

template <class Op, class... V, class... Extra>
void define_form(nb::module_& m, Types<V...> /*payload*/, std::string_view name, const Names& names,
                 const Extra&... payload_arg) {
  using F = Form<Op, Types<V...>>;
  if (!is_operator(name)) {
    F::define(m, name, names, payload_arg...);
  } else if constexpr (ext::kAttrCount<Op> == 0 && !ext::detail::is_variadic<Op>()) {
    F::define_operator(name);
  }
}

template <class Op>
void define_op(nb::module_& m) {
  constexpr const ext::Info& kInfo = Op::kInfo;
  const std::string_view name = kInfo.python.empty() ? kInfo.name : kInfo.python;
  Names names(kInfo, ext::detail::is_variadic<Op>());
  constexpr auto kPayload = ext::detail::payload_of<Op>();
  const std::size_t at = Form<Op, Types<>>::kArgs;  // of the payload's name
  using Index = std::conditional_t<is_of_places(kInfo.name), PlaceArg, IndexArg>;
  using IndexList = std::conditional_t<is_of_places(kInfo.name), PlaceListArg, IndexListArg>;
  if constexpr (ext::kArgCount<Op> > 0) {
    if constexpr (kPayload == ext::Payload::kNone) {
      if (name != "-") {
        define_form<Op>(m, Types<>{}, name, names);
      }
    } else if constexpr (kPayload == ext::Payload::kValues) {
      for (const std::string_view one : {name, kInfo.mirrored}) {
        if (one != "-" && !one.empty()) {
          define_form<Op>(m, Types<float>{}, one, names, nb::arg(keep(names.all[at])));
        }
      }
    } else {
      if (name == "-") {
        // There is only the form with a list.
      } else if (names.payload_default >= 0) {
        define_form<Op>(
            m, Types<Index>{}, name, names,
            nb::arg(keep(names.all[at])) = static_cast<unsigned>(names.payload_default));
      } else {
        define_form<Op>(m, Types<Index>{}, name, names, nb::arg(keep(names.all[at])));
      }
      if (!kInfo.python_batch.empty()) {
        define_form<Op>(m, Types<IndexList>{}, kInfo.python_batch, names,
                        nb::arg(keep(plural(names.all[at]))));
      }
    }
  }
}

/// Defines the functions of a list of operations.
template <class... Ops>
void define_ops(nb::module_& m, ext::OpList<Ops...> /*list*/) {
  (define_op<Ops>(m), ...);
}

// ---- the list of operations as data
// ---------------------------------------------------------------------------------------

template <class T>
nb::object attribute_object(const T& v) {
  return nb::cast(AttrParam<T>::write(v));
}
template <>
inline nb::object attribute_object(const Dim& d) {
  return shape_tuple(d);
}

template <class Op>
nb::dict op_dict() {
  Description description(ext::kRecord<Op>);
  for (const ext::Example<Op>& example : Op::examples()) {
    Op op = example.op;
    nb::list attributes;
    std::apply([&](const auto&... a) { (attributes.append(attribute_object(a)), ...); },
               ext::attributes(op));
    description.add_example(example, attributes);
  }
  return description.dict();
}
/// Appends the descriptions of a list of operations.
template <class... Ops>
void describe_ops(nb::list& all, ext::OpList<Ops...> /*list*/) {
  (all.append(op_dict<Ops>()), ...);
}

}  // namespace dynet::python
