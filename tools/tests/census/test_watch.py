"""What is said to grow, of looks that are made up and of programs that leak."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from tlsmem.base.errors import Usage, UserError
from tlsmem.census import watch
from tlsmem.census.growth import Look, describe, find_growth
from tlsmem.cli import dispatch
from tlsmem.cli.dispatch import run_words

MIB = 1 << 20
FIRST = Look(
    seconds=0.0,
    processes=2,
    sessions=100,
    states={"established": 90, "half-open": 10},
    connections=110,
    objects={"SSL_SESSION": 90, "X509": 5, "BIO": 100},
    anon_bytes=20 * MIB,
    tls_bytes=2 * MIB,
    parts={"other_live": 5 * MIB, "free": 3 * MIB, "mmapped": MIB},
    sockets={"unknown": 100},
)


def later(sessions=0, connections=0, parts=(), **objects):
    """A look after more sessions, connections, objects and bytes of parts."""
    return replace(
        FIRST,
        seconds=60.0,
        sessions=FIRST.sessions + sessions,
        connections=FIRST.connections + connections,
        objects={name: count + objects.get(name, 0) for name, count in FIRST.objects.items()},
        parts={name: size + dict(parts).get(name, 0) for name, size in FIRST.parts.items()},
    )


def test_more_connections_with_their_sessions_are_no_growth():
    assert not list(find_growth(FIRST, later(500, 500, SSL_SESSION=500, BIO=500)))


def test_sessions_without_connections_are_leaked():
    (sentence,) = find_growth(FIRST, later(300, 0, SSL_SESSION=300, BIO=300))
    assert sentence.startswith("there are 290 more sessions than connections, 0 at first")


def test_sessions_that_have_a_socket_are_no_surplus():
    """Connections may be of another kind than TCP, which are not counted."""
    assert not list(find_growth(FIRST, replace(later(300, 0, SSL_SESSION=300, BIO=300), sockets={"open": 400})))


def test_sessions_with_a_closed_socket_are_leaked():
    first = replace(FIRST, sockets={"open": 97, "closed": 3})
    last = replace(FIRST, sockets={"open": 87, "closed": 13})
    (sentence,) = find_growth(first, last)
    assert sentence == "sessions with a closed socket have grown from 3 to 13: they are not freed with their connection"
    assert not list(find_growth(first, replace(FIRST, sockets={"open": 88, "closed": 12})))
    assert "100 sessions (90 established, 10 half-open), 13 of them with a closed socket, " in describe(last)


def test_connections_without_sessions_hide_a_surplus():
    """There are 300 sessions more, and 300 connections that have none: the surplus stays below nought."""
    assert not list(find_growth(FIRST, later(300, 600, SSL_SESSION=300, BIO=300)))


@pytest.mark.parametrize("kind", ["SSL_SESSION", "X509", "BIO"])
def test_the_kind_that_grows_is_named(kind):
    (sentence,) = find_growth(FIRST, later(0, 0, **{kind: 300}))
    was = FIRST.objects[kind]
    assert sentence.startswith(f"{kind} objects have grown from {was} to {was + 300}, ")


@pytest.mark.parametrize("part", ["other_live", "free", "mmapped"])
def test_memory_that_is_not_tls_is_named(part):
    (sentence,) = find_growth(FIRST, later(parts={part: 4 * MIB}))
    assert "has grown from" in sentence


@pytest.mark.parametrize(
    ("less", "enough"),
    [
        (later(sessions=19), later(sessions=20)),  # 9 and 10 more than connections
        (later(X509=9), later(X509=10)),
        (later(BIO=9), later(BIO=10)),
        (later(parts={"free": MIB - 1}), later(parts={"free": MIB})),
        (later(parts={"mmapped": MIB - 1}), later(parts={"mmapped": MIB})),
    ],
)
def test_a_few_objects_and_less_than_a_mebibyte_are_no_growth(less, enough):
    assert not list(find_growth(FIRST, less))
    assert len(list(find_growth(FIRST, enough))) == 1


def test_two_percent_of_many_objects_are_no_growth():
    first = replace(FIRST, objects={"X509": 1000})
    assert not list(find_growth(first, replace(first, objects={"X509": 1019})))
    assert len(list(find_growth(first, replace(first, objects={"X509": 1020})))) == 1


def test_a_count_of_connections_that_may_not_be_looked_at_is_not_guessed():
    last = replace(later(300, SSL_SESSION=300, BIO=300), connections=None)
    assert not list(find_growth(replace(FIRST, connections=None), last))
    assert "connections" not in describe(last)


def test_a_look_is_a_line():
    assert describe(FIRST) == (
        "census: 0.0 s  100 sessions (90 established, 10 half-open), 110 connections, 100 BIO, 90 SSL_SESSION, 5 X509, "
        "TLS 2.0 MiB, other live 5.0 MiB, kept free by malloc 3.0 MiB, RssAnon 20.0 MiB"
    )


@pytest.mark.parametrize(("words", "is_paged"), [(["--every", "1"], False), ([], True)])
def test_looks_are_printed_past_the_pager(words, is_paged, monkeypatch):
    """A pager would show them when the last one is there."""
    paged = []
    monkeypatch.setattr(dispatch, "page_on_terminal", lambda: nullcontext(paged.append(True)))
    monkeypatch.setattr(watch, "follow", lambda *_: 0)
    monkeypatch.setattr("tlsmem.census.census_command.run", lambda *_: 0)
    run_words(["heap", "census", "1", *words])
    assert bool(paged) == is_paged


def watch_after(error, monkeypatch, **options):
    """A watch that has seen a process once, and then meets an error; whether it goes on."""
    monkeypatch.setattr(watch, "add_up", lambda *_: FIRST)
    target = type("Target", (), {"program": "nginx"})
    seen = [type("Process", (), {"target": target})]
    monkeypatch.setattr(
        watch, "render_census", lambda found, programs, looks: f"{len(found)} {programs} {looks.failed}"
    )
    answers = iter([(seen, []), error])

    def take(_):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(watch, "take_census", take)
    one = watch.Watch(lambda: [1], watch.WatchOptions(1.0, **options))
    assert one.look(0.0) and one.metrics == "1 ['nginx'] 0"
    return one, one.look(1.0)


def test_processes_that_have_ended_end_it_with_a_sentence(monkeypatch, capsys):
    assert not watch_after(Usage("1: there is no such process"), monkeypatch)[1]
    assert capsys.readouterr().err == "memtest: counting ended: 1: there is no such process\n"


def test_a_service_that_has_ended_is_waited_for(monkeypatch):
    one, goes_on = watch_after(Usage("no process has this name"), monkeypatch, waits=True)
    assert goes_on and one.metrics == "0 ['nginx'] 0" and len(one.looks) == 1


def test_a_look_that_fails_is_told_and_is_not_the_last(monkeypatch, capsys):
    one, goes_on = watch_after(UserError("1: its chunks could not be followed"), monkeypatch)
    assert goes_on and one.metrics == "0 ['nginx'] 1"
    assert capsys.readouterr().err == "memtest: 1: its chunks could not be followed\n"


def test_nothing_at_the_first_look_is_an_error(monkeypatch):
    monkeypatch.setattr(watch, "take_census", lambda _: (_ for _ in ()).throw(UserError("nothing")))
    with pytest.raises(UserError, match="nothing"):
        watch.Watch(lambda: [1], watch.WatchOptions(1.0, waits=True)).look(0.0)


@pytest.mark.parametrize(("draw", "kept"), [(None, [0.0, 4.0]), (lambda *_: None, [0.0, 1.0, 2.0, 3.0, 4.0])])
def test_without_a_picture_the_first_look_and_the_last_are_kept(draw, kept, monkeypatch):
    seen = [type("Process", (), {"target": type("Target", (), {"program": "nginx"})})]
    monkeypatch.setattr(watch, "take_census", lambda _: (seen, []))
    monkeypatch.setattr(watch, "add_up", lambda seconds, _: replace(FIRST, seconds=seconds))
    monkeypatch.setattr(watch, "render_census", lambda _found, _programs, looks: str(looks.number))
    one = watch.Watch(lambda: [1], watch.WatchOptions(1.0, draw=draw), began=0.0)
    assert all(one.look(float(second)) for second in range(5))
    assert [look.seconds for look in one.looks] == kept and one.metrics == "5"
