// What a test asks of a page that is open. Each gives a list of what is wrong, in words for whoever reads the failure.
window.inspection = (() => {
  const CONTROLS = "button, .button, label, summary, legend, nav a, .tabs a, th, .tag";
  const MARK = "‮";

  function named(element) {
    const place = element.id ? `#${element.id}` : `${element.localName}.${element.getAttribute("class") ?? ""}`;
    return `${place} "${element.textContent.trim().slice(0, 40)}"`;
  }

  function isShown(element) {
    return element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  }

  // Everything that only words could have made.
  function made() {
    const wanted = "[onerror], [onclick], [onload], [data-planted], img[src='q'], iframe, object, embed, base";
    const scripts = [...document.querySelectorAll("script")].filter((one) => !one.src && !isData(one));
    const links = [...document.querySelectorAll("a, area, form, button")].filter((one) =>
      [one.getAttribute("href"), one.getAttribute("action"), one.getAttribute("formaction")].some((address) =>
        /^\s*(javascript|data|vbscript):/i.test(address ?? ""),
      ),
    );
    return [...document.querySelectorAll(wanted), ...scripts, ...links].map((one) => one.outerHTML.slice(0, 200));
  }

  function isData(script) {
    return script.type === "application/json";
  }

  // Words that turn the direction of writing, where nothing keeps them from turning what stands beside them; each text of
  // a drawing stands for itself.
  function turning() {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const parent = texts.currentNode.parentElement;
      if (!texts.currentNode.data.includes(MARK) || parent.closest("script, title, svg text, .hidden-text, [dir], bdi")) continue;
      found.push(named(parent));
    }
    for (const field of document.querySelectorAll("input:not([type=hidden]), textarea")) {
      if (field.value.includes(MARK) && !field.closest("[dir]")) found.push(named(field) + field.name);
    }
    return found;
  }

  function sideways() {
    const room = window.innerWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const wide = [...document.body.querySelectorAll("*")].filter(
      (one) => isShown(one) && one.getBoundingClientRect().right > room + 1 && !scrollsItself(one),
    );
    return [`${document.documentElement.scrollWidth} > ${room}`, ...wide.slice(0, 4).map(named)];
  }

  function scrollsItself(element) {
    for (let one = element.parentElement; one; one = one.parentElement) {
      if (one !== document.body && getComputedStyle(one).overflowX !== "visible") return true;
    }
    return false;
  }

  // Words of controls that do not fit into them.
  function clipped() {
    return [...document.querySelectorAll(CONTROLS)]
      .filter((one) => isShown(one) && one.clientWidth > 1 && !one.matches(".hidden-text"))
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 4)
      .map((one) => `${named(one)} ${one.scrollWidth}>${one.clientWidth} ${one.scrollHeight}>${one.clientHeight}`);
  }

  function overlapping() {
    const top = document.querySelector("header.top");
    if (!top) return [];
    const found = [];
    window.scrollTo(0, 0);
    const rail = document.querySelector(".rail");
    const parts = [...top.children].filter((one) => isShown(one) && one.clientWidth && one !== rail);
    parts.forEach((one, place) => {
      for (const other of parts.slice(place + 1)) {
        if (meet(one.getBoundingClientRect(), other.getBoundingClientRect())) {
          found.push(`${named(one)} over ${named(other)}`);
        }
      }
    });
    const content = document.querySelector("main > *");
    if (content && meet(top.getBoundingClientRect(), content.getBoundingClientRect())) found.push("header over content");
    return found;
  }

  function meet(one, other) {
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return wide > 1 && high > 1;
  }

  // Rules that move something for longer than a blink, of those that hold now.
  function moving() {
    const found = [];
    for (const sheet of document.styleSheets) collect(sheet.cssRules, found);
    return found;
  }

  function collect(rules, found) {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule && !window.matchMedia(rule.media.mediaText).matches) continue;
      if (rule instanceof CSSStyleRule) {
        const { transitionDuration, animationDuration } = rule.style;
        if (longest(transitionDuration) > 10 || longest(animationDuration) > 10) found.push(rule.cssText);
      }
      if (rule.cssRules) collect(rule.cssRules, found);
    }
  }

  function longest(durations) {
    return Math.max(0, ...durations.split(",").map((one) => parseFloat(one) * (/\dms/.test(one) ? 1 : 1000) || 0));
  }

  // Things that take the focus and do not show it.
  function unseen() {
    const able = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
    return [...document.querySelectorAll(able)]
      .filter((one) => isShown(one) && !one.disabled)
      .filter((one) => {
        one.focus({ focusVisible: true, preventScroll: true });
        if (document.activeElement !== one) return false;
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        return outlineStyle === "none" || parseFloat(outlineWidth) < 2;
      })
      .map(named);
  }

  function openAll() {
    for (const one of document.querySelectorAll("details:not(.menu)")) one.open = true;
  }

  return { made, turning, sideways, clipped, overlapping, moving, unseen, openAll };
})();
