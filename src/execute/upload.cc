#include "execute/upload.h"

#include <algorithm>

namespace dynet::execute {

void Upload::stage(ext::Memory& memory, ext::Block& block, std::size_t bytes) {
  auto load = std::find_if(loads_.begin(), loads_.end(),
                           [&](const Load& l) { return l.memory == &memory; });
  if (load == loads_.end()) {
    loads_.push_back({&memory, {}, {}});
    load = loads_.end() - 1;
  }
  const std::size_t at = (load->staged.size() + 7) / 8 * 8;
  const auto* first = static_cast<const std::byte*>(block.data);
  load->staged.resize(at);
  load->staged.insert(load->staged.end(), first, first + bytes);
  load->items.push_back({&block, at});
  bytes_ += std::max<std::size_t>(bytes, 1);
}

void Upload::copy(memory::Pools& pools) {
  for (const Load& load : loads_) {
    if (load.items.empty()) {
      continue;
    }
    auto* base = static_cast<std::byte*>(
        pools.of(*load.memory).allocate(static_cast<std::int64_t>(load.staged.size())));
    load.memory->copy_in(load.staged.data(), base, load.staged.size());
    for (const Item& item : load.items) {
      item.block->data = base + item.offset;
    }
  }
  clear();
}

void Upload::clear() {
  for (Load& load : loads_) {
    load.staged.clear();
    load.items.clear();
  }
  bytes_ = 0;
}

}  // namespace dynet::execute
