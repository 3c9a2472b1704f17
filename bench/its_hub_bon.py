"""its_hub's best-of-N with its language-model judge, timed for `bench/search.py`; runs in its_hub's own environment.

    python bench/its_hub_bon.py URL SAMPLES CONCURRENCY N

Prints one JSON line: client CPU seconds (user + system, start-up left out) and wall seconds.
"""

import asyncio
import json
import resource
import sys
import time

from its_hub.core.algorithms.bon import BestOfN
from its_hub.core.lms.openai_lm import OpenAICompatibleLanguageModel
from its_hub.core.orchestrator import LMOrchestrator
from its_hub.core.reward_models.llm_judge import LLMJudge


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def run(url: str, samples: int, concurrency: int, n: int) -> None:
    model = OpenAICompatibleLanguageModel(endpoint=url, api_key="none", model_name="bench", temperature=0.7)
    search = BestOfN(LLMJudge(model), LMOrchestrator(max_concurrency=concurrency))
    rest = iter(range(samples))

    async def worker() -> None:
        for number in rest:
            await search.ainfer(model, f"Question {number}: which figure has the largest area?", budget=n)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    await model.close()


if __name__ == "__main__":
    cpu, wall = cpu_seconds(), time.monotonic()
    asyncio.run(run(sys.argv[1], *map(int, sys.argv[2:])))
    print(json.dumps({"cpu": cpu_seconds() - cpu, "wall": time.monotonic() - wall}), flush=True)
