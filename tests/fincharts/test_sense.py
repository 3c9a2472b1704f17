"""What an analyst would stumble over: things that can't have a measure, odd values, questions that read badly, options
that give the answer away."""

import re
from collections import Counter
from datetime import date
from importlib.util import find_spec
from itertools import combinations, pairwise
from random import Random

import pytest

from assay.fincharts.ask.build import operations
from assay.fincharts.ask.wording import Wording
from assay.fincharts.chance import dice, numbers
from assay.fincharts.charts import load_kind
from assay.fincharts.draw import Fonts, drawn
from assay.fincharts.item import Ask, Chart, Item, Row, Table
from assay.fincharts.making import Making
from assay.fincharts.numbers import quantity
from assay.fincharts.series import sessions
from assay.fincharts.words import phrases, vocabulary
from support.finchart_items import of_every_kind

YEARS = (date(2012, 1, 1), date(2025, 12, 31))
LEAP = (date(2024, 2, 29), date(2025, 2, 28))
COMPANIES = set(vocabulary().names["companies"].en)


def making(domain: str, seed: object = 0, *, language: str = "en", window: tuple[date, date] = YEARS) -> Making:
    return Making(dice(seed), numbers(seed), language=language, domain=domain, window=window)


def made(kind: str, domain: str, count: int, *, language: str = "en", window: tuple[date, date] = YEARS) -> list[Chart]:
    """So many charts of a kind, without questions."""
    return [load_kind(kind).make(making(domain, seed, language=language, window=window)) for seed in range(count)]


def chart(at: str, *, language: str = "en", noun: str, columns: tuple[str, ...], ordered: bool, subject: str) -> Chart:
    """A chart of one row with the values 1, 2, 3, ..."""
    row = Row(
        name="Row",
        subject=subject,
        values=tuple(float(place + 1) for place in range(len(columns))),
        unit="%",
        wrong_unit="bp",
        decimals=0,
        tolerance=0.1,
    )
    table = Table(
        rows=(row,),
        columns=columns,
        at=at,
        noun=noun,
        row_noun="series",
        ordered=ordered,
        asked=tuple(range(len(columns))),
    )
    return Chart(
        chart_class="Line",
        kind="line",
        title="",
        caption="",
        source="",
        language=language,
        domain="TMT",
        asset_class="Equity",
        measure="",
        table=table,
    )


def wordings(of: Chart, ask: Ask, *, claim: bool = False) -> set[str]:
    """All ways in which it is asked or claimed."""
    words = [Wording(of, Random(seed)) for seed in range(30)]
    return {each.claim(ask) if claim else each.ask(ask) for each in words}


# --------------------------------------------------------------------------------------------------------------------
# How it reads

FIRMS = chart("for {}", noun="company", columns=("Kestrel", "Marlow", "Orvado"), ordered=False, subject="the margin")
TIMES = chart("in {}", noun="year", columns=("2019", "2020", "2021E"), ordered=True, subject="the margin")
STAGES = chart(
    "at the stage {}", noun="stage", columns=("Leads", "Offers", "Deals"), ordered=False, subject="the number"
)
SESSIONS = chart("on {}", noun="day", columns=("3 Jan", "6 Jan", "7 Jan"), ordered=True, subject="the close")


def test_things_and_times_are_spoken_of_with_their_own_prepositions() -> None:
    above = Ask(op="count_above", rows=(0,), number=2.0)
    assert "For how many of the companies shown was the margin above 2%?" in wordings(FIRMS, above)
    assert "In how many of the years shown was the margin above 2%?" in wordings(TIMES, above)
    assert "At how many of the stages shown was the number above 2%?" in wordings(STAGES, above)
    assert "In how many of the sessions shown was the close above 2%?" in wordings(SESSIONS, above)
    total = Ask(op="total", rows=(0,), columns=(0, 1, 2))
    assert "What was the margin across Kestrel, Marlow and Orvado taken together?" in wordings(FIRMS, total)
    assert "What was the margin over 2019, 2020 and 2021E taken together?" in wordings(TIMES, total)
    always = Ask(op="always_above", rows=(0,), number=0.0)
    assert wordings(FIRMS, always, claim=True) == {"The margin was above 0% for every company shown."}
    never = Ask(op="never_above", rows=(0,), number=5.0)
    assert wordings(TIMES, never, claim=True) == {"The margin did not exceed 5% in any year shown."}


def test_only_what_runs_through_time_has_peaks_and_low_points() -> None:
    for op in ("maximum", "minimum", "span"):
        for words in wordings(FIRMS, Ask(op=op, rows=(0,))):
            assert not re.search("peak|low point|range|reaches", words)
    assert "What was the peak of the margin over the range shown?" in wordings(TIMES, Ask(op="maximum", rows=(0,)))


def test_one_of_a_unit_is_not_several() -> None:
    assert quantity(1, 0, "percentage points") == "1 percentage point"
    assert quantity(-1, 0, "points") == "-1 point"
    assert quantity(1, 1, "percentage points") == "1.0 percentage points"
    assert quantity(2, 0, "years") == "2 years"
    assert quantity(1, 0, "mn units") == "1 mn units"


def test_names_that_need_an_article_have_one_in_a_sentence() -> None:
    words = phrases("en")
    assert words.fill("the exports of {s} rose", {"s": "United States"}) == "The exports of the United States rose"
    assert words.fill("{s} and {t}", {"s": "revenue of Oceania", "t": "Middle East"}).endswith("and the Middle East")
    assert words.fill("{s}: exports", {"s": "United States"}) == "United States: exports"


def test_chinese_puts_years_months_and_things_where_they_belong() -> None:
    years = chart("{}年", language="zh", noun="year", columns=("2019", "2020", "2021E"), ordered=True, subject="净利率")
    above = Ask(op="column_above", rows=(0,), columns=(1, 0))
    assert wordings(years, above, claim=True) == {"2020年净利率高于2019年。"}
    assert wordings(years, Ask(op="is_above", rows=(0,), columns=(2,), number=2.0), claim=True) == {
        "2021E净利率高于2%。"
    }
    firms = chart("{}的", language="zh", noun="company", columns=("甲", "乙", "丙"), ordered=False, subject="净利率")
    assert wordings(firms, above, claim=True) == {"乙的净利率高于甲。"}
    assert wordings(firms, Ask(op="peaks_at", rows=(0,), columns=(2,)), claim=True) == {"各公司中，丙的净利率最高。"}
    drivers = chart(
        "{}", language="zh", noun="driver", columns=("甲", "乙", "丙"), ordered=False, subject="对收入的贡献"
    )
    total = Ask(op="total", rows=(0,), columns=(0, 1, 2))
    assert "甲、乙和丙对收入的贡献合计是多少？" in wordings(drivers, total)


def test_chinese_charts_have_no_english_words_in_them() -> None:
    """But for names that are written so: tickers of states, P/E and the like in capitals, `bp`."""
    for item in of_every_kind("zh"):
        texts = (
            item.chart.title,
            item.chart.source,
            *item.chart.table.columns,
            item.question.text,
            item.question.related,
        )
        for text in texts:
            assert not re.search(r"[a-z]{2,}|E年", text.replace("bp", "")), text
    titles = [found.title for found in made("market shares", "TMT", 12, language="zh", window=LEAP)]
    assert all(re.match(r"2024Q[34]市场份额|2024Q2市场份额", title) for title in titles)


# --------------------------------------------------------------------------------------------------------------------
# What can be so


def test_things_have_only_measures_that_they_can_have() -> None:
    words, tmt = vocabulary().measures, making("TMT")
    assert tmt.groups(words["revenue"]) == ("companies", "tech", "regions")
    assert tmt.groups(words["revenue"], words["pe"]) == ("companies",)
    assert tmt.groups(words["policy_rate"], words["npl"]) == ()
    macro = making("Macroeconomic Research")
    for _ in range(20):
        partner = macro.partner((words["policy_rate"],), "rate", "price")
        assert partner is not None
        assert "countries" in macro.groups(words["policy_rate"], partner)


def test_companies_have_no_growth_of_gross_domestic_product() -> None:
    for kind in ("positions", "scatter", "peer table", "dual-axis line"):
        for found in made(kind, "Macroeconomic Research", 15):
            shown = {*found.table.columns, *found.title.split(":")[:1]}
            assert not shown & COMPANIES, found.title


def test_other_sentences_are_about_other_things_that_can_have_the_measure() -> None:
    for item in of_every_kind():
        related = item.question.related
        shown = " ".join((item.chart.title, *(row.name for row in item.chart.table.rows), *item.chart.table.columns))
        if item.chart.domain == "Macroeconomic Research":
            assert not [name for name in COMPANIES if name in related and name not in shown], related
        others = re.findall(
            r"(?:puts|with|sees|report,) the [^.]*? of (?:the )?([A-Z][\w ]*?) (?:at|expected|stood)", related
        )
        assert not {*others} & {row.name for row in item.chart.table.rows}
        assert not {*others} & set(item.chart.table.columns)


def test_markets_are_shared_by_what_is_sold_and_not_by_what_is_spent() -> None:
    for domain in vocabulary().domains:
        for kind in ("market shares", "concentration"):
            for found in made(kind, domain, 3):
                assert not re.search("expenditure|R&D|inventory|capitalisation|profit|export|investment", found.title)


def test_maps_are_in_money_that_is_paid_there() -> None:
    seen: set[str] = set()
    for domain in ("Consumer", "Macroeconomic Research", "Broad Asset Allocation"):
        for kind in ("tile map", "bubble map"):
            for found in made(kind, domain, 12):
                unit, where = found.table.rows[0].unit, found.title.split(":")[0]
                seen.add(where)
                assert "policy rate" not in found.title
                if where == "Europe":
                    assert "CNY" not in unit
                if where == "United States":
                    assert "CNY" not in unit
                    assert "EUR" not in unit
    assert seen == {"Europe", "United States", "Chinese provinces"}


def test_yields_rise_with_the_tenor_and_spreads_with_the_risk() -> None:
    checked = 0
    for kind in ("horizontal bar", "peer table"):
        for found in made(kind, "Fixed Income Quantitative", 25):
            for row in found.table.rows:
                if row.name in ("Yield", "Credit spread"):
                    assert list(row.values) == sorted(row.values)
                    checked += 1
    assert checked > 10


def test_policy_rates_move_in_quarters_of_a_point() -> None:
    checked = 0
    for kind in ("line", "bar", "step line", "horizontal bar"):
        for found in made(kind, "Macroeconomic Research", 25):
            if "policy rate" in found.title.lower():
                values = [value for row in found.table.rows for value in row.values]
                assert all(value >= 0.25 and (4 * value).is_integer() for value in values)
                checked += 1
    assert checked >= 25


def test_what_is_counted_by_the_hundred_is_there_by_the_hundred() -> None:
    for domain in vocabulary().domains:
        for found in made("histogram", domain, 3):
            assert found.table.rows[0].name.removeprefix("Number of ") in ("companies", "bonds", "funds", "months")


def test_a_loss_is_as_grave_as_its_cause() -> None:
    """A recession takes 6 to 16 % of a portfolio, a rise of the dollar by 10 % takes 0.6 to 4.5."""
    for found in made("stress test", "TMT", 30):
        losses = dict(zip(found.table.columns, found.table.rows[0].values, strict=True))
        assert all(-16 <= loss < 0 for loss in losses.values())
        if {"Recession", "USD +10%"} <= losses.keys():
            assert losses["Recession"] < losses["USD +10%"]


def test_steps_do_not_lie_on_one_another() -> None:
    for found in made("step line", "TMT", 20):
        for one, other in combinations(found.table.rows, 2):
            assert sum(a == b for a, b in zip(one.values, other.values, strict=True)) <= 1


def test_exchanges_rest_on_new_year_and_christmas() -> None:
    days = sessions(date(2019, 12, 1), date(2020, 12, 31), 60, 0.0)
    assert date(2019, 12, 24) in days
    assert date(2019, 12, 25) not in days
    assert date(2020, 1, 1) not in days


def test_returns_by_month_are_of_portfolios_where_the_window_has_no_three_years() -> None:
    for found in made("return calendar", "TMT", 10, window=LEAP):
        assert all("portfolio" in row.name or row.name in ("Benchmark", "Risk parity") for row in found.table.rows)
        assert "2024-03-01" <= found.start <= found.end <= "2025-02-28"
        assert len(found.table.columns) >= 6
    for found in made("return calendar", "TMT", 5):
        assert all(row.name.isdigit() for row in found.table.rows)


@pytest.mark.parametrize("kind", ["income statement", "cash flows", "asset structure"])
def test_companies_report_by_the_quarter_at_most(kind: str) -> None:
    for found in made(kind, "TMT", 8, window=LEAP):
        assert found.table.noun == "quarter"


def test_bubbles_say_what_their_sizes_are_in() -> None:
    for found in made("bubble", "Consumer", 12):
        assert found.title.endswith(f", {found.table.rows[2].unit})")


def test_two_lines_carry_their_values_only_where_there_is_room() -> None:
    both = 0
    for domain in ("TMT", "Macroeconomic Research", "Consumer"):
        for found in made("line", domain, 60):
            if found.labelled and len(found.table.rows) > 1:
                upper, lower = sorted((row.values for row in found.table.rows), reverse=True)
                assert len(found.table.rows) == 2
                assert all(a > b for a, b in zip(upper, lower, strict=True))
                both += 1
    assert both > 3


# --------------------------------------------------------------------------------------------------------------------
# Options and tolerances


def claims(item: Item) -> list[Ask]:
    return [choice.claim for choice in item.question.choices if choice.claim is not None]


def test_no_two_options_say_the_opposite_of_one_another() -> None:
    """One of such a pair would have to be right."""
    for item in of_every_kind():
        if item.question.operation not in ("claims", "best_claim"):
            continue
        for one, other in combinations(claims(item), 2):
            ops = {one.op, other.op}
            same_rows, same_columns = one.rows == other.rows, one.columns == other.columns
            assert not (ops <= {"is_above", "is_below", "is_about"} and same_rows and same_columns)
            assert not (ops == {"ends_higher", "ends_lower"} and same_rows)
            assert not (ops == {"column_above"} and same_rows and one.columns == other.columns[::-1])
            assert not (ops == {"row_above"} and one.rows == other.rows[::-1] and same_columns)


def test_thresholds_are_such_as_somebody_would_name() -> None:
    seen: Counter[str] = Counter()
    for item in of_every_kind():
        for claim in claims(item):
            seen[claim.op] += 1
            number, unit = claim.number or 0.0, item.chart.table.rows[claim.rows[0]].unit if claim.rows else ""
            if claim.op in ("rose_more", "gap_more", "excess_more", "grew_more", "ranges_over"):
                assert number > 0
            if claim.op in ("sum_more", "total_more") and unit == "%":
                assert number < 100
            if claim.op == "is_about":
                assert number != 0
    assert seen["excess_more"] > 20
    assert seen["sum_more"] > 5


def test_levels_are_compared_with_what_is_in_the_picture() -> None:
    """Nobody asks whether an index that moves between 3,060 and 3,140 was above 2,700."""
    seen = 0
    for item in [item for item in of_every_kind() if item.question.operation in ("claims", "best_claim")]:
        for claim in claims(item):
            if claim.op in ("is_above", "is_below", "always_above", "never_above", "mean_above"):
                values = item.chart.table.rows[claim.rows[0]].values
                axes = [axis for axis in (item.chart.left, item.chart.right) if axis is not None]
                reach = max([max(values) - min(values), *(axis.high - axis.low for axis in axes)])
                assert min(values) - reach <= (claim.number or 0.0) <= max(values) + reach
                if item.chart.kind == "k-line":
                    slack = 0.31 * (max(values) - min(values))
                    assert min(values) - slack <= (claim.number or 0.0) <= max(values) + slack
                    seen += 1
    assert seen > 3


def test_growth_of_a_percentage_is_not_asked_for() -> None:
    """A share that went from 20 to 25 % grew by 5 points or by 25 percent, as one likes."""
    for found in made("100% bar", "TMT", 6):
        assert found.table.ratio
        for level in ("Fine-grained Perception", "Cognition and Reasoning", "Comprehensive Perception"):
            assert not {"growth", "cagr"} & set(operations("numerical", level, found))
    assert "growth" in operations("numerical", "Cognition and Reasoning", made("stacked bar", "TMT", 1)[0])


def test_printed_values_are_to_be_read_exactly() -> None:
    checked = 0
    for item in of_every_kind():
        question = item.question
        if item.chart.labelled and question.type == "numerical" and question.operation == "value":
            digits = len(question.answer.partition(".")[2])
            assert question.tolerance == pytest.approx(0.5 * 10.0**-digits)
            checked += 1
    assert checked > 10


def test_no_tolerance_is_more_than_a_quarter_of_a_change() -> None:
    for item in of_every_kind():
        question = item.question
        if question.type == "numerical" and question.operation in ("change", "growth", "cagr", "gap", "excess", "span"):
            assert question.tolerance is not None
            assert question.value is not None
            assert question.tolerance <= 0.26 * abs(question.value)


def test_options_are_further_apart_than_a_rounding() -> None:
    for item in of_every_kind():
        shown = [choice for choice in item.question.choices if choice.value is not None and choice.why != "wrong unit"]
        if item.question.operation.startswith("count") or not shown:
            continue
        places = {len(re.findall(r"-?[\d,]+\.?(\d*)", choice.text)[0]) for choice in shown}
        assert len(places) == 1
        for one, other in combinations(sorted(choice.value or 0.0 for choice in shown), 2):
            assert other - one >= 2.4 * 10.0 ** -max(places)


def test_the_highest_value_is_told_from_other_values_of_the_chart() -> None:
    found = Counter(
        choice.why
        for item in of_every_kind()
        if item.question.operation in ("maximum", "minimum")
        for choice in item.question.choices
    )
    assert found["next in rank"] + found["other end of the ranking"] > 10


# --------------------------------------------------------------------------------------------------------------------
# How it looks


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("matplotlib", "mplfinance", "six")), reason="needs the extra `charts`"
)
def test_heads_of_a_table_do_not_touch() -> None:
    from matplotlib.text import Text

    for item in [item for item in of_every_kind() if item.chart.kind == "peer table"][:3]:
        canvas = drawn(item, Fonts(families=("DejaVu Sans",)))
        renderer = canvas.figure.canvas.get_renderer()
        heads = {row.name for row in item.chart.table.rows}
        texts = [text for text in canvas.ax.findobj(Text) if text.get_text().replace("\n", " ").split(" (")[0] in heads]
        assert len(texts) == len(heads)
        boxes = sorted((text.get_window_extent(renderer) for text in texts), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
