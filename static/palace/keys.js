// Keys of the search: / and Ctrl or Cmd+K go to it, arrows walk through the results, Enter opens, Esc goes back.

const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");

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
    box.value = "";
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    const palette = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (palette || (plain && event.key === "/" && !isTyping(event.target))) goToSearch(event);
    else if (plain && event.key === "ArrowDown") walk(event, 1);
    else if (plain && event.key === "ArrowUp") walk(event, -1);
    else if (plain && event.key === "Escape") goBack(event);
  });
}
