// Keeps the page about costs up to date. Warnings are shown as soon as a limit is reached; figures and budgets do not move
// while somebody types or reads a table that was opened: then the page only says that there is news.
import { watch } from "./live.js";

let isLooking = false;
let isOutdated = false;

watch("budget", async () => {
  isOutdated = true;
  if (isLooking) return;
  isLooking = true;
  while (isOutdated) {
    isOutdated = false;
    await look();
  }
  isLooking = false;
});

async function look() {
  const made = await page();
  if (!made) return;
  const shown = document.getElementById("costs");
  const fresh = made.getElementById("costs");
  document.getElementById("warnings").replaceWith(made.getElementById("warnings"));
  if (fresh.textContent === shown.textContent) return;
  if (isUsed(shown)) news().hidden = false;
  else {
    shown.replaceWith(fresh);
    news().hidden = true;
  }
}

// The page as it would be shown now. Its address is its own, since that of a refused form only takes forms. What cannot be
// had is nothing to complain of: it is asked for again with the next news, of which there is some whenever the server is
// back.
async function page() {
  const answer = await fetch(document.getElementById("costs").dataset.address).catch(() => null);
  if (!answer?.ok) return null;
  const made = new DOMParser().parseFromString(await answer.text(), "text/html");
  return made.getElementById("costs") && made;
}

function news() {
  return document.querySelector("#costs-news a");
}

function isUsed(part) {
  const selection = document.getSelection();
  return (
    part.contains(document.activeElement) ||
    part.querySelector("details[open]") !== null ||
    (!selection.isCollapsed && part.contains(selection.anchorNode))
  );
}
