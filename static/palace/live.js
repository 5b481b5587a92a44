// Hears from the server that something has changed, and calls whoever watches it. What has changed is never told:
// a page asks for it itself, as whoever is logged in.
//
//   import { watch } from "./live.js";
//   const stop = watch("coverage", ({ sort, id, version }) => { … });
//
// `id` is empty and `version` 0 where anything of the sort may have changed: once when it begins to be heard of, since the
// page was made a moment before, after a pause, and while the server is asked in turns because no socket can be opened.
// Elements with `data-live-state` say how it stands, with the words of their own `data-open`, `data-polling`,
// `data-paused` and `data-ended`; they are regions that screen readers announce politely, and change only when the state
// does.

const POLL_MS = 30_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 60_000;
// A socket that has lived this long was no failure.
const STEADY_MS = 10_000;
// With these the server says that it will not listen to this page any more.
const FINAL = new Set([4400, 4401, 4410]);

const watchers = new Map();

let socket = null;
let delay = FIRST_DELAY_MS;
let retry = 0;
let poll = 0;
let said = "";
let asked = "";
let isOver = false;
// Sorts of which nothing can have changed unheard.
const caughtUp = new Set();

// Calls `callback` whenever something of a sort has changed; gives a function that ends this.
export function watch(sort, callback) {
  if (!watchers.size) begin();
  if (!watchers.has(sort)) watchers.set(sort, new Set());
  watchers.get(sort).add(callback);
  ask();
  return () => {
    watchers.get(sort)?.delete(callback);
    if (!watchers.get(sort)?.size) watchers.delete(sort);
    if (watchers.size) ask();
    else end();
  };
}

function begin() {
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("online", follow);
  window.addEventListener("pageshow", follow);
  window.addEventListener("pagehide", close);
  isOver = false;
  // After the caller has said all that it watches.
  queueMicrotask(follow);
}

function end() {
  document.removeEventListener("visibilitychange", follow);
  window.removeEventListener("online", follow);
  window.removeEventListener("pageshow", follow);
  window.removeEventListener("pagehide", close);
  close();
  stopPolling();
}

function follow() {
  if (!watchers.size || isOver) return;
  if (document.hidden) {
    close();
    stopPolling();
    caughtUp.clear();
    say("paused");
  } else if (!socket) {
    delay = FIRST_DELAY_MS;
    open();
  }
}

function open() {
  window.clearTimeout(retry);
  retry = 0;
  const address = new URL("/live/", window.location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const opened = new WebSocket(address);
  let steady = 0;
  socket = opened;
  asked = "";
  opened.addEventListener("open", () => {
    ask();
    steady = window.setTimeout(() => (delay = FIRST_DELAY_MS), STEADY_MS);
  });
  opened.addEventListener("message", ({ data }) => {
    if (socket === opened) hear(data);
  });
  opened.addEventListener("close", ({ code }) => {
    window.clearTimeout(steady);
    if (socket === opened) lose(code);
  });
}

function close() {
  window.clearTimeout(retry);
  retry = 0;
  const closing = socket;
  socket = null;
  closing?.close(1000);
}

function ask() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const wanted = JSON.stringify({ watch: [...watchers.keys()].sort() });
  if (wanted !== asked) socket.send(wanted);
  asked = wanted;
}

function hear(data) {
  const message = JSON.parse(data);
  if (message.watching) {
    stopPolling();
    say("open");
    for (const sort of message.watching) catchUp(sort);
  } else {
    tell(message);
  }
}

function lose(code) {
  socket = null;
  caughtUp.clear();
  if (FINAL.has(code)) {
    isOver = true;
    stopPolling();
    say("ended");
    return;
  }
  startPolling();
  // Many pages that lost the same server do not come back at the same moment.
  retry = window.setTimeout(open, delay * (0.5 + Math.random() / 2));
  delay = Math.min(delay * 2, LONGEST_DELAY_MS);
}

function startPolling() {
  if (poll) return;
  poll = window.setInterval(tellAll, POLL_MS);
  say("polling");
}

function stopPolling() {
  window.clearInterval(poll);
  poll = 0;
}

function tellAll() {
  for (const sort of watchers.keys()) tell({ sort, id: "", version: 0 });
}

function catchUp(sort) {
  if (caughtUp.has(sort)) return;
  caughtUp.add(sort);
  tell({ sort, id: "", version: 0 });
}

function tell(message) {
  for (const callback of watchers.get(message.sort) ?? []) callback(message);
}

function say(state) {
  if (state === said) return;
  said = state;
  document.documentElement.dataset.live = state;
  for (const element of document.querySelectorAll("[data-live-state]")) element.textContent = element.dataset[state];
}
