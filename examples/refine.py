"""Refined Best-of-N with any critic: a solution goes on from its first wrong step, as the critic corrects it.

    python examples/refine.py                                               a scripted policy and critic
    python examples/refine.py openai:NAME@URL generative:openai:NAME@URL

The table shows what the same pool gives without refinement, without a critic, and without a search.
"""

import asyncio
import re
import sys
from importlib.resources import files
from pathlib import Path

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.engine.store import RunStore
from assay.evaluate import Plan, Wrap, evaluate
from assay.models import open_model
from assay.models.base import Model, parse_address
from assay.models.scripted import ScriptedModel
from assay.report.terminal_controls import print_controls
from assay.solve.controls import controls
from assay.solve.critic import Critic, make_critic, parse_critic
from assay.solve.plan import SearchPlan
from assay.solve.pool import pools_of
from assay.types import Request, TextPart

DATA = Path(str(files("assay"))) / "demo" / "mathvision"


def scripted(request: Request, index: int) -> str:
    """Policy and critic in one: every other solution has a wrong step, which the critic finds."""
    question = "".join(part.text for part in request.messages[-1].parts if isinstance(part, TextPart))
    steps = re.search(r"Go through the (\d+) numbered steps", question)
    if "<checked_steps>" in question:
        return "Step 3: so \\boxed{A}"
    if steps is None:
        second = "I misread it." if index % 2 else "I read it."
        return f"Step 1: I look ({index}).\n\nStep 2: {second}\n\nStep 3: so \\boxed{{{'AB'[index % 2]}}}"
    lines: list[str] = []
    for step in range(1, int(steps[1]) + 1):
        word = "Incorrect" if step == 2 and "misread" in question else "Correct"
        lines += [f"Step {step}", "Intent: go on", "Image: seen | Correct", f"Logic: so | {word}", f"Judgement: {word}"]
    if "misread" in question:
        lines.append("Correction of step 2: I read it.")
    return "\n".join([*lines, "End of critique"])


async def main(policy: Model, critic: str, out: Path) -> None:
    named = parse_critic(critic) if critic else None
    model = policy if named is None else open_model(named.model)

    def make(wrap: Wrap) -> Critic:
        return make_critic("generative" if named is None else named.kind, wrap(model))

    plan = Plan(
        benchmark=load_benchmark("mathvision"),
        source=Source(data=DATA, split="testmini"),
        model=policy,
        out=out,
        limit=10,
        search=SearchPlan(strategy="refined-bon", n=4),
        critic=make,
    )
    try:
        await evaluate(plan)
    finally:
        await policy.close()
        await model.close()
    with RunStore.open(out) as store:
        found = controls(store.outcomes(), pools_of(store), rule="mean", on_missing="exclude", ks=(1, 2, 4))
    print_controls(found)


if __name__ == "__main__":
    arguments = dict(enumerate(sys.argv))
    asked = open_model(parse_address(sys.argv[1])) if arguments.get(1) else ScriptedModel(scripted)
    asyncio.run(main(asked, arguments.get(2, ""), Path(arguments.get(3, "runs/example-refine"))))
