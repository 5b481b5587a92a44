// The search page: what a slider stands at is written beside it, and the form for a filter is empty again once it was used.

function said(slider) {
  const { said: form, never, day, days } = slider.dataset;
  const value = Number(slider.value);
  if (form === "percent") return `${value} %`;
  if (form === "number") return value.toFixed(2);
  if (value >= Number(slider.max)) return never;
  return (value === 1 ? day : days).replace("{days}", value);
}

document.addEventListener("input", ({ target }) => {
  if (!target.matches?.(".slider input[type=range]")) return;
  const words = said(target);
  target.setAttribute("aria-valuetext", words);
  document.getElementById(`said-${target.name}`).value = words;
});

const form = document.getElementById("recall");

form.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.elt !== form || !detail.successful) return;
  for (const field of form.querySelectorAll("[data-adding] :is(input, select)")) {
    if (field.tagName === "SELECT") field.selectedIndex = 0;
    else field.value = "";
  }
});
