"""`assay prm export`: training examples as files that trainers read."""

from pathlib import Path
from typing import cast

import click

from assay.cli.common import json_option
from assay.errors import UsageError
from assay.report.result import indented
from assay.train.export import MOST_NEAR, SHARE, ExportPlan, export
from assay.train.export_card import summary
from assay.train.formats import FORMATS, Format
from assay.train.splits import NEAR


@click.command("export")
@click.argument("examples", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the export.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(list(FORMATS)),
    help="For which trainer: TRL and `assay prm train`, LLaMA-Factory, ms-swift. May be repeated.  [default: all]",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    help=f"Share of the rows that is held out.  [default: {SHARE}]",
)
@click.option("--held-out-examples", type=click.IntRange(min=0), help="Rows that are held out, in place of a share.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the split.")
@click.option(
    "--near",
    type=click.IntRange(0, MOST_NEAR),
    default=NEAR,
    show_default=True,
    help="Pictures whose perceptual hashes (64 bits) differ in at most so many bits count as one. Needs assay[curate].",
)
@click.option("--no-near", is_flag=True, help="Take only pictures of equal content for one.")
@click.option(
    "--same-text/--any-text",
    default=True,
    show_default=True,
    help="Whether rows whose questions read the same are kept in one part, though their pictures differ.",
)
@click.option(
    "--link-images/--copy-images",
    default=True,
    show_default=True,
    help="Whether pictures are hard links where that can be done, which take no space.",
)
@json_option
def command(
    examples: tuple[Path, ...],
    out: Path,
    formats: tuple[str, ...],
    held_out: float | None,
    held_out_examples: int | None,
    seed: int,
    near: int,
    no_near: bool,
    same_text: bool,
    link_images: bool,
    as_json: bool,
) -> None:
    """Write EXAMPLES (files of `assay prm filter`, or of chat rows) for training, with some rows held out.

    The two parts share no picture, no question and no group. Pictures are checked to the last pixel and lie beside the
    rows; a row without its picture is left out and listed in dropped.jsonl. card.md says what is in the export.

    \b
    assay prm export examples.jsonl --out export
    assay prm export examples.jsonl --out export --format llamafactory --held-out-examples 500
    """
    if held_out is not None and held_out_examples is not None:
        raise UsageError("--held-out and --held-out-examples say the same in two ways; leave one out.")
    plan = ExportPlan(
        formats=cast("tuple[Format, ...]", tuple(dict.fromkeys(formats)) or tuple(FORMATS)),
        share=SHARE if held_out is None else held_out,
        count=held_out_examples,
        seed=seed,
        near=None if no_near else near,
        same_text=same_text,
        link=link_images,
    )
    card = export(examples, out, plan)
    click.echo(indented(card) if as_json else "\n".join([*summary(card), f"{out / 'card.md'} says more."]))
