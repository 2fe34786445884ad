#pragma once

// The cases in which one example of an operation is tried: unbatched, batched, one argument batched
// and the others not, parameters as operands, one node for several arguments, and several copies in
// one graph that can merge, with distinct or shared operands.

#include <set>
#include <string>
#include <vector>

#include "testing/program.h"

namespace dynet::testing {

struct Case {
  std::string name;
  Program program;
  int copies = 1;
};

/// Every case of one example that the operation accepts. `refused` gets the names of cases whose
/// shapes the library refused with ShapeError, IndexError or ValueError.
std::vector<Case> cases_of(const Sample& sample, std::vector<std::string>* refused = nullptr);

/// Three unbatched copies that have the arguments of `shared` in common, as parameters; the others
/// are inputs of each copy's own.
Case copies_sharing(const Sample& sample, const std::set<std::size_t>& shared);

/// An upper bound for the indices of a node of `op` with these arguments; `fallback` if there is
/// none.
unsigned index_limit(const Sample& sample, const OpBytes& op, const std::vector<Dim>& args,
                     unsigned batch, unsigned fallback);

/// Adds to `program` a term for each output of each operation.
void add_terms(Program& program, Draw& draw);

}  // namespace dynet::testing
