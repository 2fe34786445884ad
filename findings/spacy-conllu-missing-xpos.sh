#!/bin/sh
# spaCy 3.8.18: the reader of CoNLL-U (`spacy convert`, conllu_to_docs) puts the universal tag of a word in the place of
# a language-specific tag that is missing. If some words of a treebank have an XPOS and others have `_`, the tagger that
# `spacy train` makes of it learns one set of labels mixed of both columns, and its answers differ from the file in each
# word with `_`. Nothing is said.
#
# A good guess is that `_`, which means "not specified", gives a word without a tag.
#
# Seen with spacy 3.8.18. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet spacy==3.8.18
cat >"$folder/read.py" <<'END'
import sys

import spacy
from spacy.training.converters import conllu_to_docs

text = """1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_

"""
(doc,) = conllu_to_docs(text, no_print=True)
tags = [(word.text, word.tag_) for word in doc]
print("spacy", spacy.__version__)
print("XPOS of the file: Dogs _, bark VBP; read as", tags)
sys.exit(0 if tags == [("Dogs", "NOUN"), ("bark", "VBP")] else 1)
END
"$folder/venv/bin/python" "$folder/read.py"
