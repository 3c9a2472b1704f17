"""The public surface of the package: what it names is there, in order, and found where the documentation says."""

import subprocess
import sys

import pytest

import assay


def test_names_are_sorted_and_unique() -> None:
    assert list(assay.__all__) == sorted(set(assay.__all__))


@pytest.mark.parametrize("name", assay.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(assay, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = assay.no_such_thing


def test_importing_the_package_imports_nothing_of_it() -> None:
    check = "import assay, sys; print([name for name in sys.modules if name.startswith('assay.')])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
