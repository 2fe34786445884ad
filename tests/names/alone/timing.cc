// Names that programs of 2.1 get from timing.h alone.
#include "dynet/timing.h"

#include <sstream>
#include <string>
#include <vector>

std::string sorted_with_timing_h(std::vector<int> numbers);
std::string sorted_with_timing_h(std::vector<int> numbers) {
  std::ostringstream text;
  std::sort(numbers.begin(), numbers.end());
  text << std::setprecision(3) << 2.0 / 3 << ':';
  std::copy(numbers.begin(), numbers.end(), std::ostream_iterator<int>(text, " "));
  const dynet::Timer timer("done");
  return text.str();
}
