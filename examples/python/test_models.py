"""Random orders; with the module dynet also readers of sentences, the language model, the tagger,
the tree LSTM, and small trainings.

python3 -m unittest discover examples/python
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from data import DataError, Random, minibatches, random_order, updates_an_epoch  # noqa: E402
from measure import peak_memory_mib, seconds_since_start  # noqa: E402

if TYPE_CHECKING:
    from model_file import Settings


class FolderTest(unittest.TestCase):
    """With a folder that is gone at the end."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return path


@unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
class SentencesTest(FolderTest):
    def test_tags(self) -> None:
        from sentences import read_tagged_file

        text = "The|I-ORG Beatles|I-ORG sang|O\r\n\n  a|b|O \t x\u00a0y|O"
        sentences = read_tagged_file(self.write("tags", text))
        self.assertEqual(sentences[0], (["The", "Beatles", "sang"], ["I-ORG", "I-ORG", "O"]))
        self.assertEqual(sentences[1][0], ["a|b", "x\u00a0y"])
        self.assertEqual(len(sentences), 2)

    def test_text(self) -> None:
        from sentences import read_text_file, words_of

        words = read_text_file(self.write("text", "the  luxury auto\tmaker\r\n\n\r\nin N|N\n"))
        self.assertEqual(words, [["the", "luxury", "auto", "maker"], ["in", "N|N"]])
        self.assertEqual(words_of(" a\u00a0b \tc\r\n"), ["a\u00a0b", "c"])

    def test_mistakes(self) -> None:
        import dynet as dy

        from sentences import read_tagged_file, read_text_file

        with self.assertRaisesRegex(dy.IoError, "bad:3:7: a word without a tag"):
            read_tagged_file(self.write("bad", "fine|O\n\nThe|O cat\n"))
        with self.assertRaisesRegex(DataError, ":1:1: nothing but blank lines"):
            read_text_file(self.write("blank", "\n \r\n"))

    def test_frequent_words(self) -> None:
        from sentences import most_frequent, words_seen

        sentences = [list("abbc"), list("ccde")]
        self.assertEqual(words_seen(sentences, 2), ["b", "c"])
        self.assertEqual(most_frequent(sentences, 1), ["c"])
        self.assertEqual(most_frequent(sentences, 3), ["a", "b", "c"])
        self.assertEqual(most_frequent(sentences, 9), ["a", "b", "c", "d", "e"])

    def test_numbers_spell_unknown_words_only(self) -> None:
        from sentences import NO_TAG, Sentence, SentenceNumbers

        numbers = SentenceNumbers(small_tagger(["<unk>", "a", "b", "c"]))
        found = numbers.of(["b", "cab", "<unk>"], ["X", "O", "new"])
        self.assertEqual(found, Sentence([2, 0, 0], [(1, [3, 1, 2]), (2, [0] * 5)], [1, 0, NO_TAG]))
        self.assertEqual(SentenceNumbers(small_tagger([])).of(["cab"], []), Sentence([0], [], []))


def small_tagger(characters: list[str]) -> Settings:
    from model_file import Settings

    names = ("embedding", "hidden", "mlp", "rows", "character-embedding", "character-hidden")
    lists = {"words": ["<unk>", "a", "b"], "tags": ["O", "X"], "characters": characters}
    return Settings("tagger", dict(zip(names, (6, 5, 4, 0, 2, 3))), lists)


class DataTest(unittest.TestCase):
    def test_the_twins_of_the_bench_have_the_same_orders(self) -> None:
        bench = os.path.join(HERE, "..", "..", "bench", "paper")
        text = "from twins import corpora; print(next(corpora.minibatches(1, range(7), 3)))"
        run = subprocess.run(
            [sys.executable, "-c", text], cwd=bench, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(run.stdout, "[1, 6, 0]\n", run.stderr)

    @unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
    def test_the_bench_of_python_makes_trees(self) -> None:
        bench = os.path.join(HERE, "..", "..", "bench")
        text = (
            "from python_bench import make_trees\n"
            "print([len(t.left) - 2 * len(t.words) + (len(t.words) > 4) for t in make_trees(3)])"
        )
        run = subprocess.run(
            [sys.executable, "-c", text], cwd=bench, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(run.stdout, "[0, 0, 0]\n", run.stderr)

    def test_random_order(self) -> None:
        order = random_order(100, Random(3))
        self.assertNotEqual(order, sorted(order))
        self.assertEqual(sorted(order), list(range(100)))

    def test_minibatches_as_in_cpp(self) -> None:
        self.assertEqual(updates_an_epoch(7, 3), 3)
        updates = list(islice(minibatches(1, range(7), 3), 6))
        self.assertEqual([len(update) for update in updates], [3, 3, 1, 3, 3, 1])
        passes = [list(chain(*updates[:3])), list(chain(*updates[3:]))]
        self.assertEqual(passes[0], [1, 6, 0, 4, 3, 5, 2])
        self.assertEqual(sorted(passes[1]), list(range(7)))

    def test_measure(self) -> None:
        self.assertGreater(seconds_since_start(), 0)
        self.assertLess(seconds_since_start(), 3600)
        self.assertGreater(peak_memory_mib(), 1)


REPORT = (
    r"trained \d+ items in [\d.]+ cpu-seconds: [\d.]+ items/s; peak memory [\d.]+ MiB; "
    r"first-update-at [\d.]+ s after start\n"
)


@unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
class ProgramTest(FolderTest):
    def run_program(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        out = [] if program == "parser.py" else ["--out", self.folder]
        command = [sys.executable, os.path.join(HERE, program), *out, *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def expect(self, output: str, program: str, *args: str) -> None:
        run = self.run_program(program, *args)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, output)

    def test_rnnlm(self) -> None:
        text = "the cat sat on the mat\na dog ran\n"
        train = self.write("train.txt", 4 * text)
        dev = self.write("dev.txt", text + "the dog flew\n")
        small = ["--train", train, "--dev", dev, "--embedding", "8", "--hidden", "16"]
        output = rf"loss 3 [\d.]+\n(?s:.*){REPORT}dev perplexity [\d.]+, best perplexity [\d.]+\n$"
        long = ["--minibatch", "4", "--epochs", "40", "--learning-rate", "0.02"]
        self.expect(output, "rnnlm.py", *small, *long, "--print-losses", "3")
        written = {"model.safetensors", "curve.csv"}
        self.assertLessEqual(written, set(os.listdir(self.folder)))
        with open(os.path.join(self.folder, "curve.csv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 41)
        self.expect(r"^perplexity [\d.]+\nnext +[\d.]+ %  sat\n", "rnnlm.py", "--predict=the cat")
        self.expect(r"^perplexity [\d.]+\n", "rnnlm.py", "--predict=words never seen")
        one = ["--minibatch", "1", "--epochs", "1", "--vocabulary", "4"]
        self.expect("^rnnlm: 4 words", "rnnlm.py", *small, *one)
        self.expect("^rnnlm: 4 words", "rnnlm.py", *small, *one, "--sequence")
        blank = self.run_program("rnnlm.py", "--train", self.write("blank.txt", "\n"))
        self.assertEqual(blank.returncode, 2)
        self.assertIn("blank.txt:1:1: nothing but blank lines", blank.stderr)
        none = self.run_program("rnnlm.py", "--train", "none")
        self.assertEqual(none.returncode, 1)
        self.assertIn("there is no file 'none'", none.stderr)
        os.remove(os.path.join(self.folder, "model.safetensors"))
        missing = self.run_program("rnnlm.py", "--predict", "a")
        self.assertIn("--train is required: there is no ", missing.stderr)
        for wrong in (["--minibatch", "0"], ["--learning-rate", "-1"], ["--hidden", "no"]):
            refused = self.run_program("rnnlm.py", "--train", train, *wrong)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"argument {wrong[0]}: {wrong[1]} is no", refused.stderr)

    def test_tagger(self) -> None:
        # Words that end in "o" are X, others O; words seen once are unknown or spelled.
        train = ""
        for stem in ["ka", "be", "di", "po", "lu", "ma", "ne", "ri", "so", "tu", "va", "we"]:
            train += f"{stem}ro|X the|O {stem}ra|O to|X\n{stem}la|O {stem}lo|X the|O\n"
        dev = "zaro|X the|O zara|O to|X\nzala|O zalo|X the|O\n"
        small = ["--train", self.write("train.txt", train), "--dev", self.write("dev.txt", dev)]
        small += ["--embedding", "8", "--hidden", "8", "--mlp", "8", "--character-embedding", "4"]
        small += ["--character-hidden", "8", "--known-from", "2", "--learning-rate", "0.01"]
        output = rf"loss 2 [\d.]+\n(?s:.*){REPORT}dev accuracy [\d.]+ %, best accuracy [\d.]+ %\n$"
        self.expect(
            output, "tagger.py", *small, "--epochs", "2", "--print-losses", "2", "--rows", "50"
        )
        self.expect(r"^words\|[OX] the\|O\n$", "tagger.py", "--predict", "words the")
        output = rf"{REPORT}dev accuracy [\d.]+ %, best accuracy 100.00 %\n$"
        spelling = ["--characters", "--epochs", "20", "--minibatch", "2"]
        self.expect(output, "tagger.py", *small, *spelling)
        exact = ["--sequence", "--lookup-updates", "exact"]
        self.expect(output, "tagger.py", *small, *spelling, *exact)
        self.expect(r"^zimo\|X zima\|O\n$", "tagger.py", "--predict", "zimo zima")
        bad = self.run_program("tagger.py", "--train", self.write("bad.txt", "fine|O\nThe|O cat\n"))
        self.assertEqual(bad.returncode, 2)
        self.assertIn("bad.txt:2:7: a word without a tag", bad.stderr)

    @unittest.skipUnless(find_spec("mpi4py") and shutil.which("mpirun"), "needs mpi4py and mpirun")
    def test_two_ranks_have_the_losses_of_one(self) -> None:
        train = self.write("train.txt", "".join(f"w{n}|X the|O w{n}o|O\n" for n in range(20)))
        one = [sys.executable, os.path.join(HERE, "tagger.py"), "--train", train, "--quiet"]
        one += ["--embedding=8", "--hidden=8", "--minibatch=5", "--epochs=3", "--print-losses=9"]
        allowed = {f"OMPI_ALLOW_RUN_AS_ROOT{more}": "1" for more in ("", "_CONFIRM")}
        allowed["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        losses = []
        for command in (one, ["mpirun", "-n", "2", *one, "--distributed"]):
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=300, env={**os.environ, **allowed}
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            losses.append([float(x) for x in re.findall(r"^loss \d+ (.*)$", run.stdout, re.M)])
        self.assertEqual(len(losses[0]), 9)
        for alone, together in zip(*losses, strict=True):
            self.assertAlmostEqual(together / alone, 1.0, 4)

    def test_sentiment(self) -> None:
        trees = "(3 (2 It) (4 (2 is) (4 fun)))\n(1 (2 It) (1 (2 is) (1 dull)))\n(2 (2 It) (2 is))\n"
        train = self.write("trees.txt", trees)
        long = ["--epochs", "40", "--minibatch", "2", "--learning-rate", "0.05", "--hidden", "8"]
        output = rf"{REPORT}dev accuracy [\d.]+ %, best accuracy 100.00 %\n$"
        self.expect(output, "sentiment.py", "--train", train, "--dev", train, *long)
        with open(os.path.join(self.folder, "curve.csv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 41)
        self.expect(r"^class 3\n$", "sentiment.py", "--predict=(0 (0 It) (0 (0 is) (0 fun)))")
        self.expect(r"^class [0-4]\n$", "sentiment.py", "--predict=(0 (0 fun) (0 unheard))")
        dense = ["--hidden", "8", "--lookup-updates", "dense"]
        self.expect(f"{REPORT}$", "sentiment.py", "--train", train, *dense)
        for tree, reason in (
            ("(0 (0 a))", "want a word or two subtrees in a node"),
            ("(5 It)", "label 5 is out of range; want one below 5"),
            ("(3x It)", "label 3x is out"),
            ("(0 It (0 a))", "want a word or two subtrees"),
            ("hello", "want a tree"),
        ):
            wrong = self.run_program("sentiment.py", "--predict", tree)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(reason, wrong.stderr)
        bad = self.write("bad.txt", "(3 (2 It) (4 fun))\n(3 (2 It) (7 fun))\n")
        wrong = self.run_program("sentiment.py", "--train", bad)
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, "bad.txt:2:.* label 7 is out of range")
        other = self.run_program("listops.py", "--predict", "[MAX 3 4]")
        self.assertEqual(other.returncode, 1)
        self.assertIn("is not a model of listops", other.stderr)

    def test_parser(self) -> None:
        lines = []
        for noun in ("ka", "be", "di", "po"):
            for verb in ("sees", "has"):
                for words in ([("the", 2), (noun, 3), (verb, 0), ("a", 6), ("big", 6), (noun, 3)],
                              [(noun, 2), (verb, 0)]):  # fmt: skip
                    rest = "\t_\t_\t_"
                    for i, (word, head) in enumerate(words, 1):
                        lines.append(f"{i}\t{word}\t_{rest}\t{head}{rest}")
                    lines.append("")
        trees = self.write("trees.conllu", "\n".join(lines) + "\n")
        files = ["--train", trees, "--dev", trees, "--size", "24", "--minibatch", "4"]
        files += ["--learning-rate", "0.01", "--dynet-seed=1"]
        right = r"heads right 100.00 %\n$"
        self.expect(right, "parser.py", *files, "--epochs", "20")
        # Decisions one by one lead to the same losses, up to rounding.
        losses = [
            re.findall(r"loss ([\d.]+)", self.run_program("parser.py", *files, *more).stdout)
            for more in (["--epochs", "2"], ["--epochs", "2", "--dynet-autobatch=0"])
        ]
        self.assertEqual(len(losses[0]), 2)
        for together, alone in zip(*losses):
            self.assertAlmostEqual(float(together), float(alone), places=2)
        self.expect(right, "parser.py", *files, "--epochs", "20", "--reward")

    def test_options(self) -> None:
        train = self.write("train.txt", "the cat sat\n")
        small = ["--train", train, "--hidden", "4", "--embedding", "4", "--epochs", "1"]
        curve = os.path.join(self.folder, "new", "curve.csv")
        library = ["--dynet-autobatch", "0", "--dynet-mem=256", "--curve", curve]
        self.expect(REPORT, "rnnlm.py", *small, *library)
        self.assertTrue(os.path.exists(curve))
        for wrong, reason in (
            (["--dynet-autobatch", "0", "--minibach", "4"], "unrecognized argument: --minibach"),
            (["--dynet-autobatch=0", "4"], "unrecognized argument: 4"),
            (["--epoch", "1"], "unrecognized argument: --epoch"),
            (["--vocabulary", "1"], "1 is no whole number from 2 to"),
            (["--learning-rate", "x"], "x is no number from 1e-09 to 1000"),
            (["--minibatch", "65537"], "65537 is no whole number from 1 to 65536"),
        ):
            refused = self.run_program("rnnlm.py", *small, *wrong)
            self.assertEqual(refused.returncode, 2, wrong)
            self.assertIn(reason, refused.stderr)
        refused = self.run_program("rnnlm.py", "--dev", train, "--predict", "the")
        self.assertIn("--dev needs --train", refused.stderr)
        refused = self.run_program("tagger.py", "--train", train, "--known-from", "0")
        self.assertIn("0 is no whole number from 1 to", refused.stderr)

    def test_options_of_the_loop(self) -> None:
        train = self.write("train.txt", 4 * "the cat sat on the mat\na dog ran\n")
        small = ["--train", train, "--hidden", "4", "--embedding", "4"]
        one = [*small, "--minibatch", "1"]
        self.expect(f"^{REPORT}$", "rnnlm.py", *one, "--quiet", "--epochs", "1")
        self.expect(f"^rnnlm: .*\n(.* left\n)+{REPORT}$", "rnnlm.py", *one, "--epochs", "1")
        self.expect(REPORT, "rnnlm.py", *one, "--updates", "7", "--test-every", "3")
        with open(os.path.join(self.folder, "curve.csv"), encoding="utf-8") as file:
            self.assertEqual([line.split(",")[0] for line in file][1:], ["3", "6", "7"])
        run = self.run_program("rnnlm.py", *one, "--updates", "10000", "--max-seconds", "0.01")
        trained = re.search(r"trained (\d+) items", run.stdout)  # 55000 in all
        self.assertTrue(trained and 0 < int(trained[1]) < 10000, run.stdout)

    def test_seed(self) -> None:
        """The seed of the initial values and, if a file gives them, of the order; it is 1."""
        train = self.write("train.txt", 4 * "the cat sat on the mat\na dog ran\n")
        small = ["--train", train, "--hidden", "4", "--embedding", "4"]
        self.expect(REPORT, "rnnlm.py", *small)
        saved = os.path.join(self.folder, "saved.safetensors")
        os.rename(os.path.join(self.folder, "model.safetensors"), saved)
        for how in (["--minibatch", "8"], ["--minibatch", "1", "--init-file", saved]):

            def first_loss(*seed: str, how: list[str] = how) -> str:
                run = self.run_program(
                    "rnnlm.py", *small, *how, "--updates", "1", "--print-losses", "1", *seed
                )
                found = re.search("^loss 1 .*$", run.stdout, re.MULTILINE)
                assert found, run.stderr
                return found[0]

            loss = first_loss()
            self.assertEqual(first_loss("--seed", "1"), loss)
            self.assertNotEqual(first_loss("--seed", "2"), loss)


@unittest.skipUnless(find_spec("dynet"), "needs the module dynet")
class ModelsTest(FolderTest):
    def test_batch_of_sentences_is_the_sum_of_sentences(self) -> None:
        import dynet as dy

        from model_file import Settings
        from rnnlm_model import Rnnlm
        from sequence_losses import rnnlm_loss

        words = ["<unk>", "<s>", "a", "b", "c", "d", "e"]
        model = Rnnlm(Settings("rnnlm", {"embedding": 6, "hidden": 9}, {"words": words}))
        sentences = [[2, 3, 4, 5, 1], [3, 3, 3, 3, 1], [6, 2, 1], [1]]
        total = 0.0
        for sentence in sentences:
            dy.renew_cg()
            total += model.loss(sentence).value()
        dy.renew_cg()
        self.assertAlmostEqual(model.loss_of_batch(sentences).value(), total, places=4)
        self.assertAlmostEqual(rnnlm_loss(model, sentences).value(), total, places=4)

    def test_tagger_written_by_the_sequence_is_the_same(self) -> None:
        import dynet as dy

        from sentences import SentenceNumbers
        from sequence_losses import tagger_loss
        from tagger_model import Tagger

        for characters in ([], ["<unk>", "a", "b", "c"]):
            settings = small_tagger(characters)
            model = Tagger(settings)
            sentence = SentenceNumbers(settings).of(["a", "cb", "b"], ["O", "X", "X"])
            dy.renew_cg()
            one, other = tagger_loss(model, sentence), model.loss(sentence)
            self.assertAlmostEqual(one.value(), other.value(), places=5)

    def test_means_of_losses(self) -> None:
        from training import MeanLoss

        loss = MeanLoss()
        for k in range(600):
            loss.add(float(k), 2)  # the loss of two items
        self.assertAlmostEqual(loss.recent(), sum(range(350, 600)) / 500)
        self.assertAlmostEqual(loss.take(), sum(range(600)) / 1200)
        self.assertTrue(math.isnan(loss.take()))  # no update since
        loss.add(8.0, 1)
        loss.add(4.0, 3)
        self.assertAlmostEqual(loss.recent(), (sum(range(352, 600)) + 12) / (2 * 248 + 4))
        self.assertAlmostEqual(loss.take(), 3.0)
        loss.add(5.0, 1)
        self.assertAlmostEqual(loss.take(), 5.0)

    def test_settings(self) -> None:
        from model_file import load_settings, save_model
        from tagger_model import Tagger

        settings = small_tagger([])
        self.assertEqual((settings["hidden"], settings["words"], settings["characters"]), (5, 3, 0))
        self.assertEqual(settings.numbers_of("tags"), {"O": 0, "X": 1})
        file = os.path.join(self.folder, "model.safetensors")
        save_model(settings, Tagger(settings).m, file)
        self.assertEqual(load_settings(file, "tagger"), settings)
        with self.assertRaisesRegex(OSError, "is not a model of rnnlm"):
            load_settings(file, "rnnlm")

    def test_models_without_their_settings(self) -> None:
        import dynet as dy

        from model_file import load_settings

        file = os.path.join(self.folder, "model.safetensors")

        def save(hidden: str) -> None:
            with dy.SafetensorsSaver(file) as saver:
                saver.save(dy.ParameterCollection())
                saver.set_metadata("task", "tagger")
                saver.set_metadata("hidden", hidden)

        for wrong in ("x", "", "5 ", "-1", "5000000000"):
            save(wrong)
            with self.assertRaisesRegex(OSError, f"model.* hidden is '{wrong}'; want a number"):
                load_settings(file, "tagger")
        save("5")
        with self.assertRaisesRegex(OSError, "the settings have no 'words'"):
            load_settings(file, "tagger")["words"]


if __name__ == "__main__":
    unittest.main()
