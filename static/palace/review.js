// The review queue by keys: each key presses the button or follows the link that shows it. Also the time in which a
// decision can be undone, the choice of all items of a page, and a quiet word when more items wait.
import { watch } from "./live.js";

const EASE_MS = 500;

function isTyping(element) {
  return element.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

function press(event) {
  if (event.defaultPrevented || event.isComposing || event.repeat || isTyping(event.target)) return;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    closeSnooze();
    return;
  }
  if (!/^[a-z]$/.test(event.key)) return;
  const target = document.querySelector(`[data-key="${event.key}"]`);
  if (!target) sayWhyNot(event.key);
  if (!target || target.closest("[hidden]")) return;
  event.preventDefault();
  if (target.matches("summary")) snooze(target.parentElement);
  else target.click();
}

// A key that does nothing with this item says why.
function sayWhyNot(key) {
  const why = document.querySelector(`[data-key-without="${key}"]`);
  if (why) document.querySelector("[data-review-news]").textContent = why.textContent;
}

// The first press opens the choices, with the shortest one in reach; the second takes it.
function snooze(choices) {
  const shortest = choices.querySelector("button");
  if (choices.open) {
    shortest.click();
  } else {
    choices.open = true;
    shortest.focus();
  }
}

function closeSnooze() {
  const choices = document.querySelector("[data-snooze][open]");
  if (!choices) return;
  choices.open = false;
  choices.querySelector("summary").focus();
}

function countDown(form) {
  const left = form.querySelector("[data-review-left]");
  const end = Date.now() + Number(form.dataset.reviewUndo) * 1000;
  const timer = window.setInterval(tick, 250);
  tick();

  function tick() {
    const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    left.textContent = ` ${seconds}`;
    if (seconds) return;
    window.clearInterval(timer);
    if (form.contains(document.activeElement)) document.getElementById("content").focus();
    form.hidden = true;
  }
}

function offerAll(form) {
  const label = form.querySelector("[data-all]");
  const boxes = [...form.querySelectorAll('[name="ids"]:not([disabled])')];
  const all = label.querySelector("input");
  label.hidden = !boxes.length;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  form.addEventListener("change", () => {
    const chosen = boxes.filter((box) => box.checked).length;
    all.checked = chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  });
}

function watchQueue(page) {
  const news = page.querySelector("[data-review-news]");
  let waiting = 0;
  watch("reviews", () => {
    if (waiting) return;
    waiting = window.setTimeout(async () => {
      waiting = 0;
      await look(page, news);
    }, EASE_MS);
  });
}

async function look(page, news) {
  const query = new URL(window.location.href).search;
  let answer;
  try {
    answer = await fetch(`${page.dataset.queue}${query}`, { headers: { "HX-Request": "true" }, redirect: "error" });
  } catch {
    // The next change asks again; the line of the connection says that the server is away.
    return;
  }
  if (!answer.ok) return;
  const said = document.createElement("template");
  said.innerHTML = await answer.text();
  const total = said.content.querySelector("[data-total]");
  if (!total || total.dataset.total === page.dataset.total) news.replaceChildren();
  else news.replaceChildren(total);
}

document.addEventListener("keydown", press);
for (const form of document.querySelectorAll("[data-review-undo]")) countDown(form);
for (const form of document.querySelectorAll("[data-batch]")) offerAll(form);
for (const page of document.querySelectorAll("[data-review]")) watchQueue(page);
