// The theme changes at once; the cookie tells the server, so that the next page comes in its colours.

const KEPT_SECONDS = 31536000;

export function switchThemes() {
  for (const form of document.querySelectorAll("[data-theme-form]")) {
    form.addEventListener("submit", (event) => {
      const chosen = event.submitter?.value;
      if (!chosen) return;
      event.preventDefault();
      const secure = window.location.protocol === "https:" ? "; Secure" : "";
      document.cookie = `loci_theme=${chosen}; Path=/; Max-Age=${KEPT_SECONDS}; SameSite=Lax${secure}`;
      if (chosen === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = chosen;
      for (const button of form.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.value === chosen));
      }
    });
  }
}
