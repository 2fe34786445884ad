// Names that programs expect when they include dynet/io.h and nothing else.

#include "dynet/io.h"

std::size_t count_on_io(const std::string& line);
std::size_t count_on_io(const std::string& line) {
  std::istringstream words(line);
  const std::vector<std::string> all{std::istream_iterator<std::string>(words),
                                     std::istream_iterator<std::string>()};
  const std::ofstream out("/dev/null");
  DYNET_ARG_CHECK(out.good(), "no file")
  const dynet::ParameterCollection model;
  return all.size() + dynet::Dim({1}).nd + dynet::Tensor().d.nd +
         dynet::str_split(line, ' ').size();
}
