// A slider beside each number field that asks for one; the field stays what is sent.

function add(field) {
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = field.min;
  slider.max = field.max;
  slider.step = field.step || "1";
  slider.value = field.value || field.min;
  slider.tabIndex = -1;
  slider.setAttribute("aria-hidden", "true");
  slider.addEventListener("input", () => {
    field.value = slider.value;
  });
  slider.addEventListener("change", () => field.dispatchEvent(new Event("change", { bubbles: true })));
  field.addEventListener("input", () => {
    slider.value = field.value || field.min;
  });
  const pair = document.createElement("span");
  pair.className = "pair";
  field.replaceWith(pair);
  pair.append(field, slider);
}

export function addSliders(root = document) {
  for (const field of root.querySelectorAll("input[type=number][data-slider]")) add(field);
}
