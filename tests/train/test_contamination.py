"""Questions of a benchmark among those to be trained on: found by picture, by text, by words in a row; no others."""

from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ImageError
from assay.train.contamination import Against, Measure, Offence
from assay.train.duplicates import Fingerprint
from assay.train.wording import words
from assay.types import Sample

LONG = "In the figure the chord AB of circle O is 8 long and 3 away from O; how long is its radius OA?"
PICTURES = {"circle.png": 0b1111, "square.png": 0b1111 << 30}


def hashed(path: str) -> int:
    if path not in PICTURES:
        raise ImageError("missing", f"{path}: there is no such file")
    return PICTURES[path]


def sample(name: str, question: str, *images: str) -> Sample:
    return Sample(id=name, question=question, images=images, group=name)


def against(*samples: Sample, **changed: int | float) -> Against:
    return Against([("exam", samples)], hashed=hashed, measure=Measure(**changed))  # pyright: ignore[reportArgumentType]


def found(index: Against, text: str, *pictures: int) -> dict[str, tuple[str, ...]]:
    offences = index.offences(Fingerprint(words=words(text), pictures=pictures))
    return {offence.sample_id: offence.rules for offence in offences}


def test_the_same_question_in_other_words_around_it() -> None:
    index = against(sample("1", LONG, "circle.png"))
    assert found(index, f"<image> {LONG.upper()} Give a number.", 0b1111) == {"1": ("picture", "text", "ngram")}
    assert found(index, LONG) == {"1": ("text", "ngram")}
    offence = index.offences(Fingerprint(words=words(LONG), pictures=(0b1110,)))
    assert offence == [
        Offence(
            benchmark="exam",
            sample_id="1",
            rules=("picture", "text", "ngram"),
            why="pictures 1 bits apart, 100% of the words; its 23 words in a row; 13 words in a row: in the figure "
            "the chord ab of circle o is 8 long and",
        )
    ]


def test_a_variant_with_another_number_offends_by_its_picture() -> None:
    index = against(sample("1", "Find the radius of circle O with the chord 8.", "circle.png"))
    assert found(index, "Find the radius of circle O with the chord 10.", 0b1111) == {"1": ("picture",)}
    assert found(index, "Find the radius of circle O with the chord 10.", 0b1111 << 30) == {}
    assert found(index, "Name the colour.", 0b1111) == {}  # another question about the picture


def test_short_questions_need_their_picture() -> None:
    index = against(sample("1", "Find x.", "circle.png"))
    assert found(index, "Find x.") == {}
    assert found(index, "Find x.", 0b1111) == {"1": ("picture",)}


def test_a_question_that_is_all_in_the_picture_goes_by_it() -> None:
    index = against(sample("1", "", "circle.png"))
    assert found(index, "Whatever it says", 0b1111) == {"1": ("picture",)}


def test_a_question_of_eight_words_is_looked_for_word_by_word() -> None:
    index = against(sample("1", "one two three four five six seven eight"))
    assert found(index, "zero one two three four five six seven eight nine") == {"1": ("text",)}
    assert found(index, "one two three four five six seven nine eight") == {}
    assert found(index, "one two three four five six seven") == {}


def test_a_set_phrase_of_the_benchmark_tells_nothing() -> None:
    phrase = " ".join(f"w{number}" for number in range(13))
    samples = [sample(str(number), f"{phrase} number {number}") for number in range(6)]
    # Six of six have it: a set phrase. Of five of them it would not be.
    assert found(against(*samples), f"{phrase} and more") == {}
    assert len(found(against(*samples[:5]), f"{phrase} and more")) == 5


def test_the_length_of_a_run_is_what_was_asked() -> None:
    index = against(sample("1", LONG), ngram=4)
    assert found(index, "the chord AB of my life") == {"1": ("ngram",)}
    assert found(against(sample("1", LONG), ngram=5), "the chord AB of my life") == {}


def test_a_picture_that_can_not_be_read_is_said_and_the_text_counts_still() -> None:
    index = against(sample("1", LONG, "gone.png"))
    assert index.unread == ["exam 1: gone.png: there is no such file"]
    assert found(index, LONG) == {"1": ("text", "ngram")}
    assert (index.counts, index.uncompared) == ({"exam": 1}, {"exam": 0})
    blind = against(sample("1", "Find x.", "gone.png"), sample("2", "Find x.", "circle.png"), sample("3", "Find x."))
    assert (blind.counts, blind.uncompared) == ({"exam": 3}, {"exam": 2})


def test_two_benchmarks_are_told_apart() -> None:
    index = Against([("exam", [sample("1", LONG)]), ("quiz", [sample("1", LONG)])], hashed=hashed, measure=Measure())
    offences = index.offences(Fingerprint(words=words(LONG)))
    assert [(offence.benchmark, offence.sample_id) for offence in offences] == [("exam", "1"), ("quiz", "1")]


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=12)


@given(WORDS, st.lists(WORDS, max_size=5))
def test_runs_are_found_as_by_trying_all(own: list[str], others: list[list[str]]) -> None:
    size = 4
    samples = [sample(str(number), " ".join(other)) for number, other in enumerate(others)]
    index = against(*samples, ngram=size, least_words=3)

    def runs(text: list[str], length: int) -> set[tuple[str, ...]]:
        return {tuple(text[place : place + length]) for place in range(len(text) - length + 1)}

    wanted: dict[str, tuple[str, ...]] = {}
    for number, other in enumerate(others):
        rules: list[str] = []
        if len(other) >= 3 and tuple(other) in runs(own, len(other)):
            rules.append("text")
        if runs(own, size) & runs(other, size):  # five samples at most: no set phrases
            rules.append("ngram")
        if rules:
            wanted[str(number)] = tuple(rules)
    assert found(index, " ".join(own)) == wanted
