"""RESULTS.md from the measured numbers."""

from collections.abc import Sequence
from typing import Any

NAMES = {
    "greedy": "greedy",
    "sc8": "self-consistency@8",
    "bon8": "best-of-8",
    "weighted8": "weighted vote@8",
    "refined8": "Refined best-of-8",
    "pass8": "pass@8 (ceiling)",
    "pass8_refined": "pass@8 of the refined pool",
}


INTRODUCTION = """\
Made by `make miniature`; the numbers are those of results.json. 1,500 questions of FinCharts-lite that no stage of
training has seen, three seeds of sampling, temperature 0.7, the shipped weights. Intervals: 95 %, bootstrap over
questions, each question's mean over the seeds."""


def page(found: dict[str, Any]) -> str:
    """The whole page."""
    parts = [
        "# The miniature, measured",
        INTRODUCTION,
        _strategies(found),
        _differences(found),
        _tokens(found),
        _curves(found),
        _rules(found),
        _kinds(found),
        _refinement(found),
        _critic(found),
        _ablation(found),
        _simulated(found),
        _minutes(found),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    marks = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (head, marks, *lines))


def _ci(value: dict[str, float]) -> str:
    return f"[{value['low']:.1f}, {value['high']:.1f}]"


def _strategies(found: dict[str, Any]) -> str:
    lines = [[NAMES[key], f"{found[key]['mean']:.1f}", _ci(found[key])] for key in NAMES]
    return "## Strategies\n\n" + table(["strategy", "accuracy %", "95 %"], lines)


def _differences(found: dict[str, Any]) -> str:
    lines = [[name, f"{value['mean']:+.1f}", _ci(value)] for name, value in found["differences"].items()]
    return "Paired differences, in points:\n\n" + table(["", "difference", "95 %"], lines)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")


def _tokens(found: dict[str, Any]) -> str:
    runs = found["runs"]
    lines = []
    for way in runs[0]["strategies"]:
        row = [run["strategies"][way] for run in runs]
        samples = runs[0]["samples"]
        policy = _mean([(one["policy"]["prompt_tokens"] + one["policy"]["completion_tokens"]) / samples for one in row])
        critic = _mean([(one["critic"]["prompt_tokens"] + one["critic"]["completion_tokens"]) / samples for one in row])
        lines.append([way, f"{policy:,.0f}", f"{critic:,.0f}"])
    equal = [
        [way, one["fits"], one["n"], f"{100 * _mean([run['equal_tokens'][way]['accuracy'] for run in runs]):.1f}"]
        for way, one in runs[0]["equal_tokens"].items()
    ]
    return (
        "Tokens a question:\n\n"
        + table(["strategy", "policy", "critic"], lines)
        + "\n\nSolutions that the tokens of Refined best-of-8 would pay for (`fits`; the pool has 8):\n\n"
        + table(["plain strategy", "fits", "compared at", "accuracy %"], equal)
    )


def _curves(found: dict[str, Any]) -> str:
    runs = found["runs"]
    ks = sorted({int(k) for curve in runs[0]["curves"].values() for k in curve["accuracy"]})
    lines = [[way, *(_at(runs, way, k) for k in ks)] for way in runs[0]["curves"]]
    return "## By N (the paper's Figure 4)\n\n" + table(["strategy", *(f"N = {k}" for k in ks)], lines)


def _at(runs: Sequence[Any], way: str, k: int) -> str:
    values = [run["curves"][way]["accuracy"].get(str(k)) for run in runs]
    return "" if None in values else f"{100 * _mean(values):.1f}"


def _rules(found: dict[str, Any]) -> str:
    lines = [[rule, f"{one['best-of-n']:.1f}", f"{one['refined-bon']:.1f}"] for rule, one in found["rules"].items()]
    return "## By rule (the paper's Figure 5)\n\n" + table(["rule", "best-of-8", "Refined best-of-8"], lines)


def _kinds(found: dict[str, Any]) -> str:
    names = list(next(iter(found["by_kind"].values())))
    lines = [[kind, *(f"{one[name]:.1f}" for name in names)] for kind, one in found["by_kind"].items()]
    return "## By kind of question\n\n" + table(["kind", *names], lines)


def _refinement(found: dict[str, Any]) -> str:
    lines = [
        [
            seed,
            one["refined"],
            f"{one['helped']} of {one['wrong_before']}",
            f"{one['harmed']} of {one['right_before']}",
            f"{one['selected_refined_wrong']} of {one['selected_refined']}",
        ]
        for seed, one in enumerate(run["refinement"] for run in found["runs"])
    ]
    head = [
        "seed",
        "refined solutions",
        "wrong turned right",
        "right turned wrong",
        "selected refined ones that are wrong",
    ]
    return "## Help and harm\n\n" + table(head, lines)


def _critic(found: dict[str, Any]) -> str:
    parts = ["## The critic on exact step labels"]
    for name, critics in found["critic"].items():
        lines = [
            [critic, *("" if one is None else f"{one:.3f}" for one in row.values())] for critic, row in critics.items()
        ]
        parts += [SETS[name], table(["critic", *CRITIC_COLUMNS], lines)]
    return "\n\n".join(parts)


SETS = {
    "constructed": "800 solutions with faults of known kinds, of questions that no stage has seen:",
    "policy": "Two solutions that the policy sampled of each of 500 questions:",
}

CRITIC_COLUMNS = {
    "macro F1": ("steps", "pooled", "macro"),
    "F1 of wrong steps": ("steps", "pooled", "wrong", "f1"),
    "F1 of right steps": ("steps", "pooled", "right", "f1"),
    "first error found": ("first_errors", "pooled", "erroneous"),
    "all-right found": ("first_errors", "pooled", "correct"),
    "AUC": ("auc",),
    "calibration error": ("calibration", "error"),
    "corrections right": ("corrections_right",),
}


def figure(result: Any, place: Sequence[str]) -> float | None:
    """A number of a critic's test, without its interval."""
    for name in place:
        result = result.get(name) if isinstance(result, dict) else None
    return result.get("value") if isinstance(result, dict) else result


ABLATION = """\
Rows `early-...` are the ablation of the agreement filter: the critic `early` went on, for equally many steps, with what
was kept of the policy's solutions by Monte-Carlo labels, by a teacher that is wrong about one solution in four, or by
both where they agree. Monte-Carlo labels have no critiques: `early-mc` learns verdicts alone."""


def _ablation(found: dict[str, Any]) -> str:
    lines = [[which, one["kept"], one["erroneous"], one["clean"]] for which, one in found["ablation"].items()]
    return ABLATION + "\n\n" + table(["labels", "examples kept", "erroneous", "all right"], lines)


def _simulated(found: dict[str, Any]) -> str:
    lines = [
        [
            one["flips"],
            one["fixes"],
            one["self-consistency"],
            one["best-of-n"],
            one["refined-bon"],
            f"{one['refined-bon'] - one['best-of-n']:+.1f}",
        ]
        for one in found["simulated"]
    ]
    head = ["verdicts turned", "corrections right", "self-consistency@8", "best-of-8", "Refined best-of-8", "gain"]
    return "## Simulated critics: what their quality is worth (300 questions, one seed)\n\n" + table(head, lines)


def _minutes(found: dict[str, Any]) -> str:
    return "## Minutes\n\n" + table(["stage", "minutes"], [[name, value] for name, value in found["minutes"].items()])
