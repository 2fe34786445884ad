#!/bin/sh
# conllu 6.0.0: a value in the column MISC ends at its first equals sign. Glosses use this sign for the boundary of a
# clitic (UD_Beja-NSC has `Gloss==when`): the gloss of a word with a clitic loses the clitic, and the gloss of a clitic
# alone is read as None. serialize() writes the shortened values, so that a treebank that is read and written again, with
# another column filled in for instance, has lost these glosses. Nothing is said.
#
# A good guess is that the name ends at the first equals sign and that the rest is the value: such a file passes the
# check of Universal Dependencies, udvalidate.
#
# Seen with conllu 6.0.0 and udtools 0.2.9. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet conllu==6.0.0 udtools==0.2.9
cat >"$folder/read.py" <<'END'
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import conllu

folder = Path(sys.argv[1])
text = """# sent_id = 1
# text = she'll sleep
1-2\tshe'll\t_\t_\t_\t_\t_\t_\t_\tGloss=3SG.F=FUT
1\tshe\tshe\tPRON\t_\t_\t3\tnsubj\t_\tGloss=3SG.F
2\t'll\twill\tAUX\t_\t_\t3\taux\t_\tGloss==FUT
3\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\tGloss=sleep

"""
(folder / "gloss.conllu").write_text(text)
check = [folder / "venv/bin/udvalidate", "--quiet", "--lang", "ud", "--level", "2", folder / "gloss.conllu"]
is_valid = subprocess.run(check).returncode == 0
(sentence,) = conllu.parse(text)
glosses = [token["misc"]["Gloss"] for token in sentence]
written = [line.split("\t")[9] for line in sentence.serialize().splitlines() if "\t" in line]
print("conllu", version("conllu"), "udtools", version("udtools"))
print("udvalidate:", "passed" if is_valid else "failed")
print("glosses of the file: 3SG.F=FUT, 3SG.F, =FUT, sleep; read as", glosses)
print("MISC as written:", written)
is_seen = glosses == ["3SG.F", "3SG.F", None, "sleep"] and written[0] == "Gloss=3SG.F" and written[2] == "Gloss=_"
sys.exit(0 if is_valid and is_seen else 1)
END
"$folder/venv/bin/python" "$folder/read.py" "$folder"
