// Counts down the time in which forgetting can be undone, then leaves what is gone; gives a function that ends this.

export function countDownUndo(root = document, leave = null) {
  const banner = root.querySelector("[data-undo]");
  if (!banner) return () => {};
  const left = banner.querySelector("[data-undo-left]");
  const end = Date.now() + Number(banner.dataset.undo) * 1000;
  const timer = window.setInterval(() => {
    const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    const { undoOne, undoMany } = banner.dataset;
    left.textContent = seconds === 1 ? undoOne : undoMany.replace("{seconds}", seconds);
    if (seconds === 0) {
      window.clearInterval(timer);
      if (leave) leave();
      else window.location.replace(banner.dataset.undoHome);
    }
  }, 500);
  return () => window.clearInterval(timer);
}
