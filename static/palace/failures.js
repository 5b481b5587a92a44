// Says so when an answer did not come, and takes it back with the next one that does.

export function watchFailures() {
  const notice = document.getElementById("failure");
  if (!notice) return;
  const show = () => {
    notice.hidden = false;
  };
  document.body.addEventListener("htmx:responseError", show);
  document.body.addEventListener("htmx:sendError", show);
  document.body.addEventListener("htmx:timeout", show);
  document.body.addEventListener("htmx:afterSwap", () => {
    notice.hidden = true;
  });
}
