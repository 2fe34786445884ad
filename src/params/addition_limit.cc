#include "params/addition_limit.h"

#include "dynet/errors.h"

namespace dynet::params {

namespace {
thread_local AdditionLimit* limit_of_thread = nullptr;
}  // namespace

AdditionLimit::AdditionLimit(std::uint64_t numbers) : left_(numbers), before_(limit_of_thread) {
  limit_of_thread = this;
}
AdditionLimit::~AdditionLimit() { limit_of_thread = before_; }

void AdditionLimit::take(std::uint64_t numbers, const std::string& what) {
  if (limit_of_thread == nullptr) {
    return;
  }
  std::uint64_t& left = limit_of_thread->left_;
  if (numbers > left) {
    throw errors::SizeError(what + ": " + std::to_string(numbers) + " numbers; want " +
                            std::to_string(left) + " at most");
  }
  left -= numbers;
}

}  // namespace dynet::params
