// want: collections are not written to Boost's archives
// want: TextFileLoader(name).populate(model)
#include "dynet/model.h"

/// Calls the member that Boost's archives call.
struct Archive {
  template <class T>
  Archive& operator>>(T& object) {
    object.serialize(*this, 0U);
    return *this;
  }
};

void read(Archive& archive, dynet::Model& model) { archive >> model; }
