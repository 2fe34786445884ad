"""Trains one system once, and answers the words of a file. The last line is JSON: CPU seconds of
the training, and words a second of the answers, for which the model is loaded before.

`run` calls this file in a process of its own for each point of a curve. Imports stand in functions,
because each system has an interpreter of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def blocks_of(file: Path) -> list[list[str]]:
    """The lines of each sentence."""
    text = file.read_text(encoding="utf-8").strip("\n")
    return [block.split("\n") for block in text.split("\n\n")]


def words_of(block: list[str]) -> list[list[str]]:
    """The cells of words, without ranges and empty nodes."""
    return [c for line in block if line[0] != "#" and (c := line.split("\t"))[0].isdecimal()]


def with_answers(block: list[str], answers: list[list[str]]) -> str:
    """A sentence with the columns from the lemma to the relation."""
    left, lines = iter(answers), []
    for line in block:
        cells = line.split("\t")
        if cells[0].isdecimal():
            cells[2:8] = next(left)
        lines.append("\t".join(cells) + "\n")
    return "".join(lines) + "\n"


class Ours:
    """``dynet train parser``."""

    options: tuple[str, ...] = ()

    def train(self, file: Path, size: int, folder: Path) -> None:
        from dynet.programs import main

        model = folder / "model.safetensors"
        words = [f"--train={file}", f"--output={model}", f"--epochs={size}", *self.options]
        if main(["train", "parser", *words]) != 0:
            raise SystemExit("dynet train parser failed")

    def load(self, folder: Path) -> None:
        from dynet import programs

        self.model = programs.load(str(folder / "model.safetensors"))

    def answer(self, file: Path) -> str:
        return "".join(self.model.write(str(file)))


class OursByActions(Ours):
    options = ("--transition",)


class UDPipe:
    """With UDPipe's own options. A size of 10 stands for its own numbers of passes: 10 of the
    parser, 20 of the tagger."""

    def train(self, file: Path, size: int, folder: Path) -> None:
        from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

        reader, error = InputFormat.newConlluInputFormat(), ProcessingError()
        reader.setText(file.read_text(encoding="utf-8"))
        sentences, sentence = Sentences(), Sentence()
        while reader.nextSentence(sentence, error):
            sentences.append(sentence)
            sentence = Sentence()
        options = (Trainer.NONE, f"iterations={2 * size}", f"iterations={size}")
        model = Trainer.train("morphodita_parsito", sentences, Sentences(), *options, error)
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        (folder / "model.udpipe").write_bytes(model)

    def load(self, folder: Path) -> None:
        from ufal.udpipe import Model

        self.model = Model.load(str(folder / "model.udpipe"))

    def answer(self, file: Path) -> str:
        from ufal.udpipe import Pipeline, ProcessingError

        pipeline = Pipeline(self.model, "conllu", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
        error = ProcessingError()
        text: str = pipeline.process(file.read_text(encoding="utf-8"), error)
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        return text


class Spacy:
    """``spacy train`` with the configuration for efficiency, without vectors. A size is a pass."""

    def train(self, file: Path, size: int, folder: Path) -> None:
        from spacy.cli.init_config import init_config
        from spacy.tokens import DocBin
        from spacy.training.converters import conllu_to_docs
        from spacy.training.initialize import init_nlp
        from spacy.training.loop import train

        docs = list(conllu_to_docs(file.read_text(encoding="utf-8"), n_sents=10, no_print=True))
        for name, some in (("train", docs), ("few", docs[:1])):
            DocBin(docs=some, store_user_data=True).to_disk(folder / f"{name}.spacy")
        parts = ["tagger", "morphologizer", "trainable_lemmatizer", "parser"]
        config = init_config(
            lang="en", pipeline=parts, optimize="efficiency", gpu=False, silent=True
        )
        # Scores during the training would take time: there are none but the first one.
        config["paths"] |= {"train": str(folder / "train.spacy"), "dev": str(folder / "few.spacy")}
        config["training"] |= {"max_epochs": size, "max_steps": 0, "patience": 0}
        config["training"]["eval_frequency"] = 10**9
        nlp = init_nlp(config)
        train(nlp, folder)

    def load(self, folder: Path) -> None:
        import spacy

        self.nlp = spacy.load(folder / "model-last")

    def answer(self, file: Path) -> str:
        from spacy.tokens import Doc

        blocks = blocks_of(file)
        docs = []
        for block in blocks:
            words = [cells[1] for cells in words_of(block)]
            docs.append(Doc(self.nlp.vocab, words, sent_starts=[i == 0 for i in range(len(words))]))
        texts = []
        for block, doc in zip(blocks, self.nlp.pipe(docs)):
            answers = []
            for t in doc:
                head = 0 if t.head is t or t.head.i == t.i else t.head.i + 1
                relation = t.dep_ if head else "root"
                cells = [t.lemma_, t.pos_, t.tag_, str(t.morph), str(head), relation]
                answers.append([cell or "_" for cell in cells])
            texts.append(with_answers(block, answers))
        return "".join(texts)


SYSTEMS = {"dynet": Ours, "dynet-transition": OursByActions, "udpipe": UDPipe, "spacy": Spacy}


def without_answers(file: Path, target: Path) -> int:
    """Writes the words of a treebank without all columns that the systems fill; their number."""
    count = 0
    with open(target, "w", encoding="utf-8") as out:
        for block in blocks_of(file):
            words = words_of(block)
            count += len(words)
            out.write(with_answers(block, [["_"] * 6 for _ in words]))
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument(
        "--words", type=Path, required=True, help="a treebank, of which the words count"
    )
    parser.add_argument("--size", type=int, required=True, help="passes")
    parser.add_argument(
        "--folder", type=Path, required=True, help="for the model and answered.conllu"
    )
    options = parser.parse_args()
    system, folder = SYSTEMS[options.system](), options.folder
    begun = cpu_seconds()
    system.train(options.train, options.size, folder)
    trained = cpu_seconds() - begun
    blank = folder / "blank.conllu"
    words = without_answers(options.words, blank)
    system.load(folder)
    begun = cpu_seconds()
    text = system.answer(blank)
    answered = cpu_seconds() - begun
    (folder / "answered.conllu").write_text(text, encoding="utf-8")
    print("\n" + json.dumps({"train_seconds": trained, "words_a_second": words / answered}))


if __name__ == "__main__":
    main()
