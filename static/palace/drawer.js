// A memory beside the page that lists it: every link with `data-drawer` opens here, also those that came later.
//
// The address gets `?open=<id>`, so that loading it again or going back does what one expects. The links of the page are
// what "previous" and "next" walk through. Forms inside are sent from here; what the server answers is shown here.
import { isPlain } from "./drawer-link.js";
import { addSliders } from "./sliders.js";
import { countDownUndo } from "./undo.js";

const OPEN = "open";
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SKELETON_MS = 300;

const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");

let dialog = null;
let parts = null;
let opener = null;
// What had the focus where a script followed the link, as the picture of the graph does.
let former = null;
let address = "";
let asked = "";
let asking = null;
let isLeaving = false;
let isUnsaved = false;
let stopUndo = () => {};

// Makes the drawer, once, and shows the memory that a link leads to, or the one that the address names. Gives what is to
// be called when the browser goes back or forth.
export function makeDrawer(link) {
  dialog = document.getElementById("drawer-template").content.firstElementChild.cloneNode(true);
  document.body.append(dialog);
  const part = (name) => dialog.querySelector(`[data-drawer-${name}]`);
  parts = Object.fromEntries(
    ["body", "wait", "page", "place", "previous", "next", "close", "failure", "unsaved"].map((name) => [name, part(name)]),
  );
  document.addEventListener("click", follow);
  listen();
  const id = openId();
  if (link) show(link);
  else if (id) show(linkTo(id));
  return travel;
}

function listen() {
  parts.close.addEventListener("click", leave);
  parts.previous.addEventListener("click", () => step(-1));
  parts.next.addEventListener("click", () => step(1));
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave();
  });
  dialog.addEventListener("close", forget);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) leave();
  });
  dialog.addEventListener("input", ({ target }) => {
    isUnsaved ||= target.form?.method === "post";
  });
  dialog.addEventListener("submit", send);
  dialog.addEventListener("keydown", press);
}

function openId() {
  const id = new URL(window.location.href).searchParams.get(OPEN) ?? "";
  return ID.test(id) ? id : "";
}

const pathOf = (id) => dialog.dataset.drawerAddress.replace("00000000-0000-0000-0000-000000000000", id);
const idOf = (path) => path.split("/").find((part) => ID.test(part)) ?? "";

// The links among which the one that opened stands, each memory once.
function links() {
  const list = opener?.isConnected ? opener.closest("[data-drawer-list], main, aside") : null;
  const found = new Map();
  for (const link of (list ?? document).querySelectorAll("a[data-drawer]")) {
    if (!dialog.contains(link) && link.checkVisibility() && !found.has(link.pathname)) found.set(link.pathname, link);
  }
  return [...found.values()];
}

function linkTo(id) {
  const path = pathOf(id);
  return links().find((link) => link.pathname === path) ?? path;
}

function follow(event) {
  const link = event.target.closest?.("a[data-drawer], a[data-in-drawer]");
  if (!link || event.defaultPrevented || !isPlain(event)) return;
  const inside = dialog.contains(link);
  if (link.hasAttribute("data-in-drawer") && !inside) return;
  event.preventDefault();
  if (inside && holdsUnsaved()) return;
  if (link.hasAttribute("data-in-drawer")) load(link.href);
  else show(link);
}

// Shows a memory, by the link that leads to it or by its address.
function show(target) {
  const link = typeof target === "string" ? null : target;
  const path = link ? link.pathname : target;
  const isInside = link && dialog.contains(link);
  if (link && !isInside) {
    opener = link;
    former = dialog.open || [link, document.body].includes(document.activeElement) ? null : document.activeElement;
  }
  keep(idOf(path), !dialog.open || isInside);
  open(link ? link.href : path);
}

function open(href) {
  if (!dialog.open) {
    document.documentElement.classList.add("drawer-open");
    dialog.showModal();
  }
  load(href);
}

// How many steps of the browser's history the drawer has made.
const depth = () => window.history.state?.drawer ?? 0;

function keep(id, isStep) {
  const url = new URL(window.location.href);
  if (url.searchParams.get(OPEN) === id) return;
  url.searchParams.set(OPEN, id);
  const state = { ...window.history.state, drawer: depth() + (isStep ? 1 : 0) };
  if (isStep) window.history.pushState(state, "", url);
  else window.history.replaceState(state, "", url);
}

async function load(href, options = {}) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const timer = window.setTimeout(() => parts.wait.removeAttribute("hidden"), SKELETON_MS);
  parts.failure.hidden = parts.unsaved.hidden = true;
  parts.body.setAttribute("aria-busy", "true");
  try {
    const headers = { "HX-Request": "true", "HX-Target": "drawer", "HX-Current-URL": window.location.href };
    const answer = await fetch(href, { ...options, headers, signal, credentials: "same-origin" });
    const elsewhere = answer.headers.get("HX-Redirect");
    if (elsewhere) {
      isUnsaved = false;
      window.location.assign(elsewhere);
      return;
    }
    const text = await answer.text();
    if (answer.status >= 500 || !(answer.headers.get("Content-Type") ?? "").startsWith("text/html")) fail();
    else if (/^\s*<!doctype/i.test(text)) window.location.assign(answer.url);
    else fill(text, new URL(answer.url), answer.ok);
  } catch (error) {
    if (error.name === "AbortError") return;
    fail();
  } finally {
    window.clearTimeout(timer);
    if (asking?.signal === signal) {
      parts.wait.hidden = true;
      parts.body.removeAttribute("aria-busy");
    }
  }
}

// What was typed stays where it is when an answer does not come.
function fail() {
  if (!isUnsaved) parts.body.replaceChildren();
  parts.failure.hidden = false;
  place();
}

function fill(html, url, isWell) {
  stopUndo();
  asked = url.href;
  if (isWell) isUnsaved = false;
  parts.body.innerHTML = html;
  const id = idOf(url.pathname);
  if (id) {
    keep(id, false);
    address = pathOf(id);
    parts.page.href = address;
  }
  window.htmx?.process(parts.body);
  addSliders(parts.body);
  stopUndo = countDownUndo(parts.body, close);
  place();
  parts.body.scrollTop = 0;
  const first = parts.body.querySelector("[role=alert], [autofocus]") ?? parts.body;
  if (first.matches("[role=alert]")) first.tabIndex = -1;
  first.focus({ preventScroll: true });
}

function place() {
  const all = links().map((link) => link.pathname);
  const at = all.indexOf(address);
  parts.previous.disabled = at <= 0;
  parts.next.disabled = at < 0 || at === all.length - 1;
  const words = parts.place.dataset.words;
  parts.place.textContent = at < 0 ? "" : words.replace("{place}", at + 1).replace("{count}", all.length);
}

function step(by) {
  const all = links();
  const at = all.findIndex((link) => link.pathname === address);
  const next = all[at + by];
  if (at < 0 || !next || holdsUnsaved()) return;
  show(next);
}

function press(event) {
  if (event.defaultPrevented || event.isComposing) return;
  const search = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
  if (search || (event.key === "/" && !isTyping(event.target))) {
    // The search box stands behind: it gets the key when nothing that was typed is lost by it.
    if (holdsUnsaved()) event.preventDefault();
    else leave();
    return;
  }
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  step(by);
}

function send(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method === "dialog" || form.matches("[hx-get], [hx-post], [data-leave]")) return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  const target = new URL(event.submitter?.getAttribute("formaction") || form.getAttribute("action") || asked, form.baseURI);
  if (form.method === "get") {
    target.search = new URLSearchParams(fields).toString();
    load(target.href);
  } else {
    load(target.href, { method: "POST", body: new URLSearchParams(fields) });
  }
}

// Says that something typed would be lost, and tells so; whoever asks a second time has decided.
function holdsUnsaved() {
  if (!isUnsaved) return false;
  isUnsaved = false;
  parts.unsaved.hidden = false;
  return true;
}

function leave() {
  if (!holdsUnsaved()) close();
}

function close() {
  if (!dialog.open) return;
  isLeaving = true;
  if (depth()) window.history.go(-depth());
  else settle();
}

function settle() {
  isLeaving = false;
  const url = new URL(window.location.href);
  url.searchParams.delete(OPEN);
  window.history.replaceState(window.history.state, "", url);
  dialog.close();
  // Not when the browser tells of it, which may be after the next key.
  forget();
}

function forget() {
  if (!document.documentElement.classList.contains("drawer-open")) return;
  asking?.abort();
  stopUndo();
  isUnsaved = false;
  address = "";
  parts.body.replaceChildren();
  document.documentElement.classList.remove("drawer-open");
  // A list may have been drawn anew meanwhile.
  const known = opener && !opener.isConnected ? links().find((link) => link.pathname === opener.pathname) : opener;
  (former ?? known ?? document.getElementById("content"))?.focus({ preventScroll: !known });
  opener = former = null;
}

function travel(event) {
  const id = openId();
  if (!id && !dialog.open) return;
  event.stopImmediatePropagation();
  if (isLeaving || !id) {
    settle();
    return;
  }
  const target = linkTo(id);
  opener = typeof target === "string" ? opener : target;
  open(pathOf(id));
}
