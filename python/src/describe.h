#pragma once

// An operation as data: its entry in `_operations()`.

#include <cstddef>

#include "dynet/ext/op.h"

#include "binding.h"
#include "op_names.h"

namespace dynet::python {

/// The description of an operation. No template: for all operations, a template takes a third of
/// the module's compile time.
class Description {
 public:
  explicit Description(const ext::Record& record);
  /// `attributes`: of the operation of this example, in the order of its members.
  void add_example(const ext::ExampleCall& call, const nb::list& attributes);
  [[nodiscard]] nb::dict dict() const;

 private:
  const ext::Record& record_;
  Names names_;
  std::size_t args_;  ///< names of arguments
  bool has_payload_;
  nb::list examples_;
};

}  // namespace dynet::python
