#include <sstream>

#include "testing/program.h"

namespace dynet::testing {

namespace {

const char* leaf_name(LeafKind kind) {
  switch (kind) {
    case LeafKind::kNone:
      return "";
    case LeafKind::kInput:
      return "input";
    case LeafKind::kInputPointer:
      return "input(pointer)";
    case LeafKind::kScalar:
      return "scalar";
    case LeafKind::kScalarPointer:
      return "scalar(pointer)";
    case LeafKind::kParameter:
      return "parameter";
    case LeafKind::kConstParameter:
      return "const_parameter";
    case LeafKind::kLookup:
      return "lookup";
    case LeafKind::kLookupPointer:
      return "lookup(pointer)";
    case LeafKind::kConstLookup:
      return "const_lookup";
    case LeafKind::kTable:
      return "parameter(table)";
  }
  return "?";
}

std::string name_of(const Ref& r) {
  if (r.step == kNoRef.step) {
    return "absent";
  }
  return "s" + std::to_string(r.step) + (r.output == 0 ? "" : "." + std::to_string(r.output));
}

void write_operation(std::ostream& os, const Step& s) {
  os << s.sample->record->info->name << '[' << s.sample->record->attrs_text(s.op.get()) << "](";
  for (const Ref& r : s.args) {
    os << (&r == s.args.data() ? "" : ", ") << name_of(r);
  }
  os << ')';
}

template <class T>
void write_list(std::ostream& os, const char* what, const std::vector<T>& list) {
  if (list.empty()) {
    return;
  }
  os << ' ' << what;
  for (const T& v : list) {
    os << ' ' << v;
  }
}

void write_event(std::ostream& os, const Event& e) {
  switch (e.kind) {
    case Event::kValue:
      os << "  value of " << name_of(e.ref) << '\n';
      break;
    case Event::kCheckpoint:
      os << "  checkpoint\n";
      break;
    case Event::kRevert:
      os << "  revert\n";
      break;
  }
}

}  // namespace

std::string Program::text() const {
  std::ostringstream os;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    os << "  s" << i << " = ";
    if (s.sample == nullptr) {
      os << leaf_name(s.leaf) << " of source " << s.source << ' '
         << to_string(sources[static_cast<std::size_t>(s.source)].dim);
    } else {
      write_operation(os, s);
    }
    write_list(os, "indices", s.indices);
    write_list(os, "values", s.values);
    os << (s.by_pointer ? " by pointer\n" : "\n");
    for (const Event& e : events) {
      if (e.after == static_cast<int>(i)) {
        write_event(os, e);
      }
    }
  }
  os << "  loss of";
  for (const Term& t : terms) {
    os << ' ' << name_of(t.ref);
  }
  os << '\n';
  return os.str();
}

}  // namespace dynet::testing
