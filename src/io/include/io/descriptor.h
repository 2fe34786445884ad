#pragma once

#include <unistd.h>

namespace dynet::io {

/// A descriptor of an open file, which is closed when this ends; negative if there is none.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (is_open()) {
      ::close(file_);
    }
  }

  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  [[nodiscard]] int number() const { return file_; }

 private:
  int file_;
};

}  // namespace dynet::io
