"""What one more of a setting costs: known bytes by process, after each name was asked for, and after reloads."""

from tests.support.configured import (
    BLINDING,
    LEFT,
    LIVE,
    RSS,
    SITE,
    configuration_record,
    configuration_records,
)
from tlsmem.schema.configuration_records import HeapSite
from tlsmem.topics.configuration.table import build, configuration_table, reload_table, site_table


def rows(table):
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def test_one_more_certificate_costs_the_same_bytes_in_each_process():
    (row,) = rows(configuration_table(configuration_records()))
    assert row["library"].text == "OpenSSL 3.5.5"
    assert (row["master_live_bytes"].value, row["worker_live_bytes"].value) == (LIVE, LIVE)
    assert row["asked_live_bytes"].value == LIVE + BLINDING
    assert round(row["rss_anon_bytes"].value) == 2 * RSS  # of master and worker
    assert round(row["pss_anon_bytes"].value) == RSS
    assert round(row["reloaded_rss_anon_bytes"].value) == 2 * (RSS + 2 * LEFT)
    assert row["mapped_shared_bytes"].value == 4096
    assert row["site"].value == {"bytes": SITE, "callers": "ngx_palloc ← ngx_conf"}
    assert not any(cell.note for cell in row.values())


def test_what_grows_otherwise_from_one_size_to_the_next_has_a_note():
    records = [one for one in configuration_records() if one.size < 200 or one.meter != "heap"]
    (row,) = rows(configuration_table([*records, configuration_record(200, "heap", bend=200_000)]))
    assert row["master_live_bytes"].note == "differs by more than 1 % from one size to the next"


def test_one_size_gives_no_slope_and_says_so():
    records = [configuration_record(20), configuration_record(20, "heap")]
    (row,) = rows(configuration_table(records))
    assert row["rss_anon_bytes"].note == row["master_live_bytes"].note == "a slope needs runs of two sizes; there are 1"
    assert row["site"].note == "call sites need profiles of two sizes, and heaptrack"


def test_a_failed_run_stands_below_the_table_until_one_was_measured():
    failed = configuration_record(200, status="failed")
    assert configuration_table([configuration_record(20), failed]).without == [
        "nginx on openssl@3.5.5, 200 certificates, rss: nginx was not reloaded within 20 s"
    ]
    assert configuration_table([configuration_record(200), failed]).without == []


def test_servers_on_other_libraries_and_other_keys_have_rows_of_their_own():
    others = [configuration_records(stack="awslc@5.12.0"), configuration_records(kind="ecdsa-p256")]
    assert len(configuration_table([*configuration_records(), *others[0], *others[1]]).rows) == 3


def test_a_reload_leaves_free_memory_in_each_process():
    master, worker = rows(reload_table(configuration_records()))
    assert (master["process"].text, worker["process"].text) == ("master", "worker")
    assert master["size"].value == 200
    grown = master["reload_2_bytes"].value - master["started_bytes"].value
    assert grown == master["free_bytes"].value == 2 * LEFT * 200
    assert master["live_bytes"].value == 700_000 + LIVE * 200


def test_call_sites_that_do_not_grow_are_left_out():
    first, second = rows(site_table(configuration_records()))
    assert (first["bytes"].value, second["bytes"].value) == (SITE, 1_000)
    assert first["share"].value == SITE / (SITE + 1_000)


def test_what_only_the_larger_profile_has_once_does_not_grow():
    *others, largest = configuration_records()
    once = HeapSite(callers=["init_pollers"], bytes=1_900_000, blocks=1)
    each = HeapSite(callers=["SSL_new"], bytes=36_000, blocks=200)
    largest = largest.model_copy(update={"sites": [*largest.sites, once, each]})
    found = [row["callers"].text for row in rows(site_table([*others, largest]))]
    assert found == ["ngx_palloc ← ngx_conf", "SSL_CTX_new", "SSL_new"]


def test_nothing_recorded_gives_tables_without_rows():
    assert [table.rows for table in build([])] == [[], [], []]
