"""Pictures that compare servers: what the bars and dots are, their order, and the findings."""

import pytest
from matplotlib import pyplot

from tests.support import live
from tests.support.colour_vision import find_alike
from tests.support.live import live_record
from tests.topics.live.test_libraries import BORING, OPENSSL, PLAIN, SESSIONS, among, runs  # noqa: F401
from tlsmem.topics.live import comparison_pictures as pictures

TLS = 60_000  # live heap of a connection, more than either session


@pytest.fixture
def figure():
    made, axes = pyplot.subplots(layout="constrained")
    yield made, axes
    pyplot.close(made)


@pytest.fixture
def built():
    """nginx on OpenSSL, and on BoringSSL with 30,000 B less."""
    heap = {OPENSSL: TLS, BORING: TLS - 30_000}
    return [run for stack, each in heap.items() for run in (*runs(stack, PLAIN, "plain"), *runs(stack, each))]


def test_a_bar_is_the_session_the_servers_own_rss_beyond_both_and_the_kernel(figure, built, among):  # noqa: F811
    made, axes = figure
    pictures.draw_libraries(made, axes, pictures.list_bars(built, among))
    widths = [round(bar.get_width()) for bar in axes.patches]
    beyond = 0  # these runs have less RSS than live heap
    assert widths == [
        *(SESSIONS[OPENSSL], TLS - SESSIONS[OPENSSL], beyond, live.SERVER_KERNEL),
        *(SESSIONS[BORING], TLS - 30_000 - SESSIONS[BORING], beyond, live.SERVER_KERNEL),
    ]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["nginx, OpenSSL 3.5.5", "nginx, BoringSSL 5.4.0"]
    assert find_alike(made) == []


def test_the_title_names_the_server_and_both_ends(built, among):  # noqa: F811
    total = TLS + live.SERVER_KERNEL
    assert pictures.describe_libraries(pictures.list_bars(built, among)) == (
        f"One server, several libraries: an idle connection to nginx costs {total:,} B on OpenSSL 3.5.5 and "
        f"{total - 30_000:,} B on BoringSSL 5.4.0"
    )


def test_a_server_on_one_library_is_no_comparison(figure, among):  # noqa: F811
    bars = pictures.list_bars(runs(OPENSSL, TLS), among)
    assert len(bars) == 1 and not pictures.has_libraries(bars)
    with pytest.raises(ValueError, match="no live runs of one server on two libraries"):
        pictures.draw_libraries(*figure, bars)


def make_runs(server: str, heap_each: int, meters=("rss", "heap"), **changes):
    """Plain and TLS, with few handshakes at a time and with all."""
    found = [
        live_record(count, meter, transport, window, ("started", "established", "idle", "closed"), heap_each=each)
        for transport, window, each in (("plain", 10, PLAIN), ("tls", 10, heap_each), ("tls", None, 99_999))
        for meter in meters
        for count in (100, 300)
    ]
    known = {"server": server} | changes
    return [one.model_copy(update=known | {"key": f"{known} {one.key}"}) for one in found]


def test_what_tls_adds_is_a_bar_of_rss_and_a_dot_of_live_heap_with_few_handshakes_at_a_time(figure):
    made, axes = figure
    bars = pictures.list_added([*make_runs("mosquitto", 14_000), *make_runs("redis", 50_000)])
    pictures.draw_added(made, axes, bars)
    assert [one.live for one in bars] == [14_000 - PLAIN, 50_000 - PLAIN]
    dots = [line.get_xdata()[0] for line in axes.get_lines()]
    assert dots == [14_000 - PLAIN, 50_000 - PLAIN]
    assert [round(bar.get_width()) for bar in axes.patches] == [0, 0]  # of these runs RSS is the same


def test_a_server_that_no_meter_sees_has_no_dot(figure):
    made, axes = figure
    bars = pictures.list_added([*make_runs("mosquitto", 14_000), *make_runs("go", 50_000, meters=("rss",))])
    assert [one.live for one in bars if one.series.server == "go"] == [None]
    pictures.draw_added(made, axes, bars)
    assert len(axes.get_lines()) == 1


def test_one_server_is_no_comparison_of_servers(figure):
    with pytest.raises(ValueError, match="no live runs of two servers"):
        pictures.draw_added(*figure, pictures.list_added(make_runs("mosquitto", 14_000)))


def test_connections_of_another_kind_and_clients_are_in_no_bar(figure, built, among):  # noqa: F811
    """Both have as few handshakes at a time, or fewer."""
    mutual = [run.model_copy(update={"mutual": True, "key": f"mutual {run.key}"}) for run in runs(OPENSSL, 3 * TLS)]
    narrow = [run.model_copy(update={"window": 1}) for run in mutual]
    assert pictures.list_bars([*narrow, *built], among) == pictures.list_bars(built, among)
    servers = [*make_runs("mosquitto", 14_000), *make_runs("redis", 50_000)]
    other = [*make_runs("mosquitto", 99_000, mutual=True), *make_runs("node-client", 99_000, role="client")]
    assert pictures.list_added([*other, *servers]) == pictures.list_added(servers)
    with_garbage = make_runs("erlang", 150_000)
    assert pictures.list_added([*with_garbage, *servers]) == pictures.list_added(servers)
