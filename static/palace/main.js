// What the pages gain with scripts; every page works without them.
import { offerCopies } from "./copy.js";
import { dropStoredDraft, forgetDraftsOnLogout } from "./drafts.js";
import { offerDrawer } from "./drawer-link.js";
import { watchFailures } from "./failures.js";
import { listenForKeys } from "./keys.js";
import { watchNews } from "./news.js";
import { keepSentSearches } from "./searches.js";
import { addSliders } from "./sliders.js";
import { switchThemes } from "./theme.js";
import { countDownUndo } from "./undo.js";

document.documentElement.classList.add("scripted");
listenForKeys();
switchThemes();
offerCopies();
addSliders();
keepSentSearches();
dropStoredDraft();
forgetDraftsOnLogout();
countDownUndo();
offerDrawer();
watchFailures();
watchNews();
