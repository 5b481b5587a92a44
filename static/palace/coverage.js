// Keeps the coverage page up to date, without moving what somebody is reading: then it only says that there is news.
import { watch } from "./live.js";

// Many turns in a row are one piece of news.
const EASE_MS = 1000;
// A large report is made anew only after some seconds; the server says so of one that is outdated.
const LARGE_MS = 5000;

let waiting = 0;

watch("coverage", ({ version }) => {
  if (version && version <= shown()) return;
  lookAfter(EASE_MS, version);
});
lookAgain();

function lookAfter(pause, version) {
  if (waiting) return;
  waiting = window.setTimeout(async () => {
    waiting = 0;
    // Meanwhile the page may have caught up.
    if (version ? version <= shown() : !(await hasChanged())) lookAgain();
    else if (isRead()) announce();
    else refresh();
  }, pause);
}

function lookAgain() {
  if ("outdated" in report().dataset) lookAfter(LARGE_MS, 0);
}

document.addEventListener("click", async (event) => {
  if (event.target !== news()) return;
  event.preventDefault();
  await refresh();
  report().focus({ preventScroll: true });
});

function report() {
  return document.getElementById("coverage");
}

function news() {
  return document.querySelector("#coverage-news a");
}

// 0 while some of the report is still to come.
function shown() {
  return Number(report().dataset.version);
}

// A version of 0 says only that something may have changed; the server answers 204 where nothing has. One that does not
// answer says nothing; it is asked again with the next news, of which there is some whenever it is back.
async function hasChanged() {
  const address = new URL(window.location.href);
  address.searchParams.set("known", report().dataset.version);
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  return Boolean(answer?.ok) && answer.status !== 204;
}

// Whether something of the report has attention: the focus, the pointer, a selection, a table that was opened, or what
// was scrolled to.
function isRead() {
  const part = report();
  const selection = document.getSelection();
  return (
    part.contains(document.activeElement) ||
    part.matches(":hover") ||
    part.querySelector("details[open]") !== null ||
    (!selection.isCollapsed && part.contains(selection.anchorNode)) ||
    part.getBoundingClientRect().top < 0
  );
}

function announce() {
  news().hidden = false;
}

async function refresh() {
  const old = report();
  await window.htmx.ajax("GET", window.location.href, { target: "#coverage", swap: "outerHTML" }).catch(() => {});
  // A server that is away leaves the old report; the link is the way to try again.
  news().hidden = report() !== old;
  lookAgain();
}
