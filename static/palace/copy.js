// Buttons that copy a command; where the clipboard is closed, the text is selected for copying by hand. What they say then
// stands in `data-copied` and `data-selected` of the page's body.

async function copy(button, source) {
  const text = source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = document.body.dataset.copied;
  } catch {
    window.getSelection().selectAllChildren(source);
    button.textContent = document.body.dataset.selected;
  }
}

export function offerCopies() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", () => copy(button, source));
  }
}
