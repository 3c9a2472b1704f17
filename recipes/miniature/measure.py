"""What the tiny models are worth: the strategies, the critic, and what a critic's quality is worth.

Everything is measured on seeds that no stage of training has seen: `held-out` for the strategies, `held-out-steps` for
the critic. Writes results.json and RESULTS.md beside this file, and the figures' numbers into both.
"""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ablation
import msgspec
import numpy as np
import rows
import simulated
import tables

from assay.engine.store import RunStore
from assay.fincharts.lite import LiteItem, items
from assay.fincharts.lite_critiques import gold_step, labels, perturb
from assay.solve.controls import controls
from assay.solve.digest import Digest, digest
from assay.solve.pool import pools_of
from assay.solve.records import Critique, Rule
from assay.solve.steps import strip_step
from assay.train.labelled import read_labelled
from assay.train.testing import read_critiques

HERE = Path(__file__).resolve().parent
QUESTIONS = 1500
SEEDS = (0, 1, 2)
N = 8
POLICY, CRITIC = "local:tiny-policy", "local:tiny-critic"
RULES: tuple[Rule, ...] = ("mean", "min", "max", "product", "last")

Assay = Callable[..., None]


def measure(out: Path, assay: Assay) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda seed: search(out, assay, seed), SEEDS))
        list(both.map(lambda job: job(), critic_tests(out, assay)))
    found = {
        **strategies(out),
        "critic": critic_figures(out / "critic-tests"),
        "ablation": ablation.kept(out / "ablation"),
        "simulated": asyncio.run(simulated.curve(out)),
        "minutes": {path.parent.name: float(path.read_text()) for path in sorted(out.glob("*/minutes.txt"))},
    }
    found["minutes"]["measure"] = round((time.monotonic() - began) / 60, 1)
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = tables.page(found)
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    print(text)
    keys = ("greedy", "sc8", "bon8", "refined8", "pass8")
    print("RESULT " + json.dumps({key: found[key] for key in keys}))


# --------------------------------------------------------------------------------------------------------------------
# Strategies


def run_folder(out: Path, seed: int) -> Path:
    return out / "searches" / f"seed-{seed}"


def search(out: Path, assay: Assay, seed: int) -> None:
    """One run of Refined Best-of-N with the pools of all controls; goes on where it stopped."""
    folder = run_folder(out, seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    assay(
        *("eval", "fincharts-lite", "--split", f"held-out:{QUESTIONS}", "--model", POLICY, "--critic", CRITIC),
        *("--search", "refined-bon", "--n", f"1,2,4,{N}", "--seed", str(seed), "--out", str(folder)),
        *("--concurrency", "256", "--score-on", "product"),
        log=folder.with_suffix(".txt"),
    )


def strategies(out: Path) -> dict[str, Any]:
    """The headline table: means over the seeds, 95 % bootstrap over questions."""
    by_seed: list[dict[str, Any]] = []
    digests: list[dict[str, Digest]] = []
    rules: list[dict[str, dict[str, float]]] = []
    for seed in SEEDS:
        with RunStore.open(run_folder(out, seed)) as store:
            pools = list(pools_of(store))
            found = controls(store.outcomes(), pools, rule="mean", on_missing="wrong", ks=(1, 2, 4, N))
        digests.append({record.id: digest(record, "mean") for record in pools})
        by_seed.append(json.loads(msgspec.json.encode(found)))
        rules.append({rule: _by_rule(pools, rule) for rule in RULES})
    rights = {way: _rights(digests, way) for way in WAYS}
    result: dict[str, Any] = {WAYS[way]: interval(right) for way, right in rights.items()}
    result["differences"] = {f"{WAYS[a]} - {WAYS[b]}": interval(rights[a] - rights[b]) for a, b in PAIRS}
    result["rules"] = {
        rule: {way: float(np.mean([seed[rule][way] for seed in rules])) for way in rules[0][rule]} for rule in RULES
    }
    result["by_kind"] = _by_kind(digests)
    result["runs"] = by_seed
    return result


WAYS = {
    "greedy": "greedy",
    "self-consistency": f"sc{N}",
    "best-of-n": f"bon{N}",
    "refined-bon": f"refined{N}",
    "pass": f"pass{N}",
    "pass-refined": f"pass{N}_refined",
    "weighted-vote": f"weighted{N}",
}
PAIRS = (
    ("self-consistency", "greedy"),
    ("best-of-n", "self-consistency"),
    ("refined-bon", "best-of-n"),
    ("refined-bon", "self-consistency"),
    ("pass-refined", "pass"),
)
_MEMBER = {"pass": "plain", "pass-refined": "refined"}


def _right(one: Digest, way: str) -> float:
    if way in _MEMBER:
        return float(any(one.entries[place].robust for place in one.members[_MEMBER[way]]))
    return float(bool(one.entries[one.chosen[way][0]].robust))


def _rights(digests: Sequence[dict[str, Digest]], way: str) -> Any:
    """Share of seeds under which each question is right."""
    names = sorted(digests[0])
    return np.array([[_right(seed[name], way) for seed in digests] for name in names]).mean(axis=1)


def interval(values: Any, draws: int = 2000) -> dict[str, float]:
    """Mean in percent with its 95 % percentile bootstrap over questions."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return {"mean": round(100 * values.mean(), 2), "low": round(100 * low, 2), "high": round(100 * high, 2)}


def _by_rule(pools: Sequence[Any], rule: Rule) -> dict[str, float]:
    digests = [digest(record, rule) for record in pools]
    return {way: 100 * float(np.mean([_right(one, way) for one in digests])) for way in ("best-of-n", "refined-bon")}


def _by_kind(digests: Sequence[dict[str, Digest]]) -> dict[str, dict[str, float]]:
    kinds = {
        f"held-out-{number}": item.kind for number, item in enumerate(itertools.islice(items("held-out"), QUESTIONS), 1)
    }
    found: dict[str, dict[str, float]] = {}
    for kind in sorted(set(kinds.values())):
        names = [name for name in digests[0] if kinds[name] == kind]
        found[kind] = {
            WAYS[way]: round(100 * float(np.mean([_right(seed[name], way) for name in names for seed in digests])), 1)
            for way in ("greedy", "self-consistency", "best-of-n", "refined-bon", "pass")
        }
    return found


# --------------------------------------------------------------------------------------------------------------------
# The critic on exact step labels


def critic_tests(out: Path, assay: Assay) -> list[Callable[[], None]]:
    """`assay prm eval` of the critic and what it must beat, on constructed errors and on the policy's own solutions."""
    folder = out / "critic-tests"
    folder.mkdir(parents=True, exist_ok=True)
    sets = {"constructed": constructed(folder), "policy": of_policy(out, folder)}
    critics: dict[str, tuple[str, ...]] = {
        "critic": (CRITIC, "--score-on", "product"),
        "likelihood": (f"likelihood:{POLICY}",),
        "always-correct": ("always-correct",),
        "random": ("random",),
    }
    runs = {"early": out / "critic-early"} | {f"early-{which}": out / "ablation" / which for which in ablation.LABELS}
    # Monte-Carlo labels say nothing of image and logic, nor does a critic that learned from them: all by the step's.
    critics |= {name: (f"local:{run / 'run' / 'model'}",) for name, run in runs.items()}
    jobs: list[Callable[[], None]] = []
    for set_name, file in sets.items():
        for name, (address, *options) in critics.items():
            jobs.append(lambda s=set_name, f=file, n=name, a=address, o=options: _test(folder, assay, s, f, n, a, o))
    return jobs


def critic_figures(folder: Path) -> dict[str, dict[str, Any]]:
    """Set -> critic -> the figures of the table."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*/report/result.json")):
        name, _, critic = path.parents[1].name.partition("-")
        result = json.loads((folder / f"{path.parents[1].name}.json").read_text(encoding="utf-8"))
        found.setdefault(name, {})[critic] = {
            column: tables.figure(result, place) for column, place in tables.CRITIC_COLUMNS.items()
        }
    return found


def _test(
    folder: Path, assay: Assay, set_name: str, file: Path, name: str, address: str, options: Sequence[str]
) -> None:
    run = folder / f"{set_name}-{name}"
    log = folder / f"{set_name}-{name}.txt"
    assay(
        *("prm", "eval", "fincharts", str(file), "--critic", address, "--out", str(run), *options),
        *("--concurrency", "256"),
        log=log,
    )
    result = json.loads((run / "report" / "result.json").read_text(encoding="utf-8"))
    result["corrections_right"] = corrections_right(run, file)
    (folder / f"{set_name}-{name}.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


def corrections_right(run: Path, file: Path) -> float | None:
    """Share of the corrections that say what the gold solution says in their place."""
    judged = {one.id: one for one in read_labelled("fincharts", file)}
    asked = msgspec.json.decode(_items_of(file).read_bytes(), type=dict[str, LiteItem])
    found: list[bool] = []
    for record in read_critiques(run, judged.values()):
        critique = record.said
        if isinstance(critique, Critique) and critique.correction and critique.first_error is not None:
            steps = judged[record.sample_id].steps
            gold = gold_step(asked[record.sample_id], steps, critique.first_error)
            found.append(strip_step(critique.correction) == gold)
    return sum(found) / len(found) if found else None


def _items_of(file: Path) -> Path:
    """Beside a set of labelled solutions: the questions that they are solutions of."""
    return file.with_suffix(".items.json")


def constructed(folder: Path, count: int = 800) -> Path:
    """Solutions with one fault in three steps or none, of questions that no stage has seen."""
    rng = random.Random("held-out-steps")
    pictures = rows.Pictures(folder / "pictures")
    made = [(item, perturb(item, rng)[0]) for item in itertools.islice(items("held-out-steps"), count)]
    return _labelled(folder / "constructed.jsonl", "constructed", made, pictures)


def of_policy(out: Path, folder: Path) -> Path:
    """Two sampled solutions of each of 500 questions, as the policy wrote them."""
    known = {
        f"held-out-{number}": item for number, item in enumerate(itertools.islice(items("held-out"), QUESTIONS), 1)
    }
    made: list[tuple[Any, tuple[str, ...]]] = []
    with RunStore.open(run_folder(out, 0)) as store:
        for record in itertools.islice(sorted(pools_of(store), key=lambda one: one.sample_id), 500):
            made += [
                (known[record.sample_id], record.pool[place].solution.steps) for place in record.members["plain"][:2]
            ]
    return _labelled(folder / "policy.jsonl", "policy", made, rows.Pictures(folder / "pictures"))


def _labelled(path: Path, source: str, made: Sequence[tuple[Any, tuple[str, ...]]], pictures: rows.Pictures) -> Path:
    asked = {f"{source}-{number}": item for number, (item, _) in enumerate(made)}
    _items_of(path).write_bytes(msgspec.json.encode(asked))
    with path.open("w", encoding="utf-8") as file:
        for number, (item, steps) in enumerate(made):
            if not steps:
                continue
            right = labels(item, steps)
            first = next((place for place, one in enumerate(right) if not one), None)
            file.write(
                json.dumps(
                    {
                        "id": f"{source}-{number}",
                        "source": f"fincharts-lite/{source}",
                        "question": rows.question(item),
                        "images": [pictures(item)],
                        "steps": steps,
                        "labels": right,
                        "first_error": first,
                        "group": pictures(item),
                    }
                )
                + "\n"
            )
    return path
