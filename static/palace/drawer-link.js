// The drawer itself comes with the first link that opens in it, or at once where the address names what it shows.

const OPENS = "a[data-drawer]";

let wanted = null;
let travel = () => {};

export const isPlain = (event) =>
  event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

export function offerDrawer() {
  if (!document.getElementById("drawer-template")) return;
  // Before htmx listens, which would load the page anew for an address that only the drawer has changed.
  window.addEventListener("popstate", (event) => travel(event), true);
  if (new URL(window.location.href).searchParams.has("open")) bring();
  else document.addEventListener("click", follow);
}

function follow(event) {
  const link = event.target.closest?.(OPENS);
  if (!link || event.defaultPrevented || !isPlain(event)) return;
  event.preventDefault();
  const isComing = wanted !== null;
  wanted = link;
  if (!isComing) bring();
}

async function bring() {
  try {
    const { makeDrawer } = await import("./drawer.js");
    document.removeEventListener("click", follow);
    travel = makeDrawer(wanted);
  } catch (error) {
    console.info("the drawer stays shut", error);
    // The page of the memory shows the same.
    if (wanted) window.location.assign(wanted.href);
  }
}
