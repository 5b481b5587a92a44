// Buttons that copy a command; where the clipboard is closed, the text is selected for copying by hand.

async function copy(button, source) {
  const text = source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    window.getSelection().selectAllChildren(source);
    button.textContent = "Selected, press Ctrl+C";
  }
}

export function offerCopies() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", () => copy(button, source));
  }
}
