#include "dynet/ext/new_file.h"

#include "io/replace_file.h"

namespace dynet::ext {

NewFile::NewFile(const std::string& target)
    : file_(std::make_unique<io::ReplaceFile>(target, false)) {}
NewFile::~NewFile() = default;

void NewFile::write(const std::string& content) {
  file_->write(content.data(), content.size());
  file_->sync();
}
void NewFile::commit() { file_->commit(); }

}  // namespace dynet::ext
