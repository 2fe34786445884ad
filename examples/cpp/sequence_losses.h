#pragma once

// The losses of the tagger and of the language model once more, written with functions of whole
// sequences: what --sequence trains with.

#include "rnnlm_model.h"
#include "tagger_model.h"

namespace examples {

Expression sequence_loss(Tagger& model, ComputationGraph& cg, const Sentence& sentence);
Expression sequence_loss(Rnnlm& model, ComputationGraph& cg, const Batch& sentences);

}  // namespace examples
