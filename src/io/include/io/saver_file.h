#pragma once

// What savers of all formats have in common: a file that is closed once, and not at all if a
// save failed or an exception is on its way out.
//
// A File has the members `failed` and `exceptions`, flush(), which gives what was written to the
// system, and commit(), which puts the new file in the place of the old one. Any may throw.

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "params/settings.h"

namespace dynet::io {

/// Runs `write`, and gives what it wrote to the system, so that a full disk is found here. What it
/// leaves half written is never put in the place of the old file. `saver` names it in errors.
template <class File, class Write>
void guarded(const char* saver, File* file, Write write) {
  if (file == nullptr) {
    throw UsageError(std::string(saver) + "::save: the saver is closed");
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
    throw UsageError(std::string(saver) + "::close: a save failed, so the old file stays");
  }
  file->commit();
}

/// What a saver's destructor does. An error goes to the log sink.
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
