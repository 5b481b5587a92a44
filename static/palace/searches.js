// A search that was sent stands: a preview whose keystroke came before it and that still waits is dropped, since it would
// take the place of the results.
export function keepSentSearches() {
  const form = document.getElementById("recall");
  if (!form) return;
  let sent = -1;
  form.addEventListener("submit", ({ timeStamp }) => (sent = timeStamp), true);
  form.addEventListener("htmx:confirm", (event) => {
    const began = event.detail.triggeringEvent;
    if (event.target !== form && began && began.timeStamp <= sent) event.preventDefault();
  });
}
