// The admin: the switch of the colours, the keys, and ticking all rows of a page at once. Everything else is plain pages.

import { watchFailures } from "./failures.js";
import { listenForKeys } from "./keys.js";
import { switchThemes } from "./theme.js";

function tickAll() {
  for (const bar of document.querySelectorAll("[data-row-actions]")) {
    const all = bar.querySelector("[data-all]");
    const rows = [...bar.closest("form").querySelectorAll("input[name='_selected_action']")];
    all.hidden = false;
    bar.querySelector("[data-all-label]").hidden = false;
    all.addEventListener("change", () => {
      for (const row of rows) row.checked = all.checked;
    });
  }
}

document.documentElement.classList.add("scripted");
listenForKeys();
switchThemes();
tickAll();
watchFailures();
