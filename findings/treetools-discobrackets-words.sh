#!/bin/sh
# treetools 1.0.2: `treetools-cli transform` numbers the words of a tree from 1 when it writes the format discobrackets,
# and from 0 when it reads this format. A treebank of discontinuous trees that was written and is read again has the
# same brackets over other words: each word is replaced by the next one, and the last word of a sentence by a line end
# (of the file, by 0). Written as terminals or as brackets, these words go on without a message; the writer of the
# export format ends with a TypeError at the last tree of the file.
#
# A good guess is that the program reads what it has written: of the numbers that are read, `treetools-cli transform
# --usage` says 1 <= i <= n. Files of disco-dop, whose format this is, number words from 0, and are read well.
#
# Seen with treetools 1.0.2. Ends with 1 if that changes. It needs python3 (3.11 or later) with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet treetools==1.0.2
cat >"$folder/read.py" <<'END'
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

folder = Path(sys.argv[1])
# In the first tree the verb phrase "wake ... up" lies around the noun phrase "him".
(folder / "from-0").write_text(
    "(TOP(S(VP(VB 0)(RP 2))(NP(PRP 1))))\twake him up\n(TOP(S(NP(NNS 0))(VP(VBP 1))))\tdogs bark\n"
)


def transform(source, target, kind):
    """The text of a new file, made of a file in discobrackets."""
    program = [folder / "venv/bin/treetools-cli", "transform", source, target]
    options = ["--src-format", "discobrackets", "--dest-format", kind]
    subprocess.run(program + options, check=True, cwd=folder, capture_output=True)
    return (folder / target).read_text()


words = transform("from-0", "words", "terminals")
written = transform("from-0", "written", "discobrackets")
words_of_written = transform("written", "words-of-written", "terminals")
print("treetools", version("treetools"))
print("words numbered from 0 are read as", repr(words))
print("the trees are written as", repr(written))
print("and these are read as", repr(words_of_written))
is_seen = (
    words == "wake him up \ndogs bark \n"
    and "(VB 1)(RP 3)" in written
    and written.endswith("\tdogs bark\n")
    and words_of_written == "him up \n \nbark 0 \n"
)
sys.exit(0 if is_seen else 1)
END
"$folder/venv/bin/python" "$folder/read.py" "$folder"
