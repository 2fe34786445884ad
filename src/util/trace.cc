#include "util/trace.h"

#include <cstdio>
#include <iterator>

#include "dynet/except.h"

#include "util/env.h"

namespace dynet::util {
namespace {
constexpr const char* kWords[] = {"graph", "plan", "memory", "execute", "time", "repeats"};
constexpr std::uint8_t kAll = (1U << std::size(kWords)) - 1;

std::uint8_t bit_of(std::string_view word) {
  if (word == "all") {
    return kAll;
  }
  for (unsigned i = 0; i < std::size(kWords); ++i) {
    if (word == kWords[i]) {
      return static_cast<std::uint8_t>(1U << i);
    }
  }
  return 0;
}
}  // namespace

std::uint8_t parse_trace(std::string_view words, std::string_view source) {
  std::uint8_t bits = 0;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    const std::uint8_t bit = bit_of(word);
    if (bit == 0) {
      throw errors::ValueError(
          std::string(source) + ": '" + std::string(word) +
          "' is nothing to trace; want graph, plan, memory, execute, time, repeats or all, "
          "separated by commas");
    }
    bits |= bit;
    words = comma == std::string_view::npos ? std::string_view() : words.substr(comma + 1);
  }
  return bits;
}

std::uint8_t detail::read_trace_variable() {
  const std::uint8_t bits = parse_trace(trace_words(), "DYNET_TRACE");
  std::uint8_t unread = kUnread;  // another thread may have read it, or set something else
  return trace_bits.compare_exchange_strong(unread, bits) ? bits : unread;
}

std::uint8_t set_trace(std::uint8_t bits) {
  static_cast<void>(is_traced(TraceWord::kGraph));  // so that the variable has been read
  return detail::trace_bits.exchange(bits);
}

void write_trace(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace dynet::util
