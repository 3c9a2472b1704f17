"""What a model in training makes of rows that it is not trained on: the loss, and the steps that it judges."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.errors import AssayError
from assay.mark.steps import JudgedSolution, step_scores
from assay.models.local_batch import Answerer, Ask
from assay.models.local_checkpoint import Checkpoint, library
from assay.solve.critique_format import Written, parse
from assay.train.collate import WEIGHTS, Collator
from assay.train.preflight import Prepared
from assay.types import ImagePart, Message, Reply, Request, Sampling, TextPart

__all__ = ["Evaluation", "HeldOut", "line"]


class Evaluation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `training.jsonl`.

    Attributes:
        step: optimizer steps before it.
        loss: mean training loss since the evaluation before; weighted where verdicts are.
        held_out_loss: mean over the held-out tokens that the loss falls on, never weighted; None without such rows.
        f1_right, f1_wrong: of the labelled steps of the generated critiques; steps without a verdict count as missed
            (mark.steps: `wrong`). None where nothing was generated, or no step has that label.
        critiques: critiques generated; `unparsable`, `truncated` and `failed` of them could not be read.
        seconds: that the evaluation took.
    """

    step: int
    loss: float | None = None
    held_out_loss: float | None = None
    f1_right: float | None = None
    f1_wrong: float | None = None
    critiques: int = 0
    unparsable: int = 0
    truncated: int = 0
    failed: int = 0
    seconds: float = 0.0


class HeldOut:
    """Evaluates one checkpoint, which is trained in between.

    Args:
        checkpoint: its model is the one that is trained.
        rows: held-out rows.
        collator: of these rows.
        batch: rows that are run together.
        loss_rows: the first so many give the loss; None: all.
        critiques: the first so many of those that have labels are generated, greedily.
        tokens: that a critique may have.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        rows: Sequence[Prepared],
        collator: Collator,
        *,
        batch: int,
        loss_rows: int | None,
        critiques: int,
        tokens: int,
    ) -> None:
        self._checkpoint = checkpoint
        self._collator = collator
        self._batch = batch
        # Of like lengths together: less to fill up.
        self._rows = sorted(rows[:loss_rows], key=lambda row: len(row.ids))
        self._critiques = [row for row in rows if any(label is not None for label in row.row.labels)][:critiques]
        self._tokens = tokens

    def loss(self, model: Any) -> float | None:
        """Mean cross-entropy of the tokens that the loss falls on; `model` may be wrapped, as for several processes."""
        torch = library("torch")
        device = self._checkpoint.model.device
        total, tokens = 0.0, 0.0
        for start in range(0, len(self._rows), self._batch):
            batch = self._collator.batch(self._rows[start : start + self._batch])
            weights = batch.pop(WEIGHTS)
            with torch.no_grad():
                moved = {name: value.to(device) for name, value in batch.items()}
                outputs = model(**moved, fused_lm_head=True)
            total -= float(outputs.log_probs.double().sum())
            tokens += float((weights[:, 1:] > 0).sum())
        return total / tokens if tokens else None

    def judge(self) -> tuple[list[JudgedSolution], Counter[str]]:
        """The critiques that the model writes now, and how many could not be read, by why."""
        answerer = Answerer(self._checkpoint, stopped=lambda: False)
        judged: list[JudgedSolution] = []
        problems = Counter[str]()
        for start in range(0, len(self._critiques), self._batch):
            rows = self._critiques[start : start + self._batch]
            answers = answerer.answer([Ask(request=self._request(row), indices=range(1)) for row in rows])
            for row, answer in zip(rows, answers, strict=True):
                verdicts: tuple[bool | None, ...] | None = None
                if isinstance(answer, AssayError):
                    problems["failed"] += 1
                else:
                    verdicts = _verdicts(answer[0], len(row.row.labels), problems)
                judged.append(JudgedSolution(source="", group=row.row.group, labels=row.row.labels, verdicts=verdicts))
        return judged, problems

    def evaluate(self, model: Any, *, step: int, loss: float | None, generate: bool = True) -> Evaluation:
        """All of it."""
        held_out = self.loss(model)
        if not generate or not self._critiques:
            return Evaluation(step=step, loss=loss, held_out_loss=held_out)
        judged, problems = self.judge()
        scores = step_scores(judged, "wrong", 1, 0)  # without intervals: one draw is the least
        return Evaluation(
            step=step,
            loss=loss,
            held_out_loss=held_out,
            f1_right=scores.right.f1.value,
            f1_wrong=scores.wrong.f1.value,
            critiques=len(judged),
            unparsable=problems["unparsable"],
            truncated=problems["truncated"],
            failed=problems["failed"],
        )

    def _request(self, row: Prepared) -> Request:
        pictures = [
            ImagePart(key=path, media_type="", width=0, height=0, data=Path(path).read_bytes())
            for path in row.row.images
        ]
        message = Message(role="user", parts=(*pictures, TextPart(text=row.row.prompt)))
        return Request(messages=(message,), sampling=Sampling(temperature=0.0, max_tokens=self._tokens))


def line(measured: Evaluation) -> str:
    """An evaluation in one line."""
    parts = [f"step {measured.step:,}"]
    for name, value in (
        ("loss", measured.loss),
        ("held-out loss", measured.held_out_loss),
        ("F1 of right steps", measured.f1_right),
        ("of wrong ones", measured.f1_wrong),
    ):
        if value is not None:
            parts.append(f"{name} {value:.4f}")
    problems = {"unparsable": measured.unparsable, "cut": measured.truncated, "failed": measured.failed}
    parts += [f"{count} of {measured.critiques} critiques {why}" for why, count in problems.items() if count]
    return ", ".join(parts)


def _verdicts(reply: Reply, count: int, problems: Counter[str]) -> tuple[bool | None, ...] | None:
    """A verdict for every step; None for steps behind the one at which a critique stops, and for what can't be read."""
    written = parse(reply.text, count, finish=reply.finish)
    if not isinstance(written, Written):
        problems["truncated" if written.kind == "truncated" else "unparsable"] += 1
        return None
    verdicts = [step.correct for step in written.steps]
    return (*verdicts, *[None] * (count - len(verdicts)))
