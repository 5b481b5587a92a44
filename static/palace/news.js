// Quiet counters of what has come since the page was made: new memories, what waits for review, and whether a worker
// lives. Nothing moves by itself; a list is made anew when somebody asks for it.
import { watch } from "./live.js";

// Changes that come together are asked for together.
const EASE_MS = 300;

let waiting = 0;

export function watchNews() {
  if (!address()) return;
  for (const sort of ["memories", "reviews", "workers"]) watch(sort, lookSoon);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-news] a");
    if (!link) return;
    event.preventDefault();
    merge(link.closest("[data-news]"));
  });
}

function address() {
  return document.querySelector("[data-news-address]")?.dataset.newsAddress;
}

function lookSoon() {
  if (waiting) return;
  waiting = window.setTimeout(async () => {
    waiting = 0;
    await look();
  }, EASE_MS);
}

async function look() {
  const asked = new URL(address(), window.location.href);
  asked.searchParams.set("after", document.querySelector("[data-after]")?.dataset.after ?? "");
  let answer;
  try {
    answer = await fetch(asked, { headers: { Accept: "application/json" }, redirect: "error" });
  } catch {
    // The line of the connection says that the server is away; the next change, or the next look, asks again.
    return;
  }
  if (answer.ok) show(await answer.json());
}

function show(news) {
  for (const counter of document.querySelectorAll("[data-news]")) {
    counter.querySelector("[data-words]").textContent = news.memories.words;
    counter.hidden = !news.memories.count;
  }
  for (const badge of document.querySelectorAll('[data-count="palace:review"]')) {
    badge.querySelector("[data-number]").textContent = news.reviews.count;
    badge.title = news.reviews.words;
    badge.hidden = !news.reviews.count;
  }
  const notice = document.querySelector('[data-notice="worker"]');
  if (!notice) return;
  if (news.worker) notice.textContent = news.worker;
  notice.hidden = !news.worker;
}

async function merge(counter) {
  const { target, from } = counter.dataset;
  if (!target) {
    window.location.reload();
    return;
  }
  await window.htmx.ajax("GET", from, { target, swap: "outerHTML" });
  for (const one of document.querySelectorAll("[data-news]")) one.hidden = true;
  document.querySelector(`${target} a`)?.focus({ preventScroll: true });
}
