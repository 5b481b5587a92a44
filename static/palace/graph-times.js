// The form above the picture: what is chosen is sent at once, and the two times can be drawn along a line.
const DAY_MS = 86_400_000;

export function watchForm() {
  const form = document.querySelector("[data-graph-form]");
  if (!form) return;
  form.addEventListener("change", ({ target }) => {
    if (target.matches("[data-graph-send], [type=date]")) form.requestSubmit();
  });
  // What is empty says nothing in the address.
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });
  form.querySelectorAll("[data-graph-time]").forEach((field) => offerSlider(form, field));
}

function offerSlider(form, field) {
  const slider = field.querySelector("[data-graph-slider]");
  const day = field.querySelector("[type=date]");
  const least = Date.parse(field.dataset.least);
  const now = document.querySelector("[data-graph-words]")?.content.querySelector("[data-word=now]")?.textContent ?? "";
  const written = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeZone: "UTC" });
  slider.hidden = false;
  slider.addEventListener("input", () => {
    const moment = new Date(least + Number(slider.value) * DAY_MS);
    const isNow = slider.value === slider.max;
    day.value = isNow ? "" : moment.toISOString().slice(0, 10);
    slider.setAttribute("aria-valuetext", isNow ? now : written.format(moment));
  });
  slider.addEventListener("change", () => form.requestSubmit());
}
