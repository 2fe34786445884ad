#!/bin/sh
# PYEVALB 0.1.3: two brackets with one label over the same words, as in (NP (NP (NNS dogs))), count as two in the gold
# and in the predicted tree, but only one of them can be matched. A tree that is compared with itself has a recall and a
# precision below 1. Treebanks have such brackets where traces were taken out. Nothing is said.
#
# In two files, a line without a tree, which parsers write for a sentence that they cannot parse, is counted as the
# sentence before it once more. "Parsing Error:Empty String !" is printed, and the summary has no sentence with an
# error.
#
# A good guess is that a tree compared with itself is complete, and that a failure never adds to the matches: EVALB,
# whose counts the package has in Python, matches each bracket with one bracket.
#
# Seen with PYEVALB 0.1.3. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet PYEVALB==0.1.3 pytablewriter==1.2.1
cat >"$folder/score.py" <<'END'
import sys
from importlib.metadata import version
from pathlib import Path

from PYEVALB import scorer
from PYEVALB.parser import create_from_bracket_string as tree

folder = Path(sys.argv[1])


def counts(text):
    """Matched, gold and predicted brackets of a tree compared with itself."""
    found = scorer.Scorer().score_trees(tree(text), tree(text))
    return found.matched_brackets, found.gold_brackets, found.test_brackets


def summary(gold, predicted):
    """The lines of the summary for two files."""
    for name, lines in (("gold", gold), ("predicted", predicted)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    scorer.Scorer().evalb(folder / "gold", folder / "predicted", folder / "scores")
    lines = (folder / "scores").read_text().splitlines()
    return dict(line.split(":\t") for line in lines if ":\t" in line)


plain = counts("(S (NP (NNS dogs)) (VP (VBP bark)))")
repeated = counts("(S (NP (NP (NNS dogs))) (VP (VBP bark)))")
gold = ["(S (NP (NNS dogs)) (VP (VBP bark)))", "(S (NP (NN rain)) (VP (VBZ falls)))"]
seen = summary(gold, [gold[0], ""])
shown = {name: seen[name] for name in ("Number of Error sentence", "Number of Valid sentence", "Bracketing Recall")}
print("PYEVALB", version("PYEVALB"))
print("matched, gold and predicted brackets of a tree compared with itself:", plain)
print("the same with (NP (NP ...)):", repeated)
print("two trees, the first of them predicted and an empty line:", shown)
is_seen = plain == (3, 3, 3) and repeated == (3, 4, 4)
sys.exit(0 if is_seen and list(shown.values()) == ["0.00", "2.00", "100.00"] else 1)
END
"$folder/venv/bin/python" "$folder/score.py" "$folder"
