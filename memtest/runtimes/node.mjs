// A server on node:http and node:https. It does whatever they do by themselves; only their limits of time are off.
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import readline from 'node:readline';

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
    console.log(`${name} ${JSON.stringify(await commands[name](...words))}`);
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

answerCommands();
serve();
