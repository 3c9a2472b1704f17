"""Each picture is prepared once, however many ask for it, and what fails fails alone."""

import asyncio
import functools
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec

import pytest
from PIL import Image

from assay.errors import ImageError, RunError
from assay.images import ImageCache, Transform, prepare
from assay.types import ImagePart
from support.pictures import file_of, noise, opened

P = ParamSpec("P")
KEEP = Transform()
PLAIN = file_of(noise("RGB", (90, 60)), "PNG")
ALPHA = file_of(noise("RGBA", (90, 60)), "PNG")
ANIMATED = file_of(Image.new("RGB", (9, 9), "red"), "GIF", save_all=True, append_images=[Image.new("RGB", (9, 9))])


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@asynccontextmanager
async def open_cache(folder: Path | None = None, memory_bytes: int = 1_000_000) -> AsyncGenerator[ImageCache]:
    cache = ImageCache(folder=folder, memory_bytes=memory_bytes)
    try:
        yield cache
    finally:
        cache.close()


def counts(cache: ImageCache) -> tuple[int, int, int, int]:
    return cache.encoded, cache.passed_through, cache.memory_hits, cache.disk_hits


def written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, bytes], str]:
    def write(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write


File = Callable[[str, bytes], str]


@pytest.mark.parametrize(("data", "encoded"), [(PLAIN, 0), (ALPHA, 1), (file_of(noise("RGB", (500, 300)), "PNG"), 0)])
@in_a_loop
async def test_same_result_as_prepare(file: File, tmp_path: Path, data: bytes, encoded: int) -> None:
    path = file("picture.png", data)
    async with open_cache(tmp_path / "cache") as cache:
        assert await cache.get(path, KEEP) == prepare(data, KEEP).part
        assert counts(cache) == (encoded, 1 - encoded, 0, 0)
        assert await cache.get(path, KEEP) == prepare(data, KEEP).part
        assert counts(cache) == (encoded, 1 - encoded, 1, 0)
        assert cache.hits == 1


@pytest.mark.parametrize("data", [PLAIN, ALPHA, file_of(noise("RGBA", (500, 300)), "PNG")])
@in_a_loop
async def test_one_preparation_for_all_who_ask_at_once(file: File, data: bytes) -> None:
    path = file("picture.png", data)
    async with open_cache() as cache:
        parts = await asyncio.gather(*(cache.get(path, KEEP) for _ in range(50)))
        assert all(part is parts[0] for part in parts)
        assert cache.encoded + cache.passed_through == 1
        assert cache.memory_hits == 49


@in_a_loop
async def test_two_files_with_one_picture_are_encoded_once(file: File) -> None:
    paths = [file(f"{name}.png", ALPHA) for name in range(10)]
    async with open_cache() as cache:
        parts = await asyncio.gather(*(cache.get(path, KEEP) for path in paths))
        assert len({part.key for part in parts}) == 1
        assert cache.encoded == 1


@in_a_loop
async def test_transforms_do_not_share(file: File, tmp_path: Path) -> None:
    path = file("picture.png", ALPHA)
    transforms = [KEEP, Transform(max_edge=30), Transform(format="jpeg"), Transform(format="jpeg", quality=20)]
    async with open_cache(tmp_path / "cache") as cache:
        parts = await asyncio.gather(*(cache.get(path, transform) for transform in transforms))
        assert [part.key for part in parts] == [prepare(ALPHA, transform).part.key for transform in transforms]
        assert cache.encoded == 4
    assert written(tmp_path / "cache") == sorted(
        f"{part.key[:2]}/{part.key}.{'jpg' if part.media_type == 'image/jpeg' else 'png'}" for part in parts
    )


@in_a_loop
async def test_a_stricter_limit_is_not_served_from_the_cache(file: File) -> None:
    path = file("picture.png", PLAIN)
    async with open_cache() as cache:
        await cache.get(path, KEEP)
        with pytest.raises(ImageError, match="5,400 pixels, more than the 99 allowed"):
            await cache.get(path, Transform(max_pixels=99))


@pytest.mark.parametrize("leaver", [0, 1])
@in_a_loop
async def test_one_who_stops_waiting_does_not_disturb_the_others(file: File, leaver: int) -> None:
    path = file("picture.png", file_of(noise("RGBA", (300, 300)), "PNG"))
    async with open_cache() as cache:
        waiters = [asyncio.create_task(cache.get(path, KEEP)) for _ in range(3)]
        await asyncio.sleep(0)  # all three now wait for the first one's preparation
        waiters[leaver].cancel()
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert isinstance(results.pop(leaver), asyncio.CancelledError)
        assert all(isinstance(result, ImagePart) for result in results)
        assert cache.encoded == 1


@in_a_loop
async def test_all_stop_waiting_for_a_picture_that_fails(file: File) -> None:
    """Nobody is left to hear of the error; nothing is printed, and the next who asks gets it."""
    path = file("picture.gif", b"GIF89a" + bytes(40))
    async with open_cache() as cache:
        waiters = [asyncio.create_task(cache.get(path, KEEP)) for _ in range(3)]
        await asyncio.sleep(0)
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        with pytest.raises(ImageError, match=r"picture\.gif"):
            await cache.get(path, KEEP)


@in_a_loop
async def test_memory_is_bounded_and_the_least_recently_used_goes(file: File) -> None:
    files = [file_of(noise("RGB", (60, 60), seed), "PNG") for seed in range(3)]
    paths = [file(f"{index}.png", data) for index, data in enumerate(files)]
    # Room for two of the three (each about 10.9 KB).
    async with open_cache(memory_bytes=len(files[0]) * 2 + 500) as cache:
        for path in (*paths[:2], paths[0], paths[2]):  # 0 is used again, so 1 has to go for 2
            await cache.get(path, KEEP)
        assert counts(cache) == (0, 3, 1, 0)
        await cache.get(paths[0], KEEP)
        await cache.get(paths[2], KEEP)
        assert counts(cache) == (0, 3, 3, 0)
        await cache.get(paths[1], KEEP)
        assert counts(cache) == (0, 4, 3, 0)


@in_a_loop
async def test_a_picture_larger_than_the_memory_evicts_nothing(file: File) -> None:
    small, large = file("small.png", PLAIN), file("large.png", file_of(noise("RGB", (200, 200)), "PNG"))
    async with open_cache(memory_bytes=len(PLAIN)) as cache:
        for path in (small, large, small, large):
            await cache.get(path, KEEP)
        assert counts(cache) == (0, 3, 1, 0)


@in_a_loop
async def test_encoded_once_even_after_eviction(file: File, tmp_path: Path) -> None:
    path = file("picture.png", ALPHA)
    async with open_cache(tmp_path / "cache", memory_bytes=0) as cache:
        parts = [await cache.get(path, KEEP) for _ in range(3)]
        assert parts == [prepare(ALPHA, KEEP).part] * 3
        assert counts(cache) == (1, 0, 0, 2)


@pytest.mark.parametrize("data", [ALPHA, ANIMATED, file_of(noise("CMYK", (40, 40)), "JPEG")])
@in_a_loop
async def test_a_resumed_run_encodes_nothing_again(file: File, tmp_path: Path, data: bytes) -> None:
    path = file("picture", data)
    async with open_cache(tmp_path / "cache") as cache:
        first = await cache.prepared(path, KEEP)
    async with open_cache(tmp_path / "cache") as cache:
        assert await cache.prepared(path, KEEP) == first == prepare(data, KEEP)
        assert counts(cache) == (0, 0, 0, 1)
        assert cache.animated == (data is ANIMATED)


@pytest.mark.parametrize("left", [b"", b"\x89PNG\r\n\x1a\n", PLAIN[:-1], file_of(noise("RGB", (9, 9)), "JPEG")])
@in_a_loop
async def test_a_spoilt_file_in_the_folder_is_encoded_again(file: File, tmp_path: Path, left: bytes) -> None:
    path, folder = file("picture.png", ALPHA), tmp_path / "cache"
    async with open_cache(folder) as cache:
        part = await cache.get(path, KEEP)
    stored = folder / part.key[:2] / f"{part.key}.png"
    stored.write_bytes(left)
    async with open_cache(folder) as cache:
        assert await cache.get(path, KEEP) == part
        assert counts(cache) == (1, 0, 0, 0)
    assert stored.read_bytes() == part.data


@in_a_loop
async def test_what_a_killed_writer_left_does_no_harm(file: File, tmp_path: Path) -> None:
    path, folder = file("picture.png", ALPHA), tmp_path / "cache"
    key = prepare(ALPHA, KEEP).part.key
    (folder / key[:2]).mkdir(parents=True)
    (folder / key[:2] / f"{key}.png.1-1.tmp").write_bytes(b"half")
    async with open_cache(folder) as cache:
        assert (await cache.get(path, KEEP)).key == key
        assert cache.encoded == 1
    assert written(folder) == [f"{key[:2]}/{key}.png", f"{key[:2]}/{key}.png.1-1.tmp"]


@in_a_loop
async def test_what_passes_through_is_not_written(file: File, tmp_path: Path) -> None:
    path = file("picture.png", PLAIN)
    async with open_cache(tmp_path / "cache") as cache:
        await cache.get(path, KEEP)
    assert not (tmp_path / "cache").exists()


@in_a_loop
async def test_a_changed_file_is_another_picture(file: File) -> None:
    path = file("picture.png", PLAIN)
    async with open_cache() as cache:
        before = await cache.get(path, KEEP)
        file("picture.png", ALPHA)
        after = await cache.get(path, KEEP)
        assert (before.key, after.key) == (prepare(PLAIN, KEEP).part.key, prepare(ALPHA, KEEP).part.key)


# --------------------------------------------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", "empty"), (b"<html></html>", "not_an_image"), (PLAIN[:-20], "corrupt"), (ANIMATED[:20], "corrupt")],
)
@in_a_loop
async def test_a_bad_picture_names_its_file_and_fails_alone(file: File, data: bytes, kind: str) -> None:
    bad, good = file("bad.png", data), file("good.png", ALPHA)
    async with open_cache() as cache:
        results = await asyncio.gather(
            *(cache.get(path, KEEP) for path in (bad, good, bad, bad)), return_exceptions=True
        )
        assert isinstance(results[1], ImagePart)
        for error in (results[0], results[2], results[3]):
            assert isinstance(error, ImageError)
            assert error.kind == kind
            assert str(error).startswith(bad + ": ")
        with pytest.raises(ImageError) as again:
            await cache.get(bad, KEEP)
        assert (again.value.kind, str(again.value)) == (kind, str(results[0]))


@in_a_loop
async def test_a_mended_file_is_read_again(file: File) -> None:
    path = file("picture.png", PLAIN[:-20])
    async with open_cache() as cache:
        with pytest.raises(ImageError):
            await cache.get(path, KEEP)
        file("picture.png", PLAIN)
        assert (await cache.get(path, KEEP)).data == PLAIN


@in_a_loop
async def test_a_missing_file_is_looked_for_each_time(file: File, tmp_path: Path) -> None:
    path = str(tmp_path / "later.png")
    async with open_cache() as cache:
        with pytest.raises(ImageError, match=r"later\.png: there is no such file") as caught:
            await cache.get(path, KEEP)
        assert caught.value.kind == "missing"
        file("later.png", PLAIN)
        assert (await cache.get(path, KEEP)).data == PLAIN


@in_a_loop
async def test_what_is_no_file(file: File, tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    under_a_file = file("picture.png", PLAIN) + "/other.png"
    async with open_cache() as cache:
        for path, kind in (
            (str(tmp_path), "unreadable"),
            (pipe, "unreadable"),
            ("nul\0.png", "unreadable"),
            ("x" * 5000, "unreadable"),
            ("", "missing"),
            (under_a_file, "missing"),
        ):
            with pytest.raises(ImageError) as caught:
                await cache.get(path, KEEP)
            assert caught.value.kind == kind


@in_a_loop
async def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a sparse file of 1 TiB
    async with open_cache() as cache:
        with pytest.raises(ImageError, match="1,099,511,627,776 bytes is too large") as caught:
            await cache.get(str(path), KEEP)
        assert caught.value.kind == "too_large"


@in_a_loop
async def test_a_folder_that_cannot_be_used_is_the_runs_error_not_the_pictures(file: File) -> None:
    path, blocked = file("picture.png", ALPHA), Path(file("blocked", b""))
    async with open_cache(blocked) as cache:
        with pytest.raises(RunError, match="the picture cache"):
            await cache.get(path, KEEP)


# --------------------------------------------------------------------------------------------------------------------
# Threads


def worker_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("assay-images")]


@in_a_loop
async def test_close_frees_the_threads(file: File) -> None:
    plain, alpha = file("plain.png", PLAIN), file("alpha.png", ALPHA)
    async with open_cache() as cache:
        await cache.get(plain, KEEP)
        assert worker_threads() == []  # none for what passes through
        await cache.get(alpha, KEEP)
        assert worker_threads()
    assert worker_threads() == []
    cache.close()
    with pytest.raises(RuntimeError, match="closed"):
        await cache.get(plain, KEEP)


def test_one_cache_outlives_its_event_loop(file: File) -> None:
    path = file("picture.png", ALPHA)
    cache = ImageCache(folder=None)
    try:
        first = asyncio.run(cache.get(path, KEEP))
        assert asyncio.run(cache.get(path, KEEP)) is first
    finally:
        cache.close()
    assert opened(first.data).mode == "RGB"
