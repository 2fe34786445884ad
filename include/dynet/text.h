#pragma once

// Corpora: dictionaries, readers of text in the usual formats, minibatches of examples of like
// lengths, classes of words. docs/text.md shows how they are used.

#include "dynet/dict.h"
#include "dynet/text/batches.h"
#include "dynet/text/clusters.h"
#include "dynet/text/columns.h"
#include "dynet/text/conllu.h"
#include "dynet/text/dict_file.h"
#include "dynet/text/lines.h"
#include "dynet/text/trees.h"
#include "dynet/text/words.h"
