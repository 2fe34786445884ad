// dynet-clusters: a corpus in, a file of classes for a softmax builder out.

#include "dynet/text/clusters.h"

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

struct Options {
  std::vector<std::string> corpora;
  std::string out;
  std::string method = "brown";
  unsigned classes = 0;
  bool is_tree = false;
  std::uint64_t least = 1;
  std::string unknown = "<unk>";
  bool is_verbose = false;
  bool is_quiet = false;
};

void declare(CLI::App& app, Options& o) {
  app.add_option("corpus", o.corpora,
                 "plain text, one sentence per line, words separated by spaces")
      ->required();
  app.add_option("--classes", o.classes, "how many classes")->required();
  app.add_option("--out", o.out, "the file to write")->required();
  app.add_option("--method", o.method,
                 "brown: words with like neighbours share a class (Brown et al., 1992)\n"
                 "frequency: words of like frequency do; much quicker")
      ->check(CLI::IsMember({"brown", "frequency"}))
      ->capture_default_str();
  app.add_flag("--tree", o.is_tree,
               "write the way to each class in a binary tree, for HierarchicalSoftmaxBuilder,\n"
               "instead of its number, for ClassFactoredSoftmaxBuilder");
  app.add_option("--min-count", o.least, "count words that are rarer than this as --unknown")
      ->capture_default_str();
  app.add_option("--unknown", o.unknown, "the unknown word")->capture_default_str();
  auto* const verbose =
      app.add_flag("--verbose", o.is_verbose, "show progress where stderr is no terminal, too");
  app.add_flag("--quiet", o.is_quiet, "show no progress")->excludes(verbose);
}

/// Shows whole percents, in one line.
class Progress {
 public:
  explicit Progress(bool shows) : shows_(shows) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_ >= 0) {
      std::cerr << '\n';
    }
  }
  void show(std::size_t done, std::size_t all) {
    const int percent = static_cast<int>(100 * done / all);
    if (shows_ && percent != shown_) {
      std::cerr << '\r' << done << " of " << all << " merges, " << percent << " %" << std::flush;
      shown_ = percent;
    }
  }

 private:
  bool shows_;
  int shown_ = -1;
};

void run(const Options& o) {
  namespace text = dynet::text;
  const bool shows = !o.is_quiet && (o.is_verbose || ::isatty(STDERR_FILENO) != 0);
  text::BigramCounts counts;
  for (const std::string& corpus : o.corpora) {
    for (const text::Words& sentence : text::PlainReader(corpus)) {
      counts.add(sentence);
    }
  }
  counts.replace_rare(o.least, o.unknown);
  if (shows) {
    std::cerr << counts.words().size() << " words, " << counts.pairs().size()
              << " different pairs of neighbours\n";
  }
  text::Clusters clusters;
  if (o.method == "frequency") {
    clusters = text::frequency_clusters(counts, o.classes);
  } else {
    Progress progress(shows);
    clusters = text::brown_clusters(
        counts, o.classes,
        [&progress](std::size_t done, std::size_t all) { progress.show(done, all); });
  }
  (o.is_tree ? text::save_paths : text::save_classes)(o.out, clusters);
  if (shows) {
    std::cerr << "mutual information of neighbouring classes: " << clusters.mutual_information
              << " nats\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app("Puts the words of a corpus into classes, for softmaxes over many words.");
    Options options;
    declare(app, options);
    CLI11_PARSE(app, argc, argv);
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "dynet-clusters: " << error.what() << '\n';
    return 1;
  }
}
