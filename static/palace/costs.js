// Shows a warning about a budget as soon as its limit is reached.
import { watch } from "./live.js";

watch("budget", () => window.htmx.ajax("GET", window.location.href, { target: "#warnings", select: "#warnings", swap: "outerHTML" }));
