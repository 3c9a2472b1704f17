"""Shared fixtures. Tests talk to loopback only, are seeded, and expect no warnings."""

from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

settings.register_profile("assay", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("assay")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark rows; a user's clone has none."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("the shared data folder (../shared/data) is not on this machine")
    return data


@pytest.fixture(scope="session")
def reported_cases() -> Path:
    """Faults that users of peer tools reported, one JSON object per line."""
    cases = SHARED / "cases" / "reports.jsonl"
    if not cases.is_file():
        pytest.skip("the shared cases (../shared/cases/reports.jsonl) are not on this machine")
    return cases
