"""Which test proves which row of the specification, and which reported fault.

``EQ-`` rows are about elastic quotas, ``CS-`` about gangs, ``E2E-`` about whole decisions; ``C``
numbers are faults that users of cluster schedulers reported, with the right answer.
"""

_RUNTIME = "tests/models/test_quota.py::"
_ADMIT = "tests/models/test_quota_admission.py::"
_RESOLVE = "tests/models/test_quota_structure.py::test_quota_of_a_pod"
_GANG_SPEC = "tests/models/api/test_gangs.py::"
_GANGS = "tests/scenarios/test_gang_cases.py::"
_QUOTAS = "tests/scenarios/test_quota_cases.py::"
_SCHEDULER = "tests/scenarios/test_scheduler_cases.py::"
_CARDS = "tests/scenarios/test_card_cases.py::"
_REPEAT = "tests/scenarios/test_determinism.py::"

REQUIRED = frozenset(
    [f"EQ-R{k}" for k in range(1, 21)]
    + [f"EQ-A{k}" for k in range(1, 11)]
    + [f"CS-{k}" for k in (1, *range(6, 16))]
    + ["E2E-5", "E2E-6"]
    + [f"C{k:02}" for k in (4, 5, 7, 9, 10, 11, 12, 13, 15, 17, 18, 20)]
    + [f"C{k}" for k in (27, 28, 29, 30, 31, 76, 79, 85)]
)
"""What must have a test."""

_QUOTA_ROWS: dict[str, tuple[str, ...]] = {
    **{
        f"EQ-R{k}": (f"{_RUNTIME}test_capacity_is_shared[EQ-R{k}]",)
        for k in (*range(1, 10), *range(11, 18))
    },
    "EQ-R10": (f"{_RUNTIME}test_guaranteed_usage_counts_as_min",),
    "EQ-R18": (f"{_RUNTIME}test_runtime_of_a_parent_is_the_capacity_of_its_children",),
    "EQ-R19": (f"{_RUNTIME}test_parent_sees_a_request_only_up_to_max",),
    "EQ-R20": (f"{_RUNTIME}test_mins_are_scaled_in_proportion",),
    "EQ-A1": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A1]",
        f"{_QUOTAS}test_eq_a1_a2_pod_fits_the_runtime_or_not[10-True]",
    ),
    "EQ-A2": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A2]",
        f"{_QUOTAS}test_eq_a1_a2_pod_fits_the_runtime_or_not[11-False]",
    ),
    "EQ-A3": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A3]",
        f"{_QUOTAS}test_eq_a3_resource_without_a_max_is_not_limited",
    ),
    "EQ-A4": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A4]",
        f"{_QUOTAS}test_eq_a4_max_limits_where_runtime_quotas_are_off",
    ),
    "EQ-A5": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A5]",
        f"{_QUOTAS}test_eq_a5_pod_that_may_not_be_preempted_must_fit_into_min",
    ),
    "EQ-A6": (
        f"{_ADMIT}test_pod_is_admitted_into_its_quota[EQ-A6]",
        f"{_QUOTAS}test_eq_a6_min_without_a_resource_does_not_bind_it",
    ),
    "EQ-A7": (
        f"{_ADMIT}test_ancestors_are_checked",
        f"{_QUOTAS}test_eq_a7_ancestors_are_always_checked",
    ),
    **{
        f"EQ-A{k}": (
            f"{_RESOLVE}[EQ-A{k}]",
            f"{_QUOTAS}test_eq_a8_to_a10_pod_is_charged_to_its_quota[EQ-A{k}]",
        )
        for k in (8, 9, 10)
    },
}

_LATE = f"{_GANGS}test_cs6_to_cs8_late_member_starts_alone_unless_only_the_waiting_count"

_GANG_ROWS: dict[str, tuple[str, ...]] = {
    "CS-1": (f"{_GANGS}test_cs1_gang_below_its_minimum_of_pods_waits",),
    "CS-6": (
        f"{_GANGS}test_cs6_minimum_starts_in_one_step_and_the_third_member_follows",
        f"{_LATE}[once-satisfied-True]",
    ),
    "CS-7": (f"{_LATE}[only-waiting-False]",),
    "CS-8": (f"{_LATE}[waiting-and-running-True]",),
    "CS-9": (f"{_GANGS}test_cs9_gangs_of_a_group_start_together",),
    "CS-10": (f"{_GANGS}test_cs10_group_that_lists_an_unknown_gang_waits_for_it",),
    "CS-11": (
        f"{_GANGS}test_cs11_member_that_is_made_anew_starts_alone",
        f"{_GANGS}test_cs11_gang_whose_members_have_finished_counts_as_satisfied",
    ),
    "CS-12": (
        f"{_GANG_SPEC}test_cs_12_unreadable_minimum_leaves_the_gang_uninitialised[x]",
        f"{_GANGS}test_cs12_gang_without_a_readable_minimum_waits[x]",
    ),
    "CS-13": (
        f"{_GANG_SPEC}test_cs_13_total_is_at_least_the_minimum[2-3]",
        f"{_GANGS}test_cs13_total_below_the_minimum_changes_nothing",
    ),
    "CS-14": (
        f"{_GANG_SPEC}test_cs_14_waiting_time",
        f"{_GANGS}test_cs14_waiting_time_holds_nobody_back",
    ),
    "CS-15": (
        f"{_GANG_SPEC}test_cs_15_label_of_the_pod_group_wins",
        f"{_GANGS}test_cs15_pod_group_label_outranks_the_annotation",
    ),
    "E2E-5": (f"{_GANGS}test_e2e5_gang_starts_with_its_minimum_and_grows_when_there_is_room",),
    "E2E-6": (f"{_GANGS}test_e2e6_members_that_fit_name_the_one_they_wait_for",),
}

_FAULTS: dict[str, tuple[str, ...]] = {
    "C04": (
        f"{_SCHEDULER}test_c04_new_revision_is_spread_by_itself_where_the_revision_is_a_label_key",
        f"{_SCHEDULER}test_c04_plain_selector_counts_old_pods_too",
        f"{_SCHEDULER}test_c04_three_to_nothing_is_legal_only_where_old_pods_count",
    ),
    "C05": (
        f"{_SCHEDULER}test_c05_sidecars_count_beside_the_app_and_after_them_beside_plain_init",
        f"{_SCHEDULER}test_c05_node_with_4200m_free_does_not_take_app_and_sidecar",
    ),
    "C07": (
        f"{_QUOTAS}test_c07_full_quota_of_high_priority_pods_starves_nobody_else",
        f"{_REPEAT}test_c07_full_quota_costs_its_pods_one_check",
    ),
    "C09": (
        f"{_ADMIT}test_first_pod_of_a_fresh_quota_is_admitted",
        f"{_QUOTAS}test_c09_first_pod_of_a_fresh_quota_is_admitted",
    ),
    "C10": (
        f"{_ADMIT}test_children_never_exceed_the_parent",
        f"{_QUOTAS}test_c10_children_together_stay_within_the_parent",
        f"{_QUOTAS}test_c10_runtime_of_children_never_sums_to_more_than_the_parent",
        f"{_QUOTAS}test_c10_a_quota_that_its_parent_keeps_short_names_the_parent",
    ),
    "C11": (
        f"{_QUOTAS}test_c11_pod_is_bound_in_the_cycle_after_its_runtime_rose",
        f"{_QUOTAS}test_c11_departure_in_another_quota_raises_the_runtime",
    ),
    "C12": (f"{_QUOTAS}test_c12_request_of_one_child_lowers_what_the_other_may_use",),
    "C13": (
        f"{_ADMIT}test_use_of_the_built_in_quotas_is_deducted_once",
        f"{_QUOTAS}test_c13_use_of_the_default_quota_is_taken_off_once",
    ),
    "C15": (f"{_GANGS}test_c15_one_of_two_gang_groups_starts_whole_and_the_other_not_at_all",),
    "C17": (
        f"{_GANGS}test_c17_repair_of_a_running_gang_outranks_a_newcomer_of_equal_priority",
        f"{_QUOTAS}test_c17_repair_comes_before_a_quota_that_uses_less_of_its_share",
    ),
    "C18": (
        f"{_GANGS}test_c18_gang_starts_in_the_first_cycle_after_its_last_member_came",
        f"{_GANGS}test_c18_second_half_of_a_gang_group_may_come_after_half_an_hour",
    ),
    "C20": (
        f"{_GANGS}test_c20_gang_larger_than_its_quota_does_not_start_at_all",
        f"{_GANGS}test_c20_members_beyond_the_minimum_wait_as_elastic",
        f"{_GANGS}test_c20_head_and_workers_as_a_gang_group_start_with_the_head",
    ),
    "C27": (f"{_CARDS}test_c27_whole_card_is_all_of_whichever_card_is_given",),
    "C28": (
        f"{_CARDS}test_c28_free_is_what_healthy_cards_have_left",
        f"{_CARDS}test_c28_unhealthy_card_is_never_chosen",
    ),
    "C29": (f"{_CARDS}test_c29_cards_are_booked_where_the_pod_is_and_only_while_it_is",),
    "C30": (
        f"{_CARDS}test_c30_memory_of_a_card_is_given_in_whole_pieces",
        f"{_CARDS}test_c30_bookings_of_the_same_cycle_count",
    ),
    "C31": (f"{_CARDS}test_c31_two_containers_with_a_card_each_get_two_cards",),
    "C76": ("tests/models/test_units.py::test_quantity_is_exact_and_rounds_away_from_zero",),
    "C79": (f"{_REPEAT}test_c79_twenty_runs_on_shuffled_input_give_one_plan",),
    "C85": (
        f"{_REPEAT}test_c85_cost_follows_the_arrivals_and_not_what_runs",
        f"{_REPEAT}test_c85_identical_pods_are_one_class",
    ),
}

TESTS: dict[str, tuple[str, ...]] = {**_QUOTA_ROWS, **_GANG_ROWS, **_FAULTS}
"""Node ids by row or fault; an id without brackets stands for every case of a test."""
