'use strict';
// N pairs of TLS 1.3 sessions of the OpenSSL inside node, over streams in memory: `node sessions.js N CERTIFICATES`.
// It ends at once with all of them held, so that what is live at its end is theirs and the start's.
const fs = require('fs');
const tls = require('tls');
const { Duplex } = require('stream');

const [count, folder] = [Number(process.argv[2]), process.argv[3]];
const read = (name) => fs.readFileSync(`${folder}/${name}`);
const versions = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' };
const server = tls.createSecureContext({ key: read('key.pem'), cert: read('chain.pem'), ...versions });
const client = tls.createSecureContext({ ca: read('root.pem'), ...versions });

function wire() {
  const ends = [0, 1].map(() => new Duplex({ read() {}, write(chunk, _, done) { this.peer.push(chunk); done(); } }));
  ends[0].peer = ends[1];
  ends[1].peer = ends[0];
  return ends;
}

function pair() {
  return new Promise((done, failed) => {
    const [near, far] = wire();
    const one = new tls.TLSSocket(far, { isServer: true, secureContext: server });
    const other = tls.connect({ socket: near, secureContext: client, host: 'localhost', servername: 'localhost' });
    one.on('error', failed);
    other.on('error', failed);
    one.once('data', () => one.write(Buffer.alloc(1024)));
    other.once('secureConnect', () => other.write(Buffer.alloc(1024)));
    other.once('data', () => done([one, other]));
  });
}

(async () => {
  const held = [];
  for (let made = 0; made < count; made++) held.push(await pair());
  console.log(process.versions.openssl);
  global.gc();
  process.reallyExit(0);
})();
