"""Every fault that users of peer tools reported and that concerns what exists here: which test answers it, or why none.

`ANSWERED` names the tests of each case; the case's number stands in such a test, above it, or in its table. `NOT_HERE`
says what the product lacks for a case to concern it: when that is built, the case moves up.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

KINDS = {
    "cache-correctness",
    "choice-extraction",
    "concurrency",
    "cost",
    "image-handling",
    "judge-failures",
    "judge-logprobs",
    "math-equivalence",
    "memory",
    "numeric-and-units",
    "prm-and-steps",
    "rate-limits-and-retries",
    "reproducibility",
    "resume-and-lost-results",
    "scoring-parity",
    "statistics",
    "thinking-and-truncation",
    "usability",
    "vlm-training-and-prefill",
}
KINDS_NOT_HERE = {
    "annotation-agreement": "nothing is annotated by people; what carries over to judges is in mark/test_agreement.py",
    "annotation-export": "nothing is annotated by people",
    "multi-gpu-and-node": "nothing is run on several machines",
}

# A test -> the cases that it answers. A case may have several.
ANSWERED = {
    # What a reply says: choices, numbers, expressions.
    "mark/test_reported_choice_number.py::test_reported_choice": (
        "001 002 005 008 009 010 011 012 013 014 015 016 017 018 019 020 021 023 024 025 027 028 031 032 033 "
        "034 035 037 095 096 098"
    ),
    "mark/test_reported_choice_number.py::test_reported_number": (
        "070 071 073 074 076 077 078 079 080 081 082 084 085 086 088 089 092 093 094 098"
    ),
    "mark/test_expression.py::test_reported_case": (
        "038 040 042 044 046 047 048 049 050 051 052 053 054 056 057 058 060 061 063 064 065 067"
    ),
    "mark/test_expression.py::test_percent_by_the_item": "043",
    # Thinking and cut replies.
    "models/test_wire.py::test_answer_and_thinking": "098 099 100 101",
    "mark/test_summary.py::test_status": "099 100 101",
    "solve/test_policy.py::test_a_solution_keeps_finish_thinking_and_tokens_apart_from_its_steps": "098 101",
    # Numbers that can be compared with published ones.
    "report/test_board.py::test_each_number_has_a_recipe": "102 104",
    "benchmarks/test_mathverse.py::test_case_103_the_name_of_a_score_lists_its_versions": "103",
    "cli/test_extractions.py::test_case_103_the_version_stands_in_the_name_of_the_score": "103",
    "cli/test_extractions.py::test_case_105_a_part_of_the_questions_is_printed_with_the_score": "105",
    "judging/test_asking.py::test_case_106_prompts_have_hashes": "106",
    "judging/test_reading.py::test_case_106_who_judged_stands_with_every_mark_and_in_the_manifest": "106",
    "judging/test_reading.py::test_case_106_several_judges_are_kept_side_by_side": "106",
    "judging/test_reading.py::test_case_107_a_judge_stands_beside_the_rules_and_changes_neither": "107",
    "cli/test_extractions.py::test_case_109_a_prompt_has_a_hash_that_runs_record": "109",
    "benchmarks/test_mathvista.py::"
    "test_case_110_a_copy_with_other_line_ends_is_another_revision_with_the_same_prompts": "110",
    "benchmarks/test_mathvista.py::test_case_112_choices_that_the_official_prompt_lists_otherwise_are_reported": "112",
    "benchmarks/test_mathverse.py::test_case_113_a_judge_gets_the_question_that_the_prompt_must_not_show": "113",
    "judging/test_asking.py::test_case_113_a_judge_sees_the_question_that_stands_in_the_picture": "113",
    "cli/test_eval.py::test_cases_115_and_116_the_size_of_pictures_is_ours_and_on_record": "115 116",
    "judging/test_reading.py::test_case_117_an_extractor_that_would_change_nothing_is_refused": "117",
    "mark/test_finscore.py::test_118_finscore_by_hand": "118",
    # Runs: what is lost, paid, kept.
    "engine/test_engine_cases.py::test_case": (
        "120 121 122 124 125 126 127 129 130 131 133 134 136 186 187 188 190 191 192 194 195 200 206 207 208 "
        "209 214 216"
    ),
    "models/test_local.py::test_one_bad_request_does_not_spoil_the_batch": "171 208",
    # Judges.
    "judging/test_asking.py::test_only_a_verdict_in_the_form_asked_for_is_one": "137 138 139 140 141",
    "judging/test_reading.py::test_case_137_a_judge_without_a_verdict_makes_no_sample_wrong_or_failed": "137",
    "cli/test_judge.py::test_case_143_eval_with_a_judge_at_any_address": "143",
    # Critics: probabilities of labels, scores of steps.
    "solve/test_judgement.py::test_probabilities": "145 148 150",
    "models/test_wire.py::test_token_alignment": "146",
    "solve/test_generative.py::test_a_critique_that_a_server_takes_for_thinking": "146",
    "solve/test_generative.py::test_the_request": "149",
    "solve/test_generative.py::test_scores_from_log_probabilities": "152",
    "solve/test_step_token.py::test_one_step_without_a_verdict_leaves_the_solution_unjudged": "154 161",
    "solve/test_step_token.py::test_scores": "155",
    "solve/test_step_token.py::test_the_threshold_is_an_option": "158",
    "solve/test_reported_search.py::test_161_a_failed_call_gives_no_zeros": "161",
    "solve/test_reported_search.py::test_162_each_rule_by_its_name": "162",
    "solve/test_reported_search.py::test_163_what_is_no_score_never_wins": "163",
    "solve/test_reported_search.py::test_164_votes": "164",
    "solve/test_reported_search.py::test_165_the_rule_that_was_asked_for": "165",
    "solve/test_reported_search.py::test_165_k_of_n_are_subsets_not_the_first": "165",
    "cli/test_search_eval.py::test_the_whole_pool_is_kept": "167",
    "solve/test_reported_search.py::test_168_every_draw_has_a_seed_of_its_own": "168",
    # Critics on labelled steps.
    "train/test_process_report.py::test_case_157_f1_is_the_harmonic_mean_of_two_accuracies": "157",
    "train/test_process_report.py::test_case_158_the_threshold_comes_from_other_solutions": "158",
    "train/test_process_report.py::test_case_161_what_is_unjudged_is_counted_and_never_a_zero": "161",
    "train/test_process_report.py::test_case_162_every_rule_is_reported_by_name": "162",
    "train/test_process_report.py::test_case_163_what_is_no_probability_is_no_verdict": "163",
    "train/test_process_report.py::test_case_165_rules_differ": "165",
    "train/test_preflight.py::test_case_154_every_row_has_tokens_that_the_loss_falls_on": "154",
    "train/test_preflight.py::test_case_155_verdict_words_are_found_in_their_context": "155",
    "train/test_preflight.py::test_cases_170_171_a_row_that_is_too_long_is_refused_or_left_out_never_cut": "170 171",
    "cli/test_prm_eval.py::test_case_169_visualprocessbench_by_hand": "169",
    # Training data and training.
    "cli/test_prm_rollouts.py::test_the_file_stands_alone": "166 167",
    "cli/test_prm_rollouts.py::test_every_completion_is_kept": "167 168",
    "cli/test_prm_rollouts.py::test_a_server_that_ignores_seeds_is_found_out": "168",
    "train/test_filter.py::test_case_168_equal_draws_are_found_and_counted_once": "168",
    # Prefill, templates, and pictures on their way to a model.
    "models/test_local.py::test_pictures_are_never_dropped_in_silence": "170 176",
    "train/test_export.py::test_cases_170_171_175_176_as_many_places_as_pictures_whatever_the_texts_say": (
        "170 171 175 176"
    ),
    "models/test_openai.py::test_prefill_that_the_server_can_not_continue": "174",
    "models/test_local.py::test_a_prefill_is_continued": "174",
    "solve/test_policy.py::test_every_server_gives_the_same_refined_solution": "174 176",
    "models/test_openai.py::test_what_is_not_asked_is_not_sent": "175",
    "models/test_local.py::test_a_template_for_strings_takes_pictures_as_well": "175",
    "models/test_probe.py::test_picture_that_is_dropped_in_silence": "176",
    "images/test_picture_cases.py::test_reported_cases": "177 179 180 181 183 184 185 191 192",
    # What a number is worth.
    "mark/test_stability.py::test_reported_equal_accuracy_other_stability": "201 202 220",
    "benchmarks/test_every_benchmark.py::test_case_203_a_mark_depends_on_the_reply_and_the_sample_alone": "203",
    "mark/test_compare.py::test_218_minimum_detectable_effect": "218",
    "mark/test_compare.py::test_218_benjamini_hochberg_by_hand": "218",
    "mark/test_compare.py::test_218_ranking_with_ties": "218",
    "mark/test_summary.py::test_219_groups_widen_the_interval": "219",
    "mark/test_intervals.py::test_219_clustered_answers_coverage": "219",
    "mark/test_summary.py::test_221_every_aggregate_says_its_n_and_weights": "221",
    # Use without a network, and with one's own data.
    "benchmarks/test_data.py::test_the_hubs_cache_is_enough": "241",
    "cli/test_own_eval.py::test_a_table_in_the_layout_of_another_kit_needs_no_code": "242",
}

NOT_HERE = {
    "196": "the memory of an inference server's worker: servers are called over HTTP, no worker is held",
    "197": "an inference server's memory profile: log-probabilities are asked for generated tokens only",
    "199": "a viewer of logs: there is none, and results are read line by line (see 200)",
}


@cache
def sources(file: Path) -> dict[str, str]:
    """Each test's name and source: decorators, the comment above them, and the module's tables that it mentions."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    body = ast.parse(text).body
    tables: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            tables[ast.unparse(target)] = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    found: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min(part.lineno for part in (node, *node.decorator_list)) - 1
            while first and lines[first - 1].startswith("#"):
                first -= 1
            source = "\n".join(lines[first : node.end_lineno])
            found[node.name] = source + "".join(tables[name] for name in set(re.findall(r"\w+", source)) & set(tables))
    return found


def answered() -> set[str]:
    return {case for cases in ANSWERED.values() for case in cases.split()}


@pytest.mark.parametrize("place", ANSWERED)
def test_the_test_that_answers_a_case_exists_and_names_it(place: str) -> None:
    path, name = place.split("::")
    tests = sources(TESTS / path)
    assert name in tests
    assert [case for case in ANSWERED[place].split() if not re.search(rf"(?<!\d){case}(?!\d)", tests[name])] == []


def test_no_reported_case_is_without_an_answer(reported_cases: Path) -> None:
    reported = [json.loads(line) for line in reported_cases.read_text(encoding="utf-8").splitlines()]
    assert {case["kind"] for case in reported} == KINDS | set(KINDS_NOT_HERE)
    ours = {case["id"] for case in reported if case["kind"] in KINDS}
    assert answered() | set(NOT_HERE) == ours
    assert not answered() & set(NOT_HERE)
