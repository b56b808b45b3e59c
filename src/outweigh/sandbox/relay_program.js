// The same as relay_program.py, for images that have Node and no Python.
"use strict";
const net = require("net");

const HEADER_BYTES = 9;
const [READY, OPEN, DATA, END] = [0, 1, 2, 3];
const connections = new Map();
let last = 0;
let pending = Buffer.alloc(0);

function send(kind, number, data) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(number, 1);
  header.writeUInt32BE(data.length, 5);
  process.stdout.write(Buffer.concat([header, data]));
}

function accept(place, connection) {
  const number = ++last;
  connections.set(number, connection);
  send(OPEN, number, Buffer.from([place]));
  connection.on("data", (chunk) => send(DATA, number, chunk));
  connection.on("error", () => {}); // "close" follows
  let ended = false;
  const end = () => {
    if (!ended) send(END, number, Buffer.alloc(0));
    ended = true;
  };
  connection.on("end", end);
  connection.on("close", end);
}

function answer(kind, number, data) {
  const connection = connections.get(number);
  if (connection === undefined) return;
  if (kind === DATA) {
    connection.write(data);
  } else {
    connections.delete(number);
    connection.end();
  }
}

process.stdin.on("data", (chunk) => {
  pending = Buffer.concat([pending, chunk]);
  while (pending.length >= HEADER_BYTES) {
    const length = pending.readUInt32BE(5);
    if (pending.length < HEADER_BYTES + length) return;
    answer(pending.readUInt8(0), pending.readUInt32BE(1), pending.subarray(HEADER_BYTES, HEADER_BYTES + length));
    pending = pending.subarray(HEADER_BYTES + length);
  }
});
process.stdin.on("end", () => process.exit(0));

const ports = process.argv.slice(2).map(Number);
let waiting = ports.length;
ports.forEach((port, place) => {
  const server = net.createServer({ allowHalfOpen: true }, (connection) => accept(place, connection));
  server.listen(port, "127.0.0.1", () => {
    if (--waiting === 0) send(READY, 0, Buffer.alloc(0));
  });
});
