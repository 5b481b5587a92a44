// One box that ticks all of the page.

const all = document.querySelector("[data-choose-all]");
const boxes = () => [...document.querySelectorAll('input[name="id"][form="chosen"]')];

if (all) {
  const master = all.querySelector("input");
  all.hidden = false;
  const follow = () => {
    const ticked = boxes().filter((box) => box.checked).length;
    master.checked = ticked > 0 && ticked === boxes().length;
    master.indeterminate = ticked > 0 && ticked < boxes().length;
  };
  master.addEventListener("change", () => {
    for (const box of boxes()) box.checked = master.checked;
  });
  document.addEventListener("change", ({ target }) => {
    if (target !== master) follow();
  });
  follow();
}
