#pragma once

// Base of savers of all formats: a file that is closed once, and not at all after a failed save or
// during an exception.
//
// A File has the members `failed` and `exceptions`, flush(), which hands written bytes to the
// system, and commit(), which replaces the old file. Both functions may throw.

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "params/settings.h"

namespace dynet::io {

/// Runs `write`, and hands its bytes to the system, so that a full disk is found here. A half
/// written file never replaces the old file. `saver` is the name in errors.
template <class File, class Write>
void guarded(const char* saver, File* file, Write write) {
  if (file == nullptr) {
    throw errors::UsageError(std::string(saver) + "::save: the saver is closed");
  }
  try {
    write();
    file->flush();
  } catch (...) {
    file->failed = true;
    throw;
  }
}

template <class File>
void close(const char* saver, std::unique_ptr<File>& open) {
  if (open == nullptr) {
    return;
  }
  const std::unique_ptr<File> file = std::move(open);
  if (file->failed) {
    throw errors::UsageError(std::string(saver) + "::close: a save failed, so the old file stays");
  }
  file->commit();
}

/// The work of a saver's destructor. An error goes to the log sink.
template <class File>
void close_at_end(const char* saver, std::unique_ptr<File>& open) noexcept {
  if (open == nullptr || open->failed || std::uncaught_exceptions() > open->exceptions) {
    return;
  }
  try {
    close(saver, open);
  } catch (const std::exception& e) {
    try {
      params::log(std::string(saver) + ": the file was not saved: " + e.what());
    } catch (...) {  // NOLINT(bugprone-empty-catch): a sink that throws has nobody to tell
    }
  }
}

}  // namespace dynet::io
