// Says so when an answer did not come, and takes it back with the next one that does.

// What stands in for a server that does not answer: a whole page, such as that of a proxy, or anything but a part of one.
const isPart = (text) => /^\s*<(?!!doctype\b|html\b)/i.test(text);

export function watchFailures() {
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status < 500 || isPart(detail.serverResponse)) return;
    // In the place of a part it would take away what is shown, and what asks again.
    detail.shouldSwap = false;
    detail.isError = true;
  });
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
