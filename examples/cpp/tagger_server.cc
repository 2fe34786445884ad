// Tags sentences over HTTP with the model that ./tagger --out FOLDER has written. Requests that
// come at the same time are computed together (docs/serving.md). Ctrl-C ends it.
//
//   tagger_server --out FOLDER --port 8000
//   curl -d 'The dog barks .' http://localhost:8000/

#include <httplib.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/serve.h"

#include "model_file.h"
#include "options.h"
#include "sentences.h"
#include "tagger_model.h"

namespace example {
namespace {

struct ServerOptions : Options {
  std::string out;
  int port = 8000;
  std::size_t max_running = 64, max_queue = 1024, timeout_ms = 5000;
};

/// The tags of a sentence, by one question.
Task<Numbers> tags_of(ComputationGraph& cg, Tagger& tagger, Sentence sentence) {
  Expressions scores;
  for (const Expression& read : tagger.read(cg, sentence)) {
    scores.push_back(tagger.scores(read));
  }
  Numbers tags;
  for (const Tensor& of_word : co_await values(scores)) {
    const std::vector<float> numbers = as_vector(of_word);
    const auto best = std::max_element(numbers.begin(), numbers.end());
    tags.push_back(static_cast<unsigned>(best - numbers.begin()));
  }
  co_return tags;
}

class TaggerServer {
 public:
  TaggerServer(Settings settings, const Tagger& tagger, const ServeOptions& options)
      : settings_(std::move(settings)), server_(tagger, options) {}

  /// "The|DT dog|NN"
  std::string answer(const std::string& line) {
    const text::Words words = words_of(line);
    const Numbers tags =
        server_
            .submit([&](ComputationGraph& cg, Tagger& tagger) {  // the words outlive get()
              Sentence sentence;
              for (const std::string& word : words) {
                sentence.words.push_back(in_numbers(word, settings_));
              }
              return tags_of(cg, tagger, sentence);
            })
            .get();
    std::string text;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      text += words[i] + "|" + settings_.dicts.at("tags").convert(static_cast<int>(tags[i]));
      text += i + 1 == tags.size() ? "\n" : " ";
    }
    return text;
  }

  void respond(const httplib::Request& request, httplib::Response& response) {
    const auto give = [&](int status, const std::string& text) {
      response.status = status;
      response.set_content(text, "text/plain; charset=utf-8");
    };
    try {
      give(200, answer(request.body));
    } catch (const text::TextError& error) {
      give(400, std::string(error.what()) + "\n");
    } catch (const errors::OverloadError& error) {
      give(503, std::string(error.what()) + "\n");
    } catch (const errors::TimeoutError& error) {
      give(504, std::string(error.what()) + "\n");
    } catch (const std::exception& error) {
      give(500, std::string(error.what()) + "\n");
    }
  }

  [[nodiscard]] ServeCounts counts() const { return server_.counts(); }

 private:
  Settings settings_;
  RequestServer<Tagger> server_;
};

void serve(const ServerOptions& options) {
  const std::string file = options.out + "/model.safetensors";
  Settings settings = load_settings(file, "tagger");
  Tagger tagger(settings);
  populate(tagger, file);
  ServeOptions bounds;
  bounds.max_running = options.max_running;
  bounds.max_queue = options.max_queue;
  bounds.timeout = std::chrono::milliseconds(options.timeout_ms);
  TaggerServer server(settings, tagger, bounds);

  sigset_t ends;  // no other thread gets these signals
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  httplib::Server http;
  http.new_task_queue = [&] { return new httplib::ThreadPool(options.max_running); };
  http.set_payload_max_length(100'000);
  http.Post("/", [&](const httplib::Request& request, httplib::Response& response) {
    server.respond(request, response);
  });
  const int port = options.port == 0 ? http.bind_to_any_port("127.0.0.1") : options.port;
  if (port < 0 || (options.port != 0 && !http.bind_to_port("127.0.0.1", port))) {
    throw std::runtime_error("port " + std::to_string(options.port) + " is in use");
  }
  std::thread waits([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    http.stop();
  });
  std::printf("http://127.0.0.1:%d/\n", port);
  std::fflush(stdout);
  http.listen_after_bind();
  waits.join();
  const ServeCounts counts = server.counts();
  std::printf("%llu requests in %llu rounds\n", static_cast<unsigned long long>(counts.finished),
              static_cast<unsigned long long>(counts.rounds));
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::ServerOptions options;
  const auto declare = [&options](CLI::App& app) {
    app.add_option("--out", options.out, "the folder that ./tagger --out has written")->required();
    app.add_option("--port", options.port, "0: any that is free")->check(CLI::Range(0, 65535));
    app.add_option("--max-running", options.max_running, "requests that run together")
        ->check(CLI::Range(1, 10000));
    app.add_option("--max-queue", options.max_queue, "requests that wait")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--timeout-ms", options.timeout_ms, "for a request; 0: none");
  };
  return example::run(argc, argv, "Tags sentences over HTTP.", options, declare,
                      [&options] { example::serve(options); });
}
