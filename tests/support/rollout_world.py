"""A server that solves three questions about fruit, and goes on from every step as `SCRIPT` says; more are as these.

A solution has three steps and then its answer, a fourth step. Of question q's letters the k-th says how what goes on
from its step k ends: R right, W wrong, S by the seed: right for an even seed. Nothing is left to say after the fourth,
so that its completions are as right as the solution, and solutions end as their letter after the colon says.

    q   goes on   solution   full scheme, 4 completions    hard labels (batches 0 | 1 | 2 3)
    0   R R R     right      4 steps right                  1 + 1 + 1 + 1 = 4
    1   R W W     wrong      step 1 right, 2 to 4 wrong     1 + 4 + 4 + 4 = 13; to the first error 1 + 4 = 5
    2   W R R     right      step 1 wrong, 2 to 4 right     4 + 1 + 1 + 1 = 7; to the first error 4
"""

import re

from support.fruit import boxed, number_of
from support.servers import Call

QUESTIONS = 3
SCRIPT = {0: "RRR:R", 1: "RWW:W", 2: "WRR:R"}
STEPS = 4

_PART = re.compile(r"part (\d) of")


def solution(number: int, manner: str) -> str:
    parts = [f"Step {part}: we look at part {part} of it, {manner}.\n\n" for part in (1, 2, 3)]
    return "".join(parts) + "Step 4: so " + ending(number, SCRIPT[number % QUESTIONS][-1], 0)


def ending(number: int, letter: str, seed: int) -> str:
    right = letter == "R" or (letter == "S" and seed % 2 == 0)
    return boxed("ABCDE"[(number + (not right)) % 5])


def answer(call: Call, draw: int) -> str:
    """What the policy says. As vLLM, a server that makes several draws from one seed adds their places to it."""
    if "Count from one" in call.question:  # whoever asks finds out how turns are continued
        return " seven, eight, nine, ten"
    seed = call.seed + draw
    number = number_of(call)
    given = call.prefill if call.prefill is not None else call.question.partition("<checked_steps>")[2]
    parts = _PART.findall(given)
    if not parts:
        return solution(number, f"in manner {seed}")
    if "Step 4" in given:
        return ""
    letter = SCRIPT[number % QUESTIONS][int(parts[-1]) - 1]
    return f"Hence, by {seed}, it is seen.\n\nTherefore {ending(number, letter, seed)}"
