#include "support/samples.h"

#include "dynet/ops/all.h"

namespace dynet::testing {

std::string Sample::text() const {
  std::string s(record->info->name);
  s += '(' + record->attrs_text(op.get()) + ')';
  for (const Dim& d : inputs) {
    s += ext::is_absent(d) ? " absent" : ' ' + to_string(d);
  }
  return s;
}

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> all = samples_of_list<ops::AllOps>();
  return all;
}

}  // namespace dynet::testing
