<?php
// A server in one process, which waits for its connections by stream_select; and a client.
declare(strict_types=1);

$options = ['-role' => 'server', '-plain' => '127.0.0.1:8080', '-tls' => '127.0.0.1:8443', '-certs' => '.', '-protocol' => 'TLSv1.3', '-full' => '16384'];
foreach (array_chunk(array_slice($argv, 1), 2) as [$name, $value]) {
    $options[$name] = $value;
}
$full = (int) $options['-full'];
$methods = ['TLSv1.2' => STREAM_CRYPTO_METHOD_TLSv1_2_SERVER, 'TLSv1.3' => STREAM_CRYPTO_METHOD_TLSv1_3_SERVER];
$method = $methods[$options['-protocol']];
$secure = stream_context_create([
    'ssl' => [
        'local_cert' => "{$options['-certs']}/chain.pem",
        'local_pk' => "{$options['-certs']}/key.pem",
        'crypto_method' => $method,
    ],
    'socket' => ['backlog' => 4096],
]);
$bare = stream_context_create(['socket' => ['backlog' => 4096]]);

// What Zend's allocator has given out, and what it has of the OS.
function readHeap(): array
{
    return ['used_bytes' => memory_get_usage(false), 'committed_bytes' => memory_get_usage(true), 'parts' => new stdClass()];
}

function collect(): stdClass
{
    gc_collect_cycles();
    gc_collect_cycles();
    gc_mem_caches();
    return new stdClass();
}

// Opens so many connections, and lets their handshakes go on side by side.
function connect(string $transport, int $count): array|stdClass
{
    global $connections, $options;
    $secure = stream_context_create(['ssl' => [
        'cafile' => "{$options['-certs']}/root.pem", 'peer_name' => 'localhost', 'verify_peer' => true,
    ]]);
    $client = ['TLSv1.2' => STREAM_CRYPTO_METHOD_TLSv1_2_CLIENT, 'TLSv1.3' => STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT];
    $method = $client[$options['-protocol']];
    $new = [];
    for ($one = 0; $one < $count; $one++) {
        $stream = stream_socket_client("tcp://{$options["-$transport"]}", $code, $message, 20, STREAM_CLIENT_CONNECT, $secure);
        if (!$stream) {
            throw new RuntimeException("cannot connect: $message");
        }
        $new[(int) $stream] = $stream;
    }
    $connections += $new;
    if ($transport === 'plain') {
        return new stdClass();
    }
    $last = end($new);
    $waiting = $new;
    array_walk($waiting, fn ($stream) => stream_set_blocking($stream, false));
    while ($waiting) {
        foreach ($waiting as $number => $stream) {
            $done = stream_socket_enable_crypto($stream, true, $method);
            if ($done === false) {
                throw new RuntimeException('a handshake failed');
            }
            if ($done === true) {
                stream_set_blocking($stream, true);
                unset($waiting[$number]);
            }
        }
        if ($waiting) {
            $ready = $waiting;
            $none = null;
            stream_select($ready, $none, $none, 20);
        }
    }
    $used = stream_get_meta_data($last)['crypto'];
    return ['protocol' => $used['protocol'], 'cipher' => $used['cipher_name']];
}

// Sends a request on each connection, one after the other, and reads the answer.
function ask(string $what): stdClass
{
    global $connections, $full;
    $body = $what === 'full' ? str_repeat('x', $full) : '';
    $head = $body ? "GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: $full\r\n\r\n" : "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";
    foreach ($connections as $connection) {
        fwrite($connection, $head . $body);
        $answer = '';
        while (($end = strpos($answer, "\r\n\r\n")) === false || strlen($answer) < $end + 4 + max(1, strlen($body))) {
            $data = fread($connection, 65536);
            if ($data === false || $data === '') {
                throw new RuntimeException('the server has closed a connection');
            }
            $answer .= $data;
        }
        if (!str_starts_with($answer, 'HTTP/1.1 200 ')) {
            throw new RuntimeException('the server answered ' . strtok($answer, "\r"));
        }
    }
    return new stdClass();
}

function closeAll(): stdClass
{
    global $connections;
    array_walk($connections, fn ($connection) => fclose($connection));
    $connections = [];
    return new stdClass();
}

if ($options['-role'] === 'client') {
    $connections = [];
    while (($line = fgets(STDIN)) !== false) {
        $words = explode(' ', trim($line));
        try {
            $answered = match ($words[0]) {
                'heap' => readHeap(),
                'collect' => collect(),
                'connect' => connect($words[1], (int) $words[2]),
                'ask' => ask($words[1]),
                'close' => closeAll(),
            };
            echo $words[0], ' ', json_encode($answered), "\n";
        } catch (Throwable $error) {
            echo 'failed ', json_encode($error->getMessage()), "\n";
        }
    }
    exit(0);
}

$flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
$plain = stream_socket_server("tcp://{$options['-plain']}", $code, $message, $flags, $bare);
$tls = stream_socket_server("tcp://{$options['-tls']}", $code, $message, $flags, $secure);
$listeners = [(int) $plain => $plain, (int) $tls => $tls];
$connections = [];  // all, by number
$shaking = [];  // those whose handshake is not complete
$received = [];  // what has arrived of a request that is not complete

function drop(int $number): void
{
    global $connections, $shaking, $received;
    fclose($connections[$number]);
    unset($connections[$number], $shaking[$number], $received[$number]);
}

function answer(int $number): void
{
    global $connections, $received, $full;
    $connection = $connections[$number];
    $data = fread($connection, 65536);
    if ($data === false || ($data === '' && feof($connection))) {
        drop($number);
        return;
    }
    $all = ($received[$number] ?? '') . $data;
    $end = strpos($all, "\r\n\r\n");
    $length = preg_match('/^content-length: *(\d+)/mi', $all, $found) ? (int) $found[1] : 0;
    if ($end === false || strlen($all) < $end + 4 + $length) {
        $received[$number] = $all;
        return;
    }
    unset($received[$number]);
    $body = str_repeat('x', str_starts_with($all, 'GET /full ') ? $full : 1);
    stream_set_blocking($connection, true);
    fwrite($connection, "HTTP/1.1 200 OK\r\nContent-Length: " . strlen($body) . "\r\n\r\n" . $body);
    stream_set_blocking($connection, false);
}

while (true) {
    $ready = [STDIN, ...$listeners, ...$connections];
    $none = null;
    stream_select($ready, $none, $none, null);
    foreach ($ready as $stream) {
        $number = (int) $stream;
        if ($stream === STDIN) {
            $line = fgets(STDIN);
            if ($line === false) {
                exit(0);
            }
            $answered = trim($line) === 'heap' ? readHeap() : collect();
            echo trim($line), ' ', json_encode($answered), "\n";
        } elseif (isset($listeners[$number])) {
            $connection = stream_socket_accept($stream, 0);
            if ($connection) {
                stream_set_blocking($connection, false);
                $connections[(int) $connection] = $connection;
                if ($stream === $tls) {
                    $shaking[(int) $connection] = true;
                }
            }
        } elseif (isset($shaking[$number])) {
            $done = @stream_socket_enable_crypto($stream, true, $method);
            if ($done === true) {
                unset($shaking[$number]);
            } elseif ($done === false) {
                drop($number);
            }
        } else {
            answer($number);
        }
    }
}
