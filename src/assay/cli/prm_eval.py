"""`assay prm eval`: test a critic on solutions whose steps are labelled."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.common import data_option, json_option, limit_option, open_benchmark, split_option
from assay.cli.critic import OF_A_CRITIC, critic_from, critic_options, refuse
from assay.cli.model import FiniteRange
from assay.cli.running import budget_from, budget_options, concurrency_option, picture_options, transform_from
from assay.errors import DataError, RunError, UsageError

if TYPE_CHECKING:
    from assay.engine.budget import Budget
    from assay.engine.store import RunStore
    from assay.mark.status import OnMissing
    from assay.models.base import Model
    from assay.solve.critic import Critic
    from assay.train.corrections import Corrections
    from assay.train.critique_records import CritiqueRecord
    from assay.train.labelled import LabelledSet
    from assay.train.process_result import ProcessResult, Threshold
    from assay.train.testing import CriticTest, Wrap

_FLOORS = ("always-correct", "always-incorrect", "random")
_OF_A_POLICY = {
    "policy_api_key_env": "--policy-api-key-env",
    "continuations": "--continuations",
    "policy_temperature": "--policy-temperature",
    "benchmark": "--benchmark",
    "data": "--data",
    "split": "--split",
}


@click.command("eval")
@click.argument("name", metavar="SET")
@click.argument("file", type=click.Path(path_type=Path))
@critic_options
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The run's folder.")
@click.option(
    "--images", type=click.Path(path_type=Path), help="Where pictures' paths start.  [default: FILE's folder]"
)
@limit_option
@click.option(
    "--threshold",
    metavar="NUMBER|tune:FILE",
    default="0.5",
    show_default=True,
    help="A step is right with a score above it; `tune:FILE` takes the one that is best on the labelled solutions of "
    "another file of the same set.",
)
@click.option(
    "--on-missing",
    type=click.Choice(["exclude", "wrong"]),
    default="exclude",
    show_default=True,
    help="What becomes of solutions without a critique (failed calls, unparsable, cut or refused replies). They are "
    "counted in any case, and the score under the other choice stands beside.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap, and of the critic `random`.")
@picture_options
@concurrency_option
@budget_options
@click.option(
    "--policy",
    metavar="ADDRESS",
    help="Also try the critic's corrections: a model that goes on from the corrected step, and from the step as it "
    "was. For a file of rollouts, whose right answers are known.",
)
@click.option("--policy-api-key-env", metavar="NAME", help="Environment variable with the policy's key.")
@click.option("--policy-temperature", type=FiniteRange(min=0), help="[default: 0.7]")
@click.option("--continuations", type=click.IntRange(min=1), help="Of each side of a correction.  [default: 8]")
@click.option(
    "--benchmark", metavar="NAME", help="Mark continuations by this benchmark's rule; else by the answer's form."
)
@data_option
@split_option
@json_option
def command(name: str, file: Path, **options: Any) -> None:
    """Test a critic on FILE, whose solutions have labelled steps in the form of SET.

    SET is one of bigbench-mistake, examples, fincharts, mr-math, prmbench, processbench, rollouts, visualprocessbench,
    vlrmbench. The critic is a model, or one of always-correct, always-incorrect, random, which look at nothing. Stop it
    at any time; the same command goes on where it stopped. The result also lies in OUT/report.

    \b
    assay prm eval processbench gsm8k.jsonl --critic openai:NAME@http://127.0.0.1:8000/v1 --out runs/gsm8k
    assay prm eval rollouts held-out.jsonl --critic step-token:local:CHECKPOINT --out runs/own
    """
    if not options["policy"]:
        refuse(options, _OF_A_POLICY, "is about corrections: name who continues with --policy")
    elif name != "rollouts":
        raise UsageError("--policy needs questions with their right answers: give a file of rollouts.")
    opened = _open(name, file, options)
    result = asyncio.run(_run(opened, options))
    _write_report(result, options["out"])
    if options["as_json"]:
        from assay.report.result import indented

        click.echo(indented(result))
    else:
        from assay.report.terminal_process import print_process

        print_process(result)
        click.echo(f"\nThe result and its reliability diagram are in {options['out'] / 'report'}.")
    if not result.judged:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in result.unjudged.items())
        reason = next(iter(result.reasons), "nothing")
        raise RunError(f"There is no critique of any solution ({kinds}), so there is no score. One of them: {reason}")


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """Everything that the options name, before a call is made.

    `tuning`: the run that a threshold is tuned on; `fixed`: the threshold where there is none.
    """

    test: "CriticTest"
    tuning: "CriticTest | None"
    kind: "LabelledSet"
    odd: int
    fixed: float
    critic_model: "Model | None"
    critic_name: str
    policy_model: "Model | None"


def _open(name: str, file: Path, options: dict[str, Any]) -> _Opened:
    from assay.evaluate import marked_by
    from assay.train.gold import BY_RULE
    from assay.train.labelled import LABELLED, read_labelled
    from assay.train.testing import CriticTest

    fixed, tune = _threshold(options["threshold"])
    odd: list[DataError] = []
    solutions = read_labelled(name, file, images=options["images"], limit=options["limit"], on_odd=odd.append)
    for one in odd[:_SHOWN]:
        _say(one)
    if len(odd) > _SHOWN:
        click.echo(f"left out: {len(odd) - _SHOWN:,} further rows", err=True)
    make, model, critic_name, whole = _critic(options)
    test = CriticTest(
        name=name,
        file=file,
        solutions=solutions,
        critic=make,
        whole=whole,
        out=options["out"],
        transform=transform_from(BY_RULE, options),
        limit=options["limit"],
        seed=options["seed"],
        concurrency=options["concurrency"],
        # With a policy there are two models, and so two prices: a limit on money is refused.
        budget=budget_from({**options, "model": critic_name}, critic=options["policy"] or ""),
        environment=marked_by(),
    )
    return _Opened(
        test=test,
        tuning=None if tune is None else _tuning(test, tune, options["images"]),
        kind=LABELLED[name],
        odd=len(odd),
        fixed=fixed,
        critic_model=model,
        critic_name=critic_name,
        policy_model=_policy(options),
    )


def _tuning(test: "CriticTest", file: Path, images: Path | None) -> "CriticTest":
    """The run that judges the solutions to tune on, within the folder of the test; another file, another folder."""
    from assay.train.labelled import read_labelled
    from assay.train.testing import revision_of

    solutions = read_labelled(test.name, file, images=images, on_odd=_say)
    out = test.out / f"tune-{revision_of(solutions)[:12]}"
    return replace(test, file=file, solutions=solutions, limit=None, out=out, budget=_after(test.budget, test.out))


_SHOWN = 20  # odd rows that are listed one by one


def _say(odd: DataError) -> None:
    click.echo(f"left out: {odd}", err=True)


def _threshold(text: str) -> tuple[float, Path | None]:
    """The number, and the file to tune one on in its place."""
    if text.startswith("tune:") and text != "tune:":
        return 0.5, Path(text.removeprefix("tune:"))
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:  # of NaN too
        raise UsageError(f"--threshold {text!r} is neither a number from 0 up to 1 nor tune:FILE.")
    return value, None


def _critic(options: dict[str, Any]) -> "tuple[Callable[[Wrap], Critic], Model | None, str, bool]":
    """What makes the critic, its model, its name in a table of prices, and whether it judges whole solutions."""
    if not options["critic"]:
        raise UsageError(f"Name who judges with --critic: a model, or one of {', '.join(_FLOORS)}.")
    if options["critic"] in _FLOORS:
        from assay.train.floors import floor_critic

        refuse(options, OF_A_CRITIC, f"is about a model; {options['critic']} is none")
        return (lambda _wrap: floor_critic(options["critic"], seed=options["seed"])), None, "", False
    named = critic_from(options)
    return (lambda wrap: named.make(wrap(named.model))), named.model, named.name, named.kind == "outcome"


def _policy(options: dict[str, Any]) -> "Model | None":
    from assay.cli.readers import open_reader_model

    return open_reader_model(options["policy"], options["policy_api_key_env"]) if options["policy"] else None


async def _run(opened: _Opened, options: dict[str, Any]) -> "ProcessResult":
    from assay.engine.budget import load_prices
    from assay.engine.store import read_manifest
    from assay.train.process_report import About, process_result
    from assay.train.testing import judge_solutions, read_critiques, revision_of, spent_of

    test, tuning = opened.test, opened.tuning
    tuned: list[CritiqueRecord] = []
    try:
        await judge_solutions(test, progress=True)
        tested = read_critiques(test.out, test.solutions)
        if tuning is not None:
            await judge_solutions(tuning, progress=True)
            tuned = read_critiques(tuning.out, tuning.solutions)
        corrections = await _corrections(opened, tested, options)
    finally:
        for model in (opened.critic_model, opened.policy_model):
            if model is not None:
                await model.close()
    on_missing: OnMissing = options["on_missing"]
    about = About(
        name=test.name,
        file=str(test.file),
        revision=revision_of(test.solutions),
        critic=read_manifest(test.out).model,
        kind=opened.kind,
        spent=spent_of([*tested, *tuned], load_prices(options["prices"]).find(opened.critic_name)),
        odd=opened.odd,
        corrections=corrections,
    )
    threshold = _chosen(opened, tested, tuned, on_missing)
    return process_result(tested, about, threshold=threshold, on_missing=on_missing, seed=test.seed)


def _chosen(
    opened: _Opened, tested: "list[CritiqueRecord]", tuned: "list[CritiqueRecord]", on_missing: "OnMissing"
) -> "Threshold":
    from assay.train.process_report import choose_threshold
    from assay.train.process_result import Threshold

    if opened.tuning is None:
        return Threshold(value=opened.fixed, how="fixed")
    file = str(opened.tuning.file)
    found = choose_threshold(tuned, tested, on=file, headline=opened.kind.headline, on_missing=on_missing)
    if found is None:
        raise RunError(f"No threshold has a score on {file}. Tune on a file with right and wrong steps.")
    return found


async def _corrections(
    opened: _Opened, tested: "list[CritiqueRecord]", options: dict[str, Any]
) -> "Corrections | None":
    if opened.policy_model is None:
        return None
    from assay.engine.store import read_manifest
    from assay.solve.plan import TEMPERATURE
    from assay.train.correction_run import CorrectionTest, run_corrections
    from assay.train.gold import BY_RULE
    from assay.train.visualprm import read_rollouts
    from assay.types import Sampling

    benchmark, known = BY_RULE, None
    if options["benchmark"]:
        benchmark, _, dataset = open_benchmark(
            options["benchmark"], options["data"], options["split"], need_pictures=False
        )
        known = {sample.id: sample for sample in dataset}
    elif options["data"] or options["split"]:
        raise UsageError("--data and --split are those of a benchmark: name it with --benchmark.")
    given = options["policy_temperature"]
    temperature = TEMPERATURE if given is None else given
    wanted = {one.sample_id for one in tested}
    rolled = {one.id: one for one in read_rollouts(opened.test.file, on_odd=_pass_over) if one.id in wanted}
    return await run_corrections(
        CorrectionTest(
            rolled=rolled,
            tested=tested,
            critic=read_manifest(opened.test.out).model,
            policy=opened.policy_model,
            benchmark=benchmark,
            known=known,
            out=opened.test.out / "corrections",
            sampling=Sampling(temperature=temperature, max_tokens=benchmark.sampling.max_tokens),
            continuations=options["continuations"] or 8,
            transform=opened.test.transform,
            seed=opened.test.seed,
            concurrency=opened.test.concurrency,
            budget=_after(opened.test.budget, opened.test.out, *([opened.tuning.out] if opened.tuning else [])),
        ),
        progress=True,
    )


def _after(budget: "Callable[[RunStore], Budget]", *folders: Path) -> "Callable[[RunStore], Budget]":
    """What runs in other folders have left of a budget, once they are through."""
    from assay.engine.store import RunStore

    def rest(store: RunStore) -> "Budget":
        left = budget(store)
        for folder in folders:
            with RunStore.open(folder) as other:
                left.charge(other.usage())
        return left

    return rest


def _pass_over(_: DataError) -> None:
    """These rows are listed already."""


def _write_report(result: "ProcessResult", out: Path) -> None:
    from assay.report.reliability import reliability_svg
    from assay.report.result import indented

    folder = out / "report"
    try:
        folder.mkdir(exist_ok=True)
        (folder / "result.json").write_text(indented(result) + "\n", encoding="utf-8")
        title = f"{result.set}: {result.critic}"
        (folder / "reliability.svg").write_text(reliability_svg(result.calibration, title=title), encoding="utf-8")
    except OSError as cause:
        raise RunError(f"{folder} can't be written: {cause.strerror or cause}.") from cause
