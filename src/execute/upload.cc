#include "execute/upload.h"

namespace dynet::execute {

void Upload::stage(ext::Block& block, std::size_t bytes) {
  const std::size_t at = (staged_.size() + 7) / 8 * 8;
  const auto* first = static_cast<const std::byte*>(block.data);
  staged_.resize(at);
  staged_.insert(staged_.end(), first, first + bytes);
  items_.push_back({&block, at});
}

void Upload::send(memory::Pool& pool) {
  if (items_.empty()) {
    return;
  }
  auto* base = static_cast<std::byte*>(pool.allocate(static_cast<std::int64_t>(staged_.size())));
  context_.device().memory->copy_in(staged_.data(), base, staged_.size());
  for (const Item& item : items_) {
    item.block->data = base + item.offset;
  }
  clear();
}

void Upload::clear() {
  staged_.clear();
  items_.clear();
}

}  // namespace dynet::execute
