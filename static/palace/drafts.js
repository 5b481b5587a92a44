// Drafts of files, kept in this browser until they are saved; logging out forgets them.

const PREFIX = "loci-draft:";

export function draftOf(name) {
  try {
    return JSON.parse(window.localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function keepDraft(name, draft) {
  try {
    window.localStorage.setItem(PREFIX + name, JSON.stringify(draft));
  } catch {
    // Storage is full or closed: the text is still in the editor, and leaving the page asks first.
  }
}

export function dropDraft(name) {
  window.localStorage.removeItem(PREFIX + name);
}

export function sendDraft(name) {
  const draft = draftOf(name);
  if (draft) keepDraft(name, { ...draft, sent: true });
}

// Only the page of what was stored shows that what was sent has arrived.
export function dropStoredDraft() {
  const name = document.querySelector("[data-draft-stored]")?.dataset.draftStored;
  if (name && draftOf(name)?.sent) dropDraft(name);
}

export function forgetDraftsOnLogout() {
  document.querySelector("form.leave")?.addEventListener("submit", () => {
    for (const key of Object.keys(window.localStorage)) {
      if (key.startsWith(PREFIX)) window.localStorage.removeItem(key);
    }
  });
}
