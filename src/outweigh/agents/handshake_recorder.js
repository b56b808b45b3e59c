// What handshake_recorder.py does, for sandboxes that have Node and no Python.
//
//     node handshake_recorder.js RECORD SERVER SECONDS COMMAND...
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");

const DISCOVER = "server/discover";
const HANDSHAKE = ["initialize", "tools/list"];
const LONGEST_LINE = 8 * 2 ** 20;
const KEPT_STDERR = 500;
const NOT_FOUND = 127;
const FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"];

const [record, name, seconds, program, ...rest] = process.argv.slice(2);
const waiting = new Map();
const unread = { agent: Buffer.alloc(0), server: Buffer.alloc(0) };
let isDone = false;
let lastWords = "";

function note(event, details = {}) {
  try {
    fs.appendFileSync(record, JSON.stringify({ server: name, event, ...details }) + "\n", { mode: 0o600 });
  } catch {
    // a disk that is full must not stop the server
  }
}

// The end of a long text, from the first whole word on: a part of a secret could not be redacted.
function wholeWords(text) {
  return text.length <= KEPT_STDERR ? text : text.slice(-KEPT_STDERR - 1).trim().split(/\s+/).slice(1).join(" ");
}

function read(side, chunk) {
  if (isDone) return;
  let buffer = Buffer.concat([unread[side], chunk]);
  for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10)) {
    readLine(side, buffer.subarray(0, end).toString());
    buffer = buffer.subarray(end + 1);
  }
  unread[side] = buffer.length > LONGEST_LINE ? Buffer.alloc(0) : buffer;
}

function readLine(side, line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  if (message === null || typeof message !== "object" || !("id" in message)) return;
  const number = JSON.stringify(message.id);
  if (side === "agent" && message.method === DISCOVER) {
    waiting.set(number, { method: DISCOVER });
  } else if (side === "agent" && HANDSHAKE.includes(message.method)) {
    const timer = setTimeout(() => giveUp(message.method), Number(seconds) * 1000);
    waiting.set(number, { method: message.method, timer });
  } else if (side === "server" && !("method" in message) && waiting.has(number)) {
    const { method, timer } = waiting.get(number);
    clearTimeout(timer);
    waiting.delete(number);
    answered(method, message);
  }
}

function giveUp(method) {
  if (isDone) return;
  note("silent", { method, seconds: Number(seconds) });
  isDone = true;
  server.kill("SIGKILL");
}

function answered(method, message) {
  if (message.result === null || typeof message.result !== "object") {
    if (method === DISCOVER) return;
    note("refused", { method, error: wholeWords(JSON.stringify(message.error || null)) });
  } else if (method !== "tools/list") {
    const { capabilities } = message.result;
    note("initialized", { has_tools: Boolean(capabilities) && "tools" in capabilities });
  } else {
    const tools = Array.isArray(message.result.tools) ? message.result.tools : [];
    note("listed", { tools: tools.map((tool) => tool && tool.name).filter((each) => typeof each === "string") });
    isDone = !message.result.nextCursor;
  }
}

const server = spawn(program, rest, { stdio: ["pipe", "pipe", "pipe"] });
server.on("error", (fault) => {
  note("not_started", { error: `${program}: ${fault.code}` });
  process.stderr.write(`${program}: ${fault.code}\n`);
  process.exit(NOT_FOUND);
});
server.on("spawn", () => note("started"));
for (const signal of FORWARDED) process.on(signal, () => server.kill(signal));
for (const stream of [server.stdin, process.stdout, process.stderr]) stream.on("error", () => {});
process.stdin.on("data", (chunk) => read("agent", chunk));
process.stdin.pipe(server.stdin);
server.stdout.on("data", (chunk) => read("server", chunk));
server.stdout.pipe(process.stdout, { end: false });
server.stderr.on("data", (chunk) => {
  lastWords = (lastWords + chunk).slice(-KEPT_STDERR - 1);
});
server.stderr.pipe(process.stderr, { end: false });
server.on("close", (code, signal) => {
  const [unanswered] = [...waiting.values()].filter((each) => each.method !== DISCOVER);
  if (!isDone) note("ended", { code, stderr: wholeWords(lastWords), unanswered: unanswered ? unanswered.method : null });
  if (signal === null) process.exit(code);
  FORWARDED.forEach((each) => process.removeAllListeners(each));
  process.kill(process.pid, signal);
});
