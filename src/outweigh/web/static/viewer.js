// Keys and live numbers. The pages work without this file; nothing here makes markup of a text.
"use strict";

const entries = () => Array.from(document.querySelectorAll("[data-entry]"));
let current = -1;

function moveTo(place) {
  const all = entries();
  if (!all.length) return;
  if (all[current]) all[current].classList.remove("current");
  current = Math.max(0, Math.min(all.length - 1, place));
  const entry = all[current];
  entry.classList.add("current");
  const target = entry.querySelector("a[href]") || entry;
  if (target === entry) entry.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
  entry.scrollIntoView({ block: "nearest" });
}

function follow(selector) {
  const found = document.querySelector(selector);
  if (found) window.location.assign(found.href);
}

function showKeys() {
  const dialog = document.getElementById("keys");
  if (dialog.open) dialog.close();
  else dialog.showModal();
}

const keys = {
  j: () => moveTo(current + 1),
  k: () => moveTo(current - 1),
  n: () => follow("a[rel=next]"),
  p: () => follow("a[rel=prev]"),
  d: () => {
    const parting = document.getElementById("parting");
    if (parting) moveTo(entries().indexOf(parting));
  },
  u: () => {
    const trail = document.querySelectorAll("header nav a");
    if (trail.length) window.location.assign(trail[trail.length - 1].href);
  },
  "/": () => {
    const search = document.querySelector("[data-search]") || document.querySelector("[data-transcripts] input");
    search.focus();
    search.select();
  },
  "?": showKeys,
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing) {
    if (event.key === "Escape") typing.blur();
    return;
  }
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

document.querySelector("[data-keys]").addEventListener("click", showKeys);

const lives = Array.from(document.querySelectorAll("[data-live-from]"));

async function look(live) {
  try {
    const answer = await fetch(live.dataset.liveFrom);
    if (answer.ok) show(live, await answer.json());
  } catch {
    // The viewer was stopped or is busy. The next look tells.
  }
}

function show(live, state) {
  // When a run ends, its verdict follows.
  if (live.dataset.state !== state.state) window.location.reload();
  showHosts(state.hosts_version);
  for (const place of live.querySelectorAll("[data-live]")) {
    const words = String(state[place.dataset.live]);
    if (place.textContent !== words) place.textContent = words;
  }
}

// Hosts come and go: their page is loaded again, unless the reader is at a place of it.
function showHosts(version) {
  const hosts = document.querySelector("[data-hosts]");
  const idle = [null, document.body].includes(document.activeElement) && document.getSelection().isCollapsed;
  if (hosts && hosts.dataset.hosts !== version && idle && !document.hidden) window.location.reload();
}

async function keepLooking() {
  await Promise.all(lives.map(look));
  window.setTimeout(keepLooking, document.hidden ? 20000 : 2000);
}

if (lives.length) window.setTimeout(keepLooking, 2000);

// Verdicts that are being computed: the page is loaded again when there are more of them, unless the reader is typing.
const pending = document.querySelectorAll("[data-pending]").length;

async function awaitVerdicts() {
  try {
    const answer = await fetch(window.location.href);
    const now = (await answer.text()).split("data-pending").length - 1;
    if (answer.ok && now < pending && !document.querySelector("input:focus, textarea:focus")) {
      window.location.reload();
      return;
    }
  } catch {
    // The viewer was stopped or is busy. The next look tells.
  }
  window.setTimeout(awaitVerdicts, 2000);
}

if (pending) window.setTimeout(awaitVerdicts, 1000);
