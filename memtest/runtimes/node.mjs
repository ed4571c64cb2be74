// A server on node:http and node:https. It does whatever they do by themselves; only their limits of time are off.
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import readline from 'node:readline';
import tls from 'node:tls';

const options = {
  role: 'server', plain: '127.0.0.1:8080', tls: '127.0.0.1:8443', certs: '.', protocol: 'TLSv1.3', full: '16384',
};
for (let at = 2; at < process.argv.length; at += 2) options[process.argv[at].slice(1)] = process.argv[at + 1];
const full = Number(options.full);

// used_bytes: V8's heap. external: what C++ told V8 that it holds for its objects, ArrayBuffers among it.
function readHeap() {
  const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return { used_bytes: heapUsed, committed_bytes: heapTotal, parts: { external, array_buffers: arrayBuffers } };
}

function collect() {
  global.gc();
  global.gc();
  return {};
}

const commands = { heap: readHeap, collect };

function answerCommands() {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', async (line) => {
    const [name, ...words] = line.split(' ');
    try {
      console.log(`${name} ${JSON.stringify(await commands[name](...words))}`);
    } catch (error) {
      console.log(`failed ${JSON.stringify(String(error))}`);
    }
  });
  lines.on('close', () => process.exit(0));
}

function serve() {
  const answer = (request, response) => {
    const size = request.url === '/full' ? full : 1;
    request.on('data', () => {});
    request.on('end', () => {
      response.writeHead(200, { 'Content-Length': size });
      response.end('x'.repeat(size));
    });
  };
  const limits = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
  const certificate = {
    cert: fs.readFileSync(`${options.certs}/chain.pem`),
    key: fs.readFileSync(`${options.certs}/key.pem`),
    minVersion: options.protocol,
    maxVersion: options.protocol,
    handshakeTimeout: 3600000,
  };
  const servers = [
    [http.createServer(limits, answer), options.plain],
    [https.createServer({ ...limits, ...certificate }, answer), options.tls],
  ];
  for (const [server, address] of servers) {
    const [host, port] = address.split(':');
    server.listen({ host, port: Number(port), backlog: 4096 });
  }
}

const connections = [];

function open(transport) {
  const [host, port] = (transport === 'tls' ? options.tls : options.plain).split(':');
  return new Promise((resolve, reject) => {
    const socket = transport === 'tls'
      ? tls.connect({ host, port: Number(port), servername: 'localhost', secureContext }, () => resolve(socket))
      : net.connect({ host, port: Number(port) }, () => resolve(socket));
    socket.on('error', reject);
  });
}

// Opens so many connections at once.
async function connect(transport, count) {
  connections.push(...await Promise.all(Array.from({ length: Number(count) }, () => open(transport))));
  if (transport === 'plain') return {};
  const used = connections.at(-1);
  return { protocol: used.getProtocol(), cipher: used.getCipher().standardName };
}

// Sends a request on each connection, one after the other, and reads the answer.
async function ask(what) {
  const body = what === 'full' ? 'x'.repeat(full) : '';
  const head = body ? `GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${full}\r\n\r\n`
    : 'GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n';
  for (const socket of connections) {
    await new Promise((resolve, reject) => {
      let received = '';
      const take = (data) => {
        received += data.toString('latin1');
        const end = received.indexOf('\r\n\r\n');
        if (end < 0 || received.length < end + 4 + Math.max(1, body.length)) return;
        socket.off('data', take);
        if (received.startsWith('HTTP/1.1 200 ')) resolve(); else reject(new Error(received.split('\r\n')[0]));
      };
      socket.on('data', take);
      socket.write(head + body);
    });
  }
  return {};
}

async function close() {
  const ended = connections.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of connections) socket.destroy();
  connections.length = 0;
  await Promise.all(ended);
  return {};
}

const secureContext = options.role === 'client' ? tls.createSecureContext({
  ca: fs.readFileSync(`${options.certs}/root.pem`), minVersion: options.protocol, maxVersion: options.protocol,
}) : null;
if (options.role === 'client') Object.assign(commands, { connect, ask, close });
else serve();
answerCommands();
