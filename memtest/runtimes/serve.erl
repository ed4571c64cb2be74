%% A server with a process for each connection, on gen_tcp and on ssl; and a client, whose connections have the processes
%% of ssl and none beside.
-module(serve).
-export([main/1]).

main(Words) ->
    Options = maps:merge(
        #{"-plain" => "127.0.0.1:8080", "-tls" => "127.0.0.1:8443", "-certs" => ".",
          "-protocol" => "TLSv1.3", "-full" => "16384"},
        pairs(Words)),
    {ok, _} = application:ensure_all_started(ssl),
    _ = crypto:info_lib(), % a client loads libcrypto now, not with its first connection
    case maps:get("-role", Options, "server") of
        "client" -> answer_commands(Options, []);
        _ -> serve(Options)
    end.

serve(Options) ->
    Full = list_to_integer(maps:get("-full", Options)),
    {Host, Plain} = address(maps:get("-plain", Options)),
    {_, Secure} = address(maps:get("-tls", Options)),
    Bare = [binary, {ip, Host}, {active, false}, {backlog, 4096}, {reuseaddr, true}, {packet, raw}],
    Certs = maps:get("-certs", Options),
    Version = maps:get(maps:get("-protocol", Options), #{"TLSv1.2" => 'tlsv1.2', "TLSv1.3" => 'tlsv1.3'}),
    {ok, Tcp} = gen_tcp:listen(Plain, Bare),
    {ok, Tls} = ssl:listen(Secure, [{certfile, Certs ++ "/chain.pem"}, {keyfile, Certs ++ "/key.pem"},
                                    {versions, [Version]} | Bare]),
    spawn(fun() -> accept_plain(Tcp, Full) end),
    spawn(fun() -> accept_secure(Tls, Full) end),
    answer_commands(Options, []).

pairs([Name, Value | Rest]) -> maps:put(Name, Value, pairs(Rest));
pairs([]) -> #{}.

address(Text) ->
    [Host, Port] = string:split(Text, ":"),
    {ok, Ip} = inet:parse_address(Host),
    {Ip, list_to_integer(Port)}.

accept_plain(Listener, Full) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> answer(gen_tcp, Socket, Full, <<>>) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept_plain(Listener, Full).

accept_secure(Listener, Full) ->
    {ok, Socket} = ssl:transport_accept(Listener),
    Pid = spawn(fun() ->
        receive go -> ok end,
        case ssl:handshake(Socket, infinity) of
            {ok, Open} -> answer(ssl, Open, Full, <<>>);
            {error, _} -> ok
        end
    end),
    ok = ssl:controlling_process(Socket, Pid),
    Pid ! go,
    accept_secure(Listener, Full).

answer(Module, Socket, Full, Received) ->
    case Module:recv(Socket, 0) of
        {ok, Data} ->
            All = <<Received/binary, Data/binary>>,
            case is_complete(All) of
                true ->
                    Size = case All of <<"GET /full ", _/binary>> -> Full; _ -> 1 end,
                    Head = io_lib:format("HTTP/1.1 200 OK\r\nContent-Length: ~b\r\n\r\n", [Size]),
                    ok = Module:send(Socket, [Head, binary:copy(<<"x">>, Size)]),
                    answer(Module, Socket, Full, <<>>);
                false -> answer(Module, Socket, Full, All)
            end;
        {error, _} -> Module:close(Socket)
    end.

is_complete(All) ->
    case binary:split(All, <<"\r\n\r\n">>) of
        [Head, Body] ->
            Length = case re:run(Head, "^content-length: *([0-9]+)", [caseless, multiline, {capture, [1], list}]) of
                {match, [Digits]} -> list_to_integer(Digits);
                nomatch -> 0
            end,
            byte_size(Body) >= Length;
        [_] -> false
    end.

%% Connections: of a client, each with its module.
answer_commands(Options, Connections) ->
    case io:get_line("") of
        eof -> halt(0);
        Line ->
            [Name | _] = Words = string:lexemes(Line, " \n"),
            try obey(Words, Options, Connections) of
                {Answer, Now} ->
                    io:format("~s ~s~n", [Name, Answer]),
                    answer_commands(Options, Now)
            catch
                _:Reason ->
                    Said = lists:flatten(io_lib:format("~0p", [Reason])),
                    io:format("failed \"~s\"~n", [[One || One <- Said, One >= $ , One =/= $", One =/= $\\]]),
                    answer_commands(Options, Connections)
            end
    end.

obey(["heap"], _, Connections) -> {read_heap(), Connections};
obey(["collect"], _, Connections) ->
    [erlang:garbage_collect(Pid) || Pid <- processes(), _ <- [1, 2]],
    {"{}", Connections};
obey(["connect", Transport, Count], Options, Connections) ->
    Opened = connect(Transport, list_to_integer(Count), Options),
    {describe(hd(Opened)), Opened ++ Connections};
obey(["ask", What], Options, Connections) ->
    Size = case What of "full" -> list_to_integer(maps:get("-full", Options)); "small" -> 0 end,
    lists:foreach(fun({Module, Socket}) -> ask(Module, Socket, Size) end, Connections),
    {"{}", Connections};
obey(["close"], _, Connections) ->
    lists:foreach(fun({Module, Socket}) -> ok = Module:close(Socket) end, Connections),
    {"{}", []}.

%% Opens so many at once: each is opened by a process, which hands it over and ends.
connect(Transport, Count, Options) ->
    {Module, More} = case Transport of
        "plain" -> {gen_tcp, []};
        "tls" ->
            Version = maps:get(maps:get("-protocol", Options), #{"TLSv1.2" => 'tlsv1.2', "TLSv1.3" => 'tlsv1.3'}),
            {ssl, [{cacertfile, maps:get("-certs", Options) ++ "/root.pem"}, {verify, verify_peer},
                   {server_name_indication, "localhost"}, {versions, [Version]}]}
    end,
    {Host, Port} = address(maps:get("-" ++ Transport, Options)),
    Self = self(),
    Open = fun() ->
        {ok, Socket} = Module:connect(Host, Port, [binary, {active, false} | More]),
        ok = Module:controlling_process(Socket, Self),
        Self ! {opened, Socket}
    end,
    Workers = [spawn_monitor(Open) || _ <- lists:seq(1, Count)],
    [receive
         {opened, Socket} -> {Module, Socket};
         {'DOWN', _, process, _, Reason} when Reason =/= normal -> error(Reason)
     end || _ <- Workers].

describe({gen_tcp, _}) -> "{}";
describe({ssl, Socket}) ->
    {ok, Found} = ssl:connection_information(Socket, [protocol, selected_cipher_suite]),
    Protocol = maps:get(proplists:get_value(protocol, Found), #{'tlsv1.2' => "TLSv1.2", 'tlsv1.3' => "TLSv1.3"}),
    Cipher = ssl:suite_to_str(proplists:get_value(selected_cipher_suite, Found)),
    io_lib:format("{\"protocol\": \"~s\", \"cipher\": \"~s\"}", [Protocol, Cipher]).

ask(Module, Socket, Size) ->
    Request = case Size of
        0 -> "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";
        _ -> [io_lib:format("GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: ~b\r\n\r\n", [Size]),
              binary:copy(<<"x">>, Size)]
    end,
    ok = Module:send(Socket, Request),
    <<"HTTP/1.1 200 ", _/binary>> = receive_answer(Module, Socket, <<>>).

receive_answer(Module, Socket, Received) ->
    {ok, Data} = Module:recv(Socket, 0),
    All = <<Received/binary, Data/binary>>,
    case is_complete(All) of
        true -> All;
        false -> receive_answer(Module, Socket, All)
    end.

%% used_bytes: what the emulator's allocators have given out; of it the heaps and stacks of processes, and binaries.
read_heap() ->
    Memory = erlang:memory(),
    Committed = lists:sum([carriers(Allocator) || Allocator <- erlang:system_info(alloc_util_allocators)]),
    Parts = [io_lib:format("\"~s\": ~b", [Name, proplists:get_value(Name, Memory)])
             || Name <- [processes, binary, ets, system]],
    io_lib:format("{\"used_bytes\": ~b, \"committed_bytes\": ~b, \"parts\": {~s}}",
                  [proplists:get_value(total, Memory), Committed, lists:join(", ", Parts)]).

%% The bytes of an allocator's carriers, of all its instances.
carriers(Allocator) ->
    case erlang:system_info({allocator_sizes, Allocator}) of
        false -> 0;
        Instances -> lists:sum([element(2, Size) || {instance, _, Found} <- Instances,
                                {Kind, Sizes} <- Found, Kind =:= mbcs orelse Kind =:= sbcs,
                                Size <- Sizes, element(1, Size) =:= carriers_size])
    end.
