// The editor of files: counts, a draft that outlives the page, and a question before unsaved text is left.
import { draftOf, dropDraft, keepDraft } from "./drafts.js";

const DELAY = 300;

function edit(form) {
  const editor = form.querySelector("[data-editor]");
  const [lines, characters, unsaved, offer] = ["lines", "characters", "unsaved", "draft-offer"].map((name) =>
    form.querySelector(`[data-${name}]`),
  );
  const { draft: name, draftVersion: version = "" } = form.dataset;
  const loaded = editor.value;
  let leaving = false;
  let timer = 0;

  const changed = () => "unsavedText" in form.dataset || editor.value !== loaded;
  const count = () => {
    lines.textContent = editor.value ? editor.value.split("\n").length : 0;
    characters.textContent = [...editor.value].length;
    unsaved.hidden = !changed();
  };
  const keep = () => {
    if (changed()) keepDraft(name, { text: editor.value, version });
    else dropDraft(name);
  };
  editor.addEventListener("input", () => {
    count();
    window.clearTimeout(timer);
    timer = window.setTimeout(keep, DELAY);
  });
  form.addEventListener("submit", () => {
    keep();
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    window.clearTimeout(timer);
    if (leaving || !changed()) return;
    keep();
    event.preventDefault();
  });
  window.addEventListener("pageshow", () => {
    leaving = false;
  });

  // A new file was typed under another name; what is stored needs no draft any more.
  const { draftNew } = form.dataset;
  if (draftNew && draftOf(draftNew)?.text === loaded) dropDraft(draftNew);
  const kept = draftOf(name);
  if (kept && typeof kept.text === "string" && kept.text !== loaded) {
    offer.hidden = false;
    offer.querySelector("[data-draft-take]").addEventListener("click", () => {
      editor.value = kept.text;
      // Saved over what it was made from: where that changed meanwhile, the server compares the two.
      const made = form.querySelector("[name=version]");
      if (made && kept.version) made.value = kept.version;
      offer.hidden = true;
      count();
      editor.focus();
    });
    offer.querySelector("[data-draft-drop]").addEventListener("click", () => {
      dropDraft(name);
      offer.hidden = true;
      editor.focus();
    });
  } else if (kept && kept.text === loaded && !("unsavedText" in form.dataset)) {
    dropDraft(name);
  }
  count();
}

for (const form of document.querySelectorAll("form[data-draft]")) edit(form);
