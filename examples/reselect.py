"""Choose again from the pools of a run, without a model: every rule and every strategy from one search.

python examples/refine.py
python examples/reselect.py runs/example-refine
"""

import sys
from pathlib import Path

from assay.engine.store import RunStore
from assay.mark.summary import summarise
from assay.solve.pool import Strategy
from assay.solve.records import Rule
from assay.solve.reselect import reselect

STRATEGIES: tuple[Strategy, ...] = ("greedy", "self-consistency", "best-of-n", "weighted-vote", "refined-bon")
RULES: tuple[Rule, ...] = ("mean", "min", "max", "product", "last")


def main(run: Path) -> None:
    with RunStore.open(run) as store:
        for strategy in STRATEGIES:
            for rule in RULES if strategy in ("best-of-n", "weighted-vote", "refined-bon") else RULES[:1]:
                outcomes = [outcome for outcome, _ in reselect(store, strategy, rule)]
                robust = summarise(outcomes, on_missing="exclude").robust
                print(f"{strategy:18} {rule:8} {robust.correct} of {robust.n} right")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example-refine"))
