#include "dynet/text/dict_file.h"

#include <limits>
#include <string_view>
#include <utility>

#include "dynet/except.h"
#include "dynet/text/lines.h"

#include "io/replace_file.h"
#include "text/text_support.h"
#include "util/utf8_mark.h"

namespace dynet::text {

namespace {
/// Why a word cannot be a line, or nullptr.
const char* what_is_wrong(std::string_view word) {
  if (word.empty()) {
    return "an empty word";
  }
  if (is_space(word.front()) || is_space(word.back())) {
    return "a word with white space around it";
  }
  return nullptr;
}
}  // namespace

void save_dict(const std::string& file, const Dict& dict) {
  for (const std::string& word : dict.get_words()) {
    const char* wrong = what_is_wrong(word);
    if (wrong == nullptr && word.find_first_of(std::string_view("\n\0", 2)) != std::string::npos) {
      wrong = "a word with a line end or a zero byte in it";
    }
    if (wrong == nullptr && find_no_utf8(word) != std::string_view::npos) {
      wrong = "a word that is not UTF-8";
    }
    if (wrong == nullptr && dict.get_words().front() == word && util::mark_size(word) != 0) {
      wrong = "a first word that begins with the mark of UTF-8 files";
    }
    if (wrong != nullptr) {
      throw errors::ValueError("save_dict: " + std::string(wrong) + ", '" + word + "', id " +
                               std::to_string(&word - dict.get_words().data()));
    }
  }
  io::ReplaceFile out(file, false);
  std::string piece;
  for (const std::string& word : dict.get_words()) {
    piece += word;
    piece += '\n';
    if (piece.size() >= (std::size_t{1} << 16U)) {
      out.write(piece.data(), piece.size());
      piece.clear();
    }
  }
  out.write(piece.data(), piece.size());
  out.commit();
}

Dict load_dict(const std::string& file) {
  Dict dict;
  Lines lines(file);
  std::string_view line;
  while (lines.next(line)) {
    const char* const wrong = what_is_wrong(line);
    if (wrong != nullptr) {
      lines.fail(1, std::string(wrong) + "; want a word per line");
    }
    const unsigned before = dict.size();
    const int id = dict.convert(std::string(line));
    if (dict.size() == before) {
      lines.fail(
          1, "'" + std::string(line) + "' stands in line " + std::to_string(id + 1) + " already");
    }
  }
  return dict;
}

}  // namespace dynet::text
