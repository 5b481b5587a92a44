// Keeps the coverage page up to date, without moving what somebody is reading: then it only says that there is news.
import { watch } from "./live.js";

// Many turns in a row are one piece of news.
const EASE_MS = 1000;

let waiting = 0;

watch("coverage", ({ version }) => {
  if (!isNews(version) || waiting) return;
  waiting = window.setTimeout(() => {
    waiting = 0;
    if (isRead()) announce();
    else refresh();
  }, EASE_MS);
});

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

// A version of 0 says that anything may have changed.
function isNews(version) {
  return !version || version > Number(report().dataset.version);
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
  await window.htmx.ajax("GET", window.location.href, { target: "#coverage", swap: "outerHTML" });
  news().hidden = true;
}
