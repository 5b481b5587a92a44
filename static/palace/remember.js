// What is typed is kept in this browser until it is saved, so that closing the window loses nothing.
import { draftOf, dropDraft, keepDraft, sendDraft } from "./drafts.js";

const form = document.querySelector("[data-draft-form]");
const fields = () => [...form.elements].filter((field) => field.name && field.name !== "csrfmiddlewaretoken" && field.type !== "submit");

function restore(name) {
  const draft = draftOf(name);
  if (!draft?.content?.trim()) return;
  for (const field of fields()) if (field.name in draft) field.value = draft[field.name];
  const told = form.querySelector("[data-draft-found]");
  told.hidden = false;
  told.querySelector("[data-draft-drop]").addEventListener("click", () => {
    dropDraft(name);
    form.reset();
    told.hidden = true;
    form.elements.content.focus();
  });
}

if (form) {
  const name = form.dataset.draftForm;
  if ("draftFresh" in form.dataset) restore(name);
  form.addEventListener("input", () => keepDraft(name, Object.fromEntries(fields().map((field) => [field.name, field.value]))));
  form.addEventListener("submit", ({ submitter }) => {
    if (!submitter?.hasAttribute("formaction")) sendDraft(name);
  });
}
