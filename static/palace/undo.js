// Counts down the time in which forgetting can be undone, then leaves the page of what is gone.

export function countDownUndo() {
  const banner = document.querySelector("[data-undo]");
  if (!banner) return;
  const left = banner.querySelector("[data-undo-left]");
  const end = Date.now() + Number(banner.dataset.undo) * 1000;
  const timer = window.setInterval(() => {
    const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    left.textContent = `in ${seconds} second${seconds === 1 ? "" : "s"}`;
    if (seconds === 0) {
      window.clearInterval(timer);
      window.location.replace(banner.dataset.undoHome);
    }
  }, 500);
}
