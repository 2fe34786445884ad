"""The generator of ListOps; with the module dynet also the reader of trees and a small training.

python3 -m unittest discover examples/python
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from data import DataError  # noqa: E402
from listops_data import ListOpsGenerator, parse_list  # noqa: E402
from trees import parse_tree, read_tree_file  # noqa: E402


class ListOpsTest(unittest.TestCase):
    def test_values_by_hand(self) -> None:
        cases = {
            "[MAX 3 [MIN 4 5] 1]": 4,
            "[MED 9 1 5]": 5,
            "[MED 9 1 5 7]": 5,
            "[SM 9 8 7]": 4,
            "(SM 1 (MED 8 2))": 3,
            "[MIN 4 2 9]": 2,
        }
        for text, value in cases.items():
            self.assertEqual(parse_list(text).evaluate(), value, text)

    def test_same_lists_as_in_cpp(self) -> None:
        lists = ListOpsGenerator(1)
        self.assertEqual(str(lists.next()), "[SM [MAX 2 0 3 1] 3 3 [SM 4 3 6]]")
        number = 0
        for _ in range(1000):
            for c in str(lists.next()):
                number = (number * 31 + ord(c)) & 0xFFFFFFFF
        self.assertEqual(number, 3041538011)

    def test_labels_depth_and_text(self) -> None:
        lists = ListOpsGenerator(7)
        count = [0] * 5
        for _ in range(1000):
            expr = lists.next()
            count[expr.depth()] += 1
            tree = expr.to_tree()
            self.assertEqual(tree.labels[-1], expr.evaluate())
            self.assertEqual(str(parse_list(str(expr))), str(expr))
            words = iter(tree.words)
            for i, (left, right) in enumerate(zip(tree.left, tree.right)):
                self.assertLess(max(left, right), i)
                is_operator = left < 0 and next(words) >= 10
                self.assertEqual(i not in tree.labelled, is_operator)
            self.assertEqual(len(tree.labels), len(tree.labelled))
            self.assertEqual(list(words), [])
        self.assertEqual(count[0], 0)
        self.assertGreater(min(count[1:]), 180)

    def test_mistakes(self) -> None:
        cases = [
            ("", 1, "want a list"),
            ("7", 1, "want a list"),
            ("MAX 3 4 ]", 1, "want a list"),
            ("[MAX 3 12]", 8, "want a digit"),
            ("[MAX 3", 7, "MAX at column 1 is not closed"),
            ("[MAX [MIN", 10, "MIN at column 6 is not closed"),
            ("[MAX ]", 6, "has no arguments"),
            ("[MAX 3]]", 8, "text after the end"),
            ("[MAX 3 4)", 9, "the other kind of bracket"),
            ("(MAX 3 [MIN 4 5])", 8, "the other kind of bracket"),
            ("[3 4]", 2, "after a "),
            ("[", 2, "after a "),
            ("[MAX MIN]", 6, "want a digit"),
            ("[MAX " * 10000, 1006, "nested deeper"),
        ]
        for text, column, reason in cases:
            with self.assertRaisesRegex(DataError, reason) as caught:
                parse_list(text)
            self.assertEqual(caught.exception.column, column, text[:40])


@unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
class TreesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "some.txt")

    def write(self, text: str) -> str:
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(text)
        return self.file

    def test_reads(self) -> None:
        text = "(3 (2 It) (4 (2 's) (4 fun)))\n\n(1 8\u00a01/2)\n"
        (tree, word), words = read_tree_file(self.write(text), 5)
        self.assertEqual(tree.labelled, [0, 1, 2, 3, 4])
        self.assertEqual(tree.labels, [2, 2, 4, 4, 3])
        self.assertEqual((tree.left[-1], tree.right[-1]), (0, 3))
        self.assertEqual(list(words), ["<unk>", "It", "'s", "fun", "8\u00a01/2"])
        self.assertEqual(word.words, [4])  # a no-break space is part of a word
        self.assertEqual(parse_tree("(0 fun)", 5, words).words, [3])
        self.assertEqual(parse_tree("(0 new)", 5, words).words, [0])

    def test_mistakes(self) -> None:
        import dynet as dy

        cases = [
            ("hello", 1, "want a tree"),
            ("(3 (2 It) (4 fun)", 18, "column 1 is closed"),
            ("(3 (2 It) (4 fun)))", 19, "text after the end"),
            ("(3)", 3, "without a word or"),
            ("(3 (2 It))", 1, "want a word or two subtrees"),
            ("(3 (2 a) (2 b) (2 c))", 1, "want a word or two subtrees"),
            ("(3 It (2 a))", 1, "want a word or two subtrees"),
            ("(3 It is)", 1, "want a word or two subtrees"),
            ("(5 It)", 1, "label 5 is out of range; want one below 5"),
            ("(x It)", 1, "label x is out of range"),
        ]
        for text, column, reason in cases:
            with self.assertRaisesRegex((DataError, dy.IoError), reason) as caught:
                read_tree_file(self.write("(1 fine)\n" + text), 5)
            self.assertIn(f"some.txt:2:{column}: ", str(caught.exception))
        with self.assertRaisesRegex(DataError, ":1:1: nothing but blank lines"):
            read_tree_file(self.write("\n"), 5)


@unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
class ProgramTest(unittest.TestCase):
    def run_program(self, *args: str) -> subprocess.CompletedProcess[str]:
        program = os.path.join(HERE, "listops.py")
        return subprocess.run(
            [sys.executable, program, *args], capture_output=True, text=True, timeout=300
        )

    def test_trains_saves_and_predicts(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            small = ["--out", out, "--hidden", "16", "--updates", "300", "--test-trees", "50"]
            run = self.run_program(*small, "--print-losses", "300")
            self.assertEqual(run.returncode, 0, run.stderr)
            losses = [float(x.split()[2]) for x in run.stdout.splitlines() if x.startswith("loss ")]
            self.assertEqual(len(losses), 300)
            self.assertLess(sum(losses[-100:]), 0.9 * sum(losses[:100]))
            self.assertIn("bag of symbols", run.stdout)
            written = set(os.listdir(out))
            expected = {"model.safetensors", "curve.csv", "graph.dot", "curve.svg", "graph.svg"}
            self.assertLessEqual(expected, written)
            answer = self.run_program("--out", out, "--predict", "[MAX 3 [MIN 4 5]]")
            self.assertRegex(answer.stdout, r"^\[MAX 3 \[MIN 4 5\]\] = \d, (right|not 4)$")
            wrong = self.run_program("--out", out, "--predict", "[MAX 3]]")
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("list:1:8: text after the end", wrong.stderr)
            for unknown in (["--epochs", "2"], ["--dot", "x"], ["--test-trees", "1"]):
                self.assertEqual(self.run_program(*unknown).returncode, 2, unknown)


if __name__ == "__main__":
    unittest.main()
