// Follows a run of consolidation: the part of the page that says how it stands is made anew while a run is at work, and
// when the server says that something has changed.
import { watch } from "./live.js";

const AT_WORK_MS = 1500;
const EASE_MS = 400;
const PARTS = "#consolidation-state, #run-report";

let waiting = 0;

function part() {
  return document.querySelector(PARTS);
}

function lookSoon(pause) {
  if (waiting) return;
  waiting = window.setTimeout(async () => {
    waiting = 0;
    await look();
  }, pause);
}

async function look() {
  const before = part();
  if (document.hidden) {
    document.addEventListener("visibilitychange", () => lookSoon(0), { once: true });
    return;
  }
  let answer;
  try {
    answer = await fetch(before.dataset.address, { headers: { "HX-Request": "true" }, redirect: "error" });
  } catch {
    lookSoon(AT_WORK_MS * 4);
    return;
  }
  if (answer.ok) replace(before, await answer.text());
  else if (before.dataset.atWork) lookSoon(AT_WORK_MS * 4);
}

function replace(before, text) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const after = made.content.querySelector(PARTS);
  const wasAtWork = before.dataset.atWork;
  if (!after || (wasAtWork && !after.dataset.atWork)) {
    // It has ended: the lists of the page, of which this is a part, have something new. Or the login has, without which
    // there is no such part.
    window.location.reload();
    return;
  }
  const open = before.querySelector("details")?.open;
  if (!before.contains(document.activeElement)) before.replaceWith(after);
  const details = part().querySelector("details");
  if (details && open) details.open = true;
  if (part().dataset.atWork) lookSoon(AT_WORK_MS);
}

if (part()?.dataset.atWork) lookSoon(AT_WORK_MS);
watch("consolidation", () => lookSoon(EASE_MS));

const target = window.location.hash.startsWith("#settings-") && document.querySelector(window.location.hash);
if (target) target.open = true;
