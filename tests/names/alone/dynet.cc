// Names that programs expect when they include dynet/dynet.h and nothing else.

#include "dynet/dynet.h"

std::size_t count_on_dynet(const std::string& file);
std::size_t count_on_dynet(const std::string& file) {
  assert(!file.empty());
  std::map<std::string, float> map{{"a", std::sqrt(2.0F)}};
  const std::set<int> set{1};
  const std::unordered_map<int, int> hashed{{1, 2}};
  const std::unordered_set<int> hashed_set{1};
  const std::initializer_list<int> list{3, 1, 2};
  std::vector<int> numbers(list);
  std::sort(numbers.begin(), numbers.end());
  const std::unique_ptr<int> owned(new int(static_cast<int>(std::strlen("abc"))));
  const std::pair<int, int> pair(*owned, static_cast<int>(getpid()));
  const std::ifstream in(file);
  std::ostringstream out;
  out << pair.first << in.good();
  std::cerr << out.str() << std::endl;
  dynet::ParameterCollection model;
  dynet::DynetParams params;
  dynet::initialize(params);
  return map.size() + set.size() + hashed.size() + hashed_set.size() + model.size() +
         dynet::Tensor().d.nd + static_cast<std::size_t>(dynet::DeviceType::CPU);
}
