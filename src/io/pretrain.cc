#include "dynet/pretrain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include "io/replace_file.h"
#include "params/stored.h"
#include "util/foreign_file.h"
#include "util/utf8_mark.h"

namespace dynet {

namespace {

constexpr const char* kSpace = " \t\r";

/// The whole of `text` as a number; false if it is none.
template <class T>
bool to_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const auto [rest, error] = std::from_chars(begin, end, value);
  return error == std::errc() && rest == end;
}
bool to_float(std::string_view text, float& value) {
  if (to_number(text, value)) {
    return std::isfinite(value);
  }
  double number = 0.0;  // no number, or one that is too large or too small
  if (!to_number(text, number) || !(std::fabs(number) < 1.0)) {
    return false;
  }
  value = static_cast<float>(number);
  return true;
}

struct Embedding {
  std::string word;
  std::vector<float> numbers;
  std::size_t line = 0;
};

/// "file:line:column: ", the column in bytes from 1.
std::string place(const std::string& file, std::size_t line, std::size_t column) {
  return file + ':' + std::to_string(line) + ':' + std::to_string(column) + ": ";
}

/// A file of embeddings, line by line.
class EmbeddingReader {
 public:
  explicit EmbeddingReader(const std::string& name) : name_(name), file_(name) {
    if (!file_) {
      throw errors::ValueError("read_pretrained_embeddings: cannot open '" + name + "'");
    }
    const std::string what = util::foreign_file(file_);
    if (!what.empty()) {
      fail("no word vectors as text: " + what);
    }
  }

  std::vector<Embedding> read() {
    if (!next()) {
      fail("there are no embeddings");
    }
    std::uint64_t words = 0;
    std::uint64_t dimension = 0;
    const bool has_two_counts =
        fields_.size() == 2 && to_number(fields_[0], words) && to_number(fields_[1], dimension);
    dimension_ = fields_.size() - 1;
    if (dimension_ == 0) {
      fail("'" + std::string(fields_[0]) + "' has no numbers");
    }
    Embedding first = parse();
    if (has_two_counts && dimension > 1) {
      dimension_ = dimension;
    }
    std::vector<Embedding> all;
    while (next()) {
      all.push_back(parse());
    }
    // Two counts, or a word that is a number and has one number. With a dimension of 1 both look
    // alike: then the line is a first line if its count of lines is right.
    const bool is_header = has_two_counts && (dimension > 1 || all.size() == words);
    if (is_header && all.size() != words) {
      fail("the first line says " + std::to_string(words) + " words; there are " +
           std::to_string(all.size()));
    }
    if (!is_header) {
      all.insert(all.begin(), std::move(first));
    }
    return all;
  }

  /// At a field of the line, or at its begin.
  [[noreturn]] void fail(const std::string& what, std::size_t field = 0) const {
    const std::size_t column =
        field < fields_.size() ? static_cast<std::size_t>(fields_[field].data() - text_.data()) : 0;
    throw errors::IoError(place(name_, std::max<std::size_t>(line_, 1), column + 1) + what);
  }

 private:
  /// The fields of the next line that has any.
  bool next() {
    fields_.clear();
    while (fields_.empty() && std::getline(file_, text_)) {
      if (++line_ == 1) {
        text_.erase(0, util::mark_size(text_));
      }
      const std::string_view text = text_;
      std::size_t begin = text.find_first_not_of(kSpace);
      while (begin != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
        fields_.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(kSpace, end);
      }
    }
    if (file_.bad()) {
      fail("the file cannot be read");
    }
    return !fields_.empty();
  }
  /// The last fields are numbers, the others the word.
  Embedding parse() const {
    if (fields_.size() <= dimension_) {
      fail("'" + std::string(fields_[0]) + "' has " + std::to_string(fields_.size() - 1) +
               " numbers; want " + std::to_string(dimension_),
           fields_.size() - 1);
    }
    Embedding result{std::string(fields_[0]), std::vector<float>(dimension_), line_};
    const std::size_t words = fields_.size() - dimension_;
    float number = 0.0F;
    if (words > 1 && to_float(fields_[words - 1], number)) {
      fail("'" + result.word + "' has more numbers than the " + std::to_string(dimension_) +
               " wanted",
           words - 1);
    }
    for (std::size_t i = 1; i < words; ++i) {
      result.word += ' ';
      result.word += fields_[i];
    }
    for (std::size_t i = 0; i < dimension_; ++i) {
      if (!to_float(fields_[words + i], result.numbers[i])) {
        fail("'" + std::string(fields_[words + i]) + "' is no number that a float can hold",
             words + i);
      }
    }
    return result;
  }

  std::string name_;
  std::ifstream file_;
  std::string text_;
  std::size_t line_ = 0;
  std::size_t dimension_ = 0;
  std::vector<std::string_view> fields_;  ///< of text_
};

/// Errors that are IoError in other savers are ValueError here, as in 2.1.
io::ReplaceFile opened(const std::string& name) {
  try {
    return {name, false};
  } catch (const errors::IoError& e) {
    throw errors::ValueError(std::string("save_pretrained_embeddings: ") + e.what());
  }
}

void check_word(const std::string& word) {
  if (word.empty() || word.find_first_of(" \t\r\n") != std::string::npos) {
    throw errors::ValueError("save_pretrained_embeddings: the word '" + word +
                             "'; want one that is not empty and has no white space");
  }
}

}  // namespace

void save_pretrained_embeddings(const std::string& fname, const Dict& d,
                                const LookupParameter& lp) {
  const std::vector<Tensor>& rows = *lp.values();
  if (rows.size() < d.size()) {
    throw errors::SizeError("save_pretrained_embeddings: " + std::to_string(d.size()) +
                            " words and a table of " + std::to_string(rows.size()) + " rows");
  }
  std::for_each(d.get_words().begin(), d.get_words().end(), check_word);
  if (d.size() > 0 && util::mark_size(d.get_words()[0]) != 0) {
    throw errors::ValueError("save_pretrained_embeddings: the first word, '" + d.get_words()[0] +
                             "', begins with the mark of UTF-8 files, which a reader would skip");
  }
  const params::SaveScope scope(*lp.p);
  const float decay = lp.current_weight_decay();
  io::ReplaceFile file = opened(fname);
  std::string line;
  std::array<char, 32> digits{};
  for (std::size_t i = 0; i < d.size(); ++i) {
    line = d.get_words()[i];
    for (const float x : as_scale_vector(rows[i], decay)) {
      line += ' ';
      line.append(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr);
    }
    line += '\n';
    file.write(line.data(), line.size());
  }
  file.commit();
}

void read_pretrained_embeddings(const std::string& fname, Dict& d,
                                std::unordered_map<int, std::vector<float>>& vectors) {
  std::vector<Embedding> all = EmbeddingReader(fname).read();
  const bool takes_all = !d.is_frozen() || d.get_unk_id() >= 0;
  for (const Embedding& e : all) {
    if (!takes_all && !d.contains(e.word)) {
      throw errors::UsageError(place(fname, e.line, 1) + "the word '" + e.word +
                               "' is not in the dictionary, which is frozen without set_unk");
    }
  }
  for (Embedding& e : all) {
    const int id = d.convert(e.word);
    if (!d.is_frozen() || id != d.get_unk_id()) {
      vectors[id] = std::move(e.numbers);
    }
  }
}

}  // namespace dynet
