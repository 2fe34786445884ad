#include "dynet/except.h"

namespace dynet {

Error::~Error() = default;

}  // namespace dynet
