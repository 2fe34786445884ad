// Graphs that differ from all graphs before them, and sentences that differ from their neighbours.
// Whatever the library has kept of earlier graphs, the numbers of a graph are the numbers of its
// plain nodes one by one, and are the same bits after any other graphs. Example: a hundred graphs
// with sentences of equal lengths, and then one with others.
//
// Each program has three forms: nodes, a cell whose arguments are the weights, and matrices with a
// column for each word.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dynet/cell.h"
#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/add_node.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "support/differences.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"
#include "user_ops/gradients.h"

namespace dynet::testing {
namespace {

using Nodes = std::vector<Expression>;
using Numbers = std::vector<std::vector<double>>;

constexpr unsigned kSize = 3;
constexpr unsigned kWords = 7;

enum class Kind { kNodes, kCell, kLengths };

/// A graph in the making.
struct Turn {
  ComputationGraph& cg;
  bool is_plain;    ///< one by one, without cells and lengths
  unsigned number;  ///< of the graph
  Numbers numbers{};
  void ask(const Expression& x) { numbers.push_back(testing::numbers(x.value())); }
};

class Surprises : public ::testing::TestWithParam<Kind> {
 private:
  DefaultDevice in_double_{double_device()};  // of all that follows

 protected:
  /// Adds the nodes of graph `turn.number`, and gives its loss.
  using Build = std::function<Expression(Turn& turn)>;

  Surprises() { draw_values(model_, 0.75); }

  /// `after` is called when backward has turn.
  Numbers numbers_of(const Build& build, unsigned number, bool is_plain,
                     const std::function<void(Turn&)>& after = {}) {
    reset_rng(number);
    model_.reset_gradient();
    ComputationGraph cg(!is_plain);
    cg.set_random_stream(3);
    Turn turn{cg, is_plain, number};
    const Expression loss = build(turn);
    turn.ask(loss);
    cg.backward(loss);
    if (after) {
      after(turn);
    }
    for (const auto& p : model_.parameters_list()) {
      turn.numbers.push_back(p->has_grad() ? testing::numbers(p->g) : std::vector<double>());
    }
    turn.numbers.push_back(testing::numbers(words_.get_storage().all_grads));
    return turn.numbers;
  }

  /// Graphs one after the other against their plain nodes, and once more in the other order.
  void expect_alike(unsigned graphs, const Build& build,
                    const std::function<void(Turn&)>& after = {}) {
    std::vector<Numbers> first;
    for (unsigned i = 0; i < graphs; ++i) {
      SCOPED_TRACE("graph " + std::to_string(i));
      first.push_back(numbers_of(build, i, false, after));
      const Numbers wanted = numbers_of(build, i, true, after);
      ASSERT_EQ(first[i].size(), wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        ASSERT_EQ(compare(first[i][k], wanted[k], tolerance::kMergedInDouble), "") << "list " << k;
      }
    }
    for (unsigned i = graphs; i-- != 0;) {
      ASSERT_EQ(numbers_of(build, i, false, after), first[i]) << "graph " << i << " once more";
    }
  }

  [[nodiscard]] Expression w(Turn& turn) const { return parameter(turn.cg, w_); }
  [[nodiscard]] Expression u(Turn& turn) const { return parameter(turn.cg, u_); }

  /// Words of a sentence that begins with a word of this number.
  [[nodiscard]] Nodes sentence(Turn& turn, unsigned length, unsigned first,
                               unsigned batch = 1) const {
    Nodes all;
    for (unsigned i = 0; i < length; ++i) {
      std::vector<unsigned> rows(batch);
      for (unsigned e = 0; e < batch; ++e) {
        rows[e] = (first + i * (first + 2) + e) % kWords;
      }
      all.push_back(lookup(turn.cg, words_, rows));
    }
    return all;
  }

  /// A vector for each word, computed with two weights. The first word is the state that a
  /// recurrence begins with.
  Nodes read(Turn& turn, const Nodes& words, const Expression& first, const Expression& second) {
    return GetParam() == Kind::kLengths ? read_at_once(turn, words, first, second)
                                        : read_in_turn(turn, words, first, second);
  }
  /// The loss of a sentence that was read.
  static Expression loss_of(const Nodes& states) {
    Nodes all;
    for (std::size_t i = 0; i < states.size(); ++i) {
      all.push_back(sum_batches(squared_norm(states[i])) * (i == 0 ? 0.5F : 1.0F));
    }
    return sum(all);
  }
  Expression loss_of(Turn& turn, unsigned length, unsigned first, unsigned batch = 1) {
    return loss_of(read(turn, sentence(turn, length, first, batch), w(turn), u(turn)));
  }

  /// An exception while a sentence is read.
  void fail(Turn& turn) {
    const Nodes words = sentence(turn, 3, turn.number);
    if (GetParam() == Kind::kCell) {
      Cell cell("fails", [&](ComputationGraph& cg, const Nodes& in) {
        const Nodes y = step(cg, in);
        if (turn.number % 2 == 0) {
          throw std::runtime_error("in mid-cell");
        }
        return Nodes{y[0] * y[0]};
      });
      EXPECT_ANY_THROW(cell({w(turn), u(turn), words[0], words[1]}));
      return;
    }
    Nodes longer = words;
    longer.push_back(concatenate(words));
    EXPECT_THROW(read(turn, longer, w(turn), u(turn)), errors::ShapeError);
  }

  /// h' = tanh(b + W x + U h), of W, U, x and h.
  Nodes step(ComputationGraph& cg, const Nodes& in) const {
    return {tanh(affine_transform({parameter(cg, b_), in[0], in[2], in[1], in[3]}))};
  }

  ParameterCollection model_;

 private:
  Nodes read_in_turn(Turn& turn, const Nodes& words, const Expression& first,
                     const Expression& second) {
    Nodes states;
    Expression h = words[0];
    for (const Expression& x : words) {
      const Nodes in{first, second, x, h};
      const bool is_cell = GetParam() == Kind::kCell && !turn.is_plain;
      h = (is_cell ? cell_(in) : step(turn.cg, in))[0];
      states.push_back(h);
    }
    return states;
  }
  Nodes read_at_once(Turn& turn, const Nodes& words, const Expression& first,
                     const Expression& second) const {
    const auto n = static_cast<unsigned>(words.size());
    const Expression list = turn.is_plain ? concatenate(words) : concatenate_cols(words);
    const Expression x = turn.is_plain ? reshape(list, Dim({kSize, n}, list.dim().bd)) : list;
    const Expression y = tanh(affine_transform({parameter(turn.cg, b_), first, x}));
    const Expression z = y * softmax(transpose(second * y) * x) + cmult(x, softmax(second * x));
    Nodes states;
    for (unsigned i = 0; i < n; ++i) {
      states.push_back(pick(z, i, 1));
    }
    return states;
  }

  Parameter w_ = model_.add_parameters({kSize, kSize});
  Parameter u_ = model_.add_parameters({kSize, kSize});
  Parameter b_ = model_.add_parameters({kSize});
  LookupParameter words_ = model_.add_lookup_parameters(kWords, {kSize});
  Cell cell_{"step", [this](ComputationGraph& cg, const Nodes& in) { return step(cg, in); }};
};

TEST_P(Surprises, TwoWeightsAreSwapped) {
  expect_alike(12, [&](Turn& turn) {
    const bool is_swapped = turn.number % 3 == 1;
    const Expression a = is_swapped ? u(turn) : w(turn);
    const Expression b = is_swapped ? w(turn) : u(turn);
    return loss_of(read(turn, sentence(turn, 3, 1), a, b)) +
           loss_of(read(turn, sentence(turn, 4, 2), b, a)) +
           loss_of(read(turn, sentence(turn, 2, 3), a, b));
  });
}

TEST_P(Surprises, TwoLayersHaveOneWeight) {
  expect_alike(8, [&](Turn& turn) {
    const auto two_layers = [&](unsigned length, unsigned first, const Expression& of_second) {
      const Nodes below = read(turn, sentence(turn, length, first), w(turn), u(turn));
      return loss_of(read(turn, below, of_second, u(turn)));
    };
    return two_layers(3, 1, w(turn)) + two_layers(2, 4, turn.number % 4 == 3 ? u(turn) : w(turn)) +
           two_layers(5, 2, w(turn));
  });
}

TEST_P(Surprises, XAndHAreOneNode) {
  expect_alike(8, [&](Turn& turn) {
    const Nodes one(3, sentence(turn, 1, turn.number)[0]);
    const Expression weight = w(turn);
    return loss_of(read(turn, one, weight, weight)) + loss_of(turn, 3, turn.number) +
           loss_of(read(turn, one, weight, u(turn)));
  });
}

TEST_P(Surprises, DropoutInEveryOtherGraph) {
  expect_alike(12, [&](Turn& turn) {
    Nodes losses;
    for (unsigned s = 0; s < 3; ++s) {
      Nodes words = sentence(turn, 2 + s, s);
      if (turn.number % 2 == 1) {
        for (Expression& x : words) {
          x = dropout(x, 0.5F);
        }
      }
      losses.push_back(loss_of(read(turn, words, w(turn), u(turn))));
    }
    return sum(losses);
  });
}

TEST_P(Surprises, LengthsAreEqualForAHundredGraphsAndThenNot) {
  expect_alike(106, [&](Turn& turn) {
    const bool is_usual = turn.number < 100 || turn.number == 103;
    Nodes losses;
    for (unsigned s = 0; s < 4; ++s) {
      losses.push_back(loss_of(turn, is_usual ? 4 : 1 + (turn.number * (s + 1)) % 9, s));
    }
    return sum(losses);
  });
}

TEST_P(Surprises, AnInnerValueIsAskedForInGraph50Alone) {
  expect_alike(53, [&](Turn& turn) {
    const Nodes a = read(turn, sentence(turn, 4, 1), w(turn), u(turn));
    const Nodes b = read(turn, sentence(turn, 3, 2), w(turn), u(turn));
    if (turn.number == 50) {
      turn.ask(a[1]);
      turn.ask(b[2]);
    }
    return loss_of(a) + loss_of(b) + loss_of(read(turn, a, u(turn), w(turn)));
  });
}

TEST_P(Surprises, AnInnerGradientIsAskedForInGraph50Alone) {
  Nodes inner;
  const auto build = [&](Turn& turn) {
    const Nodes a = read(turn, sentence(turn, 4, 1), w(turn), u(turn));
    const Nodes b = read(turn, sentence(turn, 3, 2), w(turn), u(turn));
    inner = {a[1], b[2], a[3]};
    return loss_of(read(turn, a, u(turn), w(turn))) + loss_of(b);
  };
  expect_alike(53, build, [&](Turn& turn) {
    if (turn.number == 50) {
      for (const Expression& x : inner) {
        turn.numbers.push_back(testing::numbers(x.gradient()));
      }
    }
  });
}

TEST_P(Surprises, AGradientIsPartOfTheLossInGraph5Alone) {
  expect_alike(8, [&](Turn& turn) {
    const Nodes words = sentence(turn, 3, 1);
    const Expression loss = loss_of(read(turn, words, w(turn), u(turn))) + loss_of(turn, 4, 2);
    return turn.number == 5 ? loss + loss_of(gradient(loss, {words[0], words[2], w(turn)})) : loss;
  });
}

TEST_P(Surprises, AnotherBatchSizeInMidGraph) {
  expect_alike(10, [&](Turn& turn) {
    Nodes losses;
    for (unsigned s = 0; s < 4; ++s) {
      losses.push_back(loss_of(turn, 3, s, turn.number < 4 ? 2 : 1 + (s + turn.number) % 3));
      if (s == 1 && turn.number % 2 == 1) {
        turn.ask(losses.back());
      }
    }
    // Words with and without a batch in one sentence.
    Nodes words = sentence(turn, 2, 1, 1);
    const Nodes more = sentence(turn, 2, 2, 1 + turn.number % 3);
    words.insert(words.end(), more.begin(), more.end());
    losses.push_back(loss_of(read(turn, words, w(turn), u(turn))));
    return sum(losses);
  });
}

TEST_P(Surprises, TwoProgramsInTurn) {
  expect_alike(12, [&](Turn& turn) {
    if (turn.number % 2 == 0) {
      return loss_of(turn, 4, 1) + loss_of(turn, 3, 5);
    }
    const Nodes words = sentence(turn, 3, 1);
    Nodes changed;
    for (const Expression& x : words) {
      changed.push_back(softmax(u(turn) * x) - x);
    }
    return loss_of(read(turn, changed, u(turn), w(turn))) + loss_of(words) + loss_of(turn, 4, 1);
  });
}

/// Both graphs are alive, and their nodes and questions alternate.
TEST_P(Surprises, TwoGraphsInTurn) {
  expect_alike(6, [&](Turn& turn) {
    ComputationGraph other(!turn.is_plain);
    Turn beside{other, turn.is_plain, turn.number};
    const Expression first = loss_of(turn, 3, turn.number);
    const Expression there = loss_of(beside, 2 + turn.number, 2);
    turn.ask(first);
    const Expression second = loss_of(turn, 4, 1);
    turn.ask(there);
    other.backward(there);
    return first + second;
  });
}

/// It has no columns and no formula.
TEST_P(Surprises, AnOperationOfTheProgram) {
  expect_alike(6, [&](Turn& turn) {
    Cell cell(
        "own",
        [](ComputationGraph& /*cg*/, const Nodes& in) {
          return Nodes{tanh(ext::add_node(user::Halved{}, in[0] + in[1]))};
        },
        {}, !turn.is_plain);
    Nodes states = read(turn, sentence(turn, 3, turn.number), w(turn), u(turn));
    for (std::size_t i = 1; i < states.size(); ++i) {
      states[i] = cell({states[i - 1], states[i]})[0];
    }
    return loss_of(read(turn, states, w(turn), u(turn))) + loss_of(turn, 2, 1);
  });
}

TEST_P(Surprises, AnExceptionInTheMiddle) {
  expect_alike(9, [&](Turn& turn) {
    const Expression first = loss_of(turn, 3, 1);
    if (turn.number % 3 != 0) {
      fail(turn);
    }
    if (turn.number % 2 == 1) {
      turn.ask(first);
    }
    return first + loss_of(turn, 4, 2);
  });
}

/// A sentence is taken back in the middle, beside an older graph that holds nodes of the kind.
TEST_P(Surprises, ASentenceIsCutShortWhileAnOlderGraphLives) {
  expect_alike(8, [&](Turn& turn) {
    ComputationGraph older(!turn.is_plain);
    Turn before{older, turn.is_plain, turn.number};
    const Expression there = loss_of(before, 3, 1);
    before.ask(there);
    const Nodes words = sentence(turn, 4, 2);
    const Expression kept = loss_of(read(turn, {words[0], words[1]}, w(turn), u(turn)));
    turn.cg.checkpoint();
    const Expression tried = loss_of(read(turn, words, w(turn), u(turn)));
    if (turn.number % 2 == 0) {
      turn.ask(tried);
    }
    turn.cg.revert();
    if (turn.number % 3 == 0) {
      turn.cg.invalidate();
    }
    older.backward(there);
    return kept + loss_of(read(turn, {words[0], words[3], words[2]}, w(turn), u(turn)));
  });
}

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::kNodes:
      return "Nodes";
    case Kind::kCell:
      return "Cells";
    case Kind::kLengths:
      break;
  }
  return "Lengths";
}

INSTANTIATE_TEST_SUITE_P(Forms, Surprises,
                         ::testing::Values(Kind::kNodes, Kind::kCell, Kind::kLengths), name_of);

}  // namespace
}  // namespace dynet::testing
