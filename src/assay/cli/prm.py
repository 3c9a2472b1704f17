"""`assay prm`: make the training data of a process critic, train one, test one. One module per command."""

import click

from assay.cli.lazy import LazyGroup, Table

COMMANDS: Table = {
    "eval": ("assay.cli.prm_eval", "Test a critic on solutions whose steps are labelled."),
    "export": ("assay.cli.prm_export", "Write examples as files that trainers read, with some held out."),
    "filter": ("assay.cli.prm_filter", "Keep what a critic may be trained on."),
    "label": ("assay.cli.prm_label", "Have teachers write critiques of solutions."),
    "rollouts": ("assay.cli.prm_rollouts", "Label the steps of solutions by completing them many times."),
    "train": ("assay.cli.prm_train", "Fine-tune a checkpoint on chat rows."),
}


@click.group("prm", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Train a process critic and test it: rollouts, label, filter, export, train, eval.

    Every command reads what the one before it wrote, goes on where it stopped, and says what it kept and dropped, and
    why. docs/training.md leads through all of them.
    """
