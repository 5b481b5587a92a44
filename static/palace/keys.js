// Keys of the search: / and Ctrl or Cmd+K go to it, arrows walk through the results, Enter opens, Esc goes back. ? shows
// all keys, which pages declare in `<template data-keys="heading">` with rows of a table.

const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");

// What the search box held when its results were last asked for on purpose: where Esc goes back to.
let former = "";

function links() {
  return [...document.querySelectorAll("[data-hits] .hit-text")];
}

function goToSearch(event) {
  event.preventDefault();
  const box = document.getElementById("q");
  if (box) {
    box.focus();
    box.select();
  } else if (document.body.dataset.searchPage) {
    window.location.assign(document.body.dataset.searchPage);
  }
}

function walk(event, step) {
  const box = document.getElementById("q");
  const all = links();
  const at = all.indexOf(document.activeElement);
  if (!box || !all.length || (at < 0 && document.activeElement !== box)) return;
  event.preventDefault();
  (at + step < 0 ? box : all[Math.min(at + step, all.length - 1)]).focus();
}

function goBack(event) {
  const box = document.getElementById("q");
  if (!box) return;
  if (links().includes(document.activeElement)) {
    event.preventDefault();
    box.focus();
  } else if (document.activeElement === box && box.value) {
    event.preventDefault();
    // Once more in the former view empties the box.
    if (box.value === former) former = "";
    box.value = former;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function rememberView() {
  const box = document.getElementById("q");
  if (!box) return;
  former = box.value;
  document.getElementById("recall")?.addEventListener("submit", () => (former = box.value), true);
}

function showKeys() {
  const dialog = document.getElementById("all-keys");
  if (!dialog || dialog.open || document.querySelector("dialog[open]")) return;
  const tables = [...document.querySelectorAll("template[data-keys]")].map((template) => {
    const table = document.createElement("table");
    const body = document.createElement("tbody");
    const caption = document.createElement("caption");
    caption.textContent = template.dataset.keys;
    body.append(template.content.cloneNode(true));
    table.append(caption, body);
    return table;
  });
  dialog.querySelector("[data-keys-body]").replaceChildren(...tables);
  // The browser gives the focus back to where it was when this closes.
  dialog.showModal();
}

function offerKeys() {
  for (const button of document.querySelectorAll("[data-keys-open]")) {
    button.hidden = false;
    button.addEventListener("click", showKeys);
  }
}

export function listenForKeys() {
  rememberView();
  offerKeys();
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    const palette = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (document.querySelector("dialog[open]")) return;
    if (palette || (plain && event.key === "/" && !isTyping(event.target))) goToSearch(event);
    else if (plain && event.key === "?" && !isTyping(event.target)) showKeys();
    else if (plain && event.key === "ArrowDown") walk(event, 1);
    else if (plain && event.key === "ArrowUp") walk(event, -1);
    else if (plain && event.key === "Escape") goBack(event);
  });
}
