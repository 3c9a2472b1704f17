"""What an export says about itself: `card.json` for programs, `card.md` for people."""

from typing import Any

from msgspec import Struct

__all__ = ["Card", "Input", "PartCounts", "markdown", "summary"]


class Input(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that was exported: its name, the SHA-256 of its content, and its kind, `examples` or `chat`."""

    name: str
    sha256: str
    kind: str


class PartCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of one part: those with a wrong step, those whose steps are all right, those without labels (chat rows).

    `pictures` are different ones; `without_pictures` are rows.
    """

    rows: int
    wrong: int
    clean: int
    unlabelled: int
    pictures: int
    without_pictures: int


class Card(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that decided an export, and what is in it.

    Attributes:
        made_by: Assay's version.
        inputs: the files, in order.
        settings: the `ExportPlan`.
        prompt: SHA-256 of the critic's prompt; None where nothing but chat rows was exported.
        read, kept: rows.
        dropped: kind -> rows, each of which is listed in `dropped.jsonl`.
        pictures: what was done (`linked`, `copied`, `prepared`) -> pictures.
        compared: whether pictures that look alike were kept together; it takes imagehash.
        parts: `train` and `held_out`.
        asked: rows that were to be held out.
        ties, largest_tie: groups of rows that share something, and the rows of the largest.
        files: path in the export -> SHA-256.
    """

    made_by: str
    inputs: tuple[Input, ...]
    settings: dict[str, Any]
    prompt: str | None
    read: int
    kept: int
    dropped: dict[str, int]
    pictures: dict[str, int]
    compared: bool
    parts: dict[str, PartCounts]
    asked: int
    ties: int
    largest_tie: int
    files: dict[str, str]


def summary(card: Card) -> list[str]:
    """What a person wants to know at once, a line each."""
    reasons = ", ".join(f"{kind} {count:,}" for kind, count in card.dropped.items())
    dropped = f"{sum(card.dropped.values()):,} dropped" + (f" ({reasons}; see dropped.jsonl)" if reasons else "")
    lines = [f"{card.read:,} rows read, {card.kept:,} exported, {dropped}."]
    done = ", ".join(f"{how} {count:,}" for how, count in card.pictures.items())
    lines.append(f"{sum(card.pictures.values()):,} pictures" + (f" ({done})." if done else "."))
    for name, part in card.parts.items():
        lines.append(f"{name}: {part.rows:,} rows, {part.pictures:,} pictures, {_balance(part)}.")
    lines.append(
        f"{card.ties:,} groups of rows that share a picture, a group or a question; the largest has "
        f"{card.largest_tie:,} rows. None is in both parts."
    )
    return lines + notes(card)


def notes(card: Card) -> list[str]:
    """What may not be as somebody expects."""
    found: list[str] = []
    if not card.compared and card.settings["near"] is not None:
        found.append(
            "Pictures that only look alike were not looked for: that takes imagehash (pip install 'assay[curate]')."
        )
    held = card.parts["held_out"].rows
    if held != card.asked:
        found.append(f"{card.asked:,} rows were to be held out; {held:,} are, as near as the groups allow.")
    return found


def _balance(part: PartCounts) -> str:
    labelled = part.wrong + part.clean
    said = [f"{part.wrong:,} with a wrong step, {part.clean:,} all right"]
    if labelled:
        said[0] += f" ({100 * part.wrong / labelled:.1f} % wrong)"
    if part.unlabelled:
        said.append(f"{part.unlabelled:,} without labels")
    return "; ".join(said if labelled else said[1:] or said)


_USE = {
    "trl": "`assay prm train` reads the rows in `trl/`; for TRL itself put them through `assay.train.chat.to_trl`.",
    "llamafactory": "LLaMA-Factory: `dataset_dir: EXPORT/llamafactory`, `dataset: assay_train`, "
    "`eval_dataset: assay_held_out`.",
    "ms-swift": "ms-swift: `ROOT_IMAGE_DIR=EXPORT/ms-swift swift sft --dataset EXPORT/ms-swift/train.jsonl "
    "--val_dataset EXPORT/ms-swift/held_out.jsonl`.",
}


def markdown(card: Card) -> str:
    """The card as a page."""
    lines = ["# Training data", "", *(f"- {line}" for line in summary(card)), ""]
    lines += ["## Use", "", *(f"- {_USE[form]}" for form in card.settings["formats"]), ""]
    lines += ["## Parts", "", "| part | rows | wrong step | all right | no labels | pictures | rows without |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    lines += [
        f"| {name} | {part.rows:,} | {part.wrong:,} | {part.clean:,} | {part.unlabelled:,} | {part.pictures:,} "
        f"| {part.without_pictures:,} |"
        for name, part in card.parts.items()
    ]
    lines += ["", "## Made from", "", f"- {card.made_by}"]
    lines += [f"- {one.name} ({one.kind}), SHA-256 {one.sha256}" for one in card.inputs]
    lines += [f"- the critic's prompt, SHA-256 {card.prompt}"] * (card.prompt is not None)
    lines += [f"- {name}: {value}" for name, value in card.settings.items()]
    lines += ["", "## Files", "", *(f"- {name}, SHA-256 {digest}" for name, digest in card.files.items()), ""]
    return "\n".join(lines)
