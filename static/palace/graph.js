// The picture of the graph, drawn by sigma from what the page holds. Without WebGL the bubbles stay.
import { watchForm } from "./graph-times.js";

const MEMORY = 1;
const INFERRED = 2;
const CONTESTED = 4;
const NOBODY = "00000000-0000-0000-0000-000000000000";
const HUES = 8;
const TURNED_MS = 200;
const MANY = 300;
const PAN = 0.12;
const CLOSER = 1.5;
const PAINTED = "loci-graph-painted";

const isStill = window.matchMedia("(prefers-reduced-motion: reduce)");

watchForm();
const root = document.querySelector("[data-graph]");
if (root) start(root);

async function start(box) {
  const stage = box.querySelector("[data-graph-stage]");
  if (!canDraw()) return;
  try {
    const data = JSON.parse(document.querySelector("[data-graph-data]").textContent);
    const programs = await import("./graph-programs.js");
    box.querySelector("[data-graph-bubbles]").hidden = true;
    for (const part of ["stage", "zoom", "keys"]) box.querySelector(`[data-graph-${part}]`).hidden = false;
    new Picture(box, stage, data, programs);
  } catch (error) {
    box.querySelector("[data-graph-bubbles]").hidden = false;
    for (const part of ["stage", "zoom", "keys"]) box.querySelector(`[data-graph-${part}]`).hidden = true;
    box.querySelector("[data-graph-failure]").hidden = false;
    console.info("the graph stays a list", error);
  }
}

function canDraw() {
  if (!globalThis.Sigma || !globalThis.graphology) return false;
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") ?? canvas.getContext("webgl"));
}

class Picture {
  constructor(box, stage, data, { Things, Lines }) {
    Object.assign(this, { box, stage, data });
    this.chosen = null;
    this.near = new Set();
    this.list = box.querySelector("[data-graph-list]");
    this.card = box.querySelector("[data-graph-chosen]");
    const words = document.querySelector("[data-graph-words]").content;
    this.words = Object.fromEntries([...words.querySelectorAll("[data-word]")].map((one) => [one.dataset.word, one.textContent]));
    this.order = data.nodes.map(([id]) => id);
    this.readColours();
    this.graph = this.build();
    this.renderer = new globalThis.Sigma(this.graph, stage, {
      nodeProgramClasses: { thing: Things },
      edgeProgramClasses: { line: Lines },
      defaultNodeType: "thing",
      defaultEdgeType: "line",
      labelFont: getComputedStyle(document.body).fontFamily,
      labelSize: 12,
      labelWeight: "550",
      labelColor: { attribute: "labelColour" },
      labelDensity: 0.6,
      labelGridCellSize: 110,
      labelRenderedSizeThreshold: data.nodes.length > MANY ? 9 : 5,
      stagePadding: 46,
      zIndex: true,
      minCameraRatio: 0.04,
      maxCameraRatio: 3,
      hideEdgesOnMove: data.links.length > 2000,
      nodeReducer: (id, attributes) => this.shownThing(id, attributes),
      edgeReducer: (id, attributes) => this.shownLink(id, attributes),
      defaultDrawNodeHover: (context, node) => this.drawChosen(context, node),
    });
    this.listen();
    // The renderer has drawn by now; the next frame shows it.
    requestAnimationFrame(() => performance.mark(PAINTED));
    stage.dataset.graphReady = String(data.nodes.length);
  }

  readColours() {
    const probe = document.createElement("span");
    this.stage.append(probe);
    const of = (name) => {
      probe.className = name;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    this.hues = Array.from({ length: HUES }, (_, hue) => of(`hue-${hue}`));
    const names = ["ground", "ink", "line", "muted", "ring", "accent", "surface"];
    this.colours = Object.fromEntries(names.map((name) => [name, of(`graph-${name}`)]));
    probe.remove();
  }

  build() {
    const graph = new globalThis.graphology.MultiGraph();
    const small = this.data.nodes.length > MANY ? 0.65 : 1;
    this.data.nodes.forEach(([id, label, flags, kind, category, community, importance, confidence, , , x, y], place) => {
      graph.addNode(id, {
        x: x / 100,
        y: y / 100,
        place,
        label: label || this.data.kinds[kind],
        size: (4 + 9 * Math.sqrt(importance / 100)) * small,
        shape: this.shapeOf(flags, this.data.kinds[kind]),
        flags,
        zIndex: this.data.nodes.length - place,
        ...this.colourOf(flags, category, community, confidence),
      });
    });
    this.data.links.forEach(([source, target, word, weight, inferred], place) => {
      graph.addEdgeWithKey(String(place), this.order[source], this.order[target], {
        word,
        weight,
        dashed: Boolean(inferred),
        size: 0.6 + (1.8 * weight) / 100,
        color: mixed(this.colours.line, this.colours.muted, (weight / 100) * 0.55),
      });
    });
    return graph;
  }

  shapeOf(flags, kind) {
    if (!(flags & MEMORY)) return 3;
    if (flags & INFERRED) return 2;
    return kind === this.box.dataset.turn ? 1 : 0;
  }

  colourOf(flags, category, community, confidence) {
    const byCommunity = this.box.dataset.colour === "community";
    const hue = byCommunity ? (this.data.communities[community]?.[2] ?? HUES - 1) : this.data.categories[category][1];
    return {
      color: mixed(this.colours.ground, this.hues[hue], 0.4 + (0.6 * confidence) / 100),
      ring: flags & CONTESTED ? mixed(this.colours.ring, this.colours.ring, 0) : "rgba(0,0,0,0)",
      labelColour: mixed(this.colours.ink, this.colours.ink, 0),
    };
  }

  recolour() {
    this.readColours();
    this.data.nodes.forEach(([id, , flags, , category, community, , confidence]) => {
      this.graph.mergeNodeAttributes(id, this.colourOf(flags, category, community, confidence));
    });
    this.graph.updateEachEdgeAttributes((_, attributes) => ({
      ...attributes,
      color: mixed(this.colours.line, this.colours.muted, (attributes.weight / 100) * 0.55),
    }));
    this.renderer.refresh();
  }

  get active() {
    return this.hovered ?? this.chosen;
  }

  shownThing(id, attributes) {
    if (!this.active) return attributes;
    if (id === this.active) return { ...attributes, highlighted: true, forceLabel: true, zIndex: 1e6 };
    if (this.near.has(id)) return { ...attributes, forceLabel: this.near.size < 25 };
    const faint = mixed(this.colours.ground, this.colours.muted, 0.22);
    return { ...attributes, color: faint, ring: "rgba(0,0,0,0)", label: "", zIndex: 0 };
  }

  shownLink(id, attributes) {
    if (!this.active) return attributes;
    const isNear = this.graph.hasExtremity(id, this.active);
    return isNear ? { ...attributes, color: mixed(this.colours.accent, this.colours.accent, 0), size: attributes.size + 0.6, zIndex: 1 } : { ...attributes, hidden: true };
  }

  drawChosen(context, node) {
    const colour = (name) => mixed(this.colours[name], this.colours[name], 0);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(node.x, node.y, node.size + 5, 0, Math.PI * 2);
    context.stroke();
    if (!node.label) return;
    context.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
    const width = context.measureText(node.label).width;
    const [left, top] = [node.x + node.size + 9, node.y - 10];
    context.fillStyle = colour("surface");
    context.fillRect(left - 4, top, width + 8, 20);
    context.lineWidth = 1;
    context.strokeRect(left - 4, top, width + 8, 20);
    context.fillStyle = colour("ink");
    context.fillText(node.label, left, node.y + 4);
  }

  light(id) {
    this.near = new Set(id ? this.graph.neighbors(id) : []);
    this.renderer.refresh({ skipIndexation: true });
  }

  choose(id, { follow = true, list = true } = {}) {
    this.chosen = id;
    this.light(this.active);
    this.list?.querySelectorAll("li[aria-current]").forEach((row) => row.removeAttribute("aria-current"));
    if (!id) {
      this.card.hidden = true;
      return;
    }
    this.describe(id);
    const row = list ? this.list?.querySelector(`li[data-node="${id}"]`) : null;
    this.list?.querySelector(`li[data-node="${id}"]`)?.setAttribute("aria-current", "true");
    if (row) row.parentElement.scrollTop = row.offsetTop - row.parentElement.offsetTop - 40;
    if (follow) this.bringIntoView(id);
  }

  describe(id) {
    const [, label, flags, kind, , , , confidence, , more] = this.data.nodes[this.graph.getNodeAttribute(id, "place")];
    const links = this.graph.degree(id);
    const said = [this.data.kinds[kind], `${links} ${this.words.links}`];
    if (more) said.push(`${more} ${this.words.more}`);
    if (flags & MEMORY) said.push(`${confidence} % ${this.words.sure}`);
    if (flags & INFERRED) said.push(this.words.inferred);
    if (flags & CONTESTED) said.push(this.words.contested);
    const name = document.createElement("bdi");
    name.textContent = label;
    const about = document.createElement("span");
    about.className = "muted";
    about.textContent = said.join(" · ");
    this.card.replaceChildren(name, " ", about, " ", this.link(id, "open"), " ", this.link(id, "around"));
    this.card.hidden = false;
  }

  link(id, sort) {
    const isMemory = Boolean(this.graph.getNodeAttribute(id, "flags") & MEMORY);
    const addresses = this.box.dataset;
    const link = document.createElement("a");
    link.textContent = this.words[sort];
    if (sort === "open") {
      link.href = (isMemory ? addresses.memoryAddress : addresses.entityAddress).replace(NOBODY, id);
      link.toggleAttribute("data-drawer", isMemory);
      link.dataset.graphOpen = "";
    } else {
      link.href = (isMemory ? addresses.aroundMemory : addresses.aroundEntity).replace(NOBODY, id);
    }
    return link;
  }

  bringIntoView(id) {
    const { x, y } = this.renderer.getNodeDisplayData(id);
    const seen = this.renderer.framedGraphToViewport({ x, y });
    const { width, height } = this.renderer.getDimensions();
    const edge = 40;
    if (seen.x > edge && seen.y > edge && seen.x < width - edge && seen.y < height - edge) return;
    this.move({ x, y });
  }

  listen() {
    const { renderer, stage } = this;
    renderer.on("enterNode", ({ node }) => this.hover(node));
    renderer.on("leaveNode", () => this.hover(null));
    renderer.on("clickNode", ({ node }) => this.choose(node, { follow: false }));
    renderer.on("clickStage", () => this.choose(null));
    renderer.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      this.open(node);
    });
    stage.addEventListener("keydown", (event) => this.press(event));
    // The wheel is the page's until the picture is what one works with.
    stage.addEventListener("wheel", (event) => event.ctrlKey || stage.contains(document.activeElement) || event.stopPropagation(), { capture: true });
    stage.addEventListener("pointerdown", () => stage.focus({ preventScroll: true }));
    this.box.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => this.zoom(button.dataset.zoom)));
    this.list?.addEventListener("focusin", ({ target }) => this.follow(target));
    this.list?.addEventListener("pointerover", ({ target }) => this.hover(this.nodeOf(target)));
    this.list?.addEventListener("pointerleave", () => this.hover(null));
    new MutationObserver(() => this.recolour()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  nodeOf(element) {
    const id = element.closest?.("li[data-node]")?.dataset.node;
    return id && this.graph.hasNode(id) ? id : null;
  }

  follow(element) {
    const id = this.nodeOf(element);
    if (id && id !== this.chosen) this.choose(id, { list: false });
  }

  hover(id) {
    if (id === this.hovered) return;
    this.hovered = id;
    this.stage.classList.toggle("on-thing", Boolean(id));
    this.light(this.active);
  }

  press(event) {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const act = this.act(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  act({ key, shiftKey }) {
    const place = this.chosen ? this.order.indexOf(this.chosen) : -1;
    const far = PAN * (shiftKey ? 3 : 1);
    switch (key) {
      case "Tab": {
        // At either end the focus goes on, so that nobody is kept here.
        const next = this.order[place + (shiftKey ? -1 : 1)];
        return next ? () => this.choose(next) : null;
      }
      case "Enter": return this.chosen ? () => this.open(this.chosen) : null;
      case "Escape": return () => this.leave();
      case "ArrowLeft": return () => this.pan(-far, 0);
      case "ArrowRight": return () => this.pan(far, 0);
      case "ArrowUp": return () => this.pan(0, far);
      case "ArrowDown": return () => this.pan(0, -far);
      case "+": case "=": return () => this.zoom("in");
      case "-": case "−": return () => this.zoom("out");
      case "0": return () => this.zoom("fit");
      default: return null;
    }
  }

  pan(right, up) {
    const { x, y, ratio } = this.renderer.getCamera().getState();
    this.move({ x: x + right * ratio, y: y + up * ratio });
  }

  zoom(way) {
    const { ratio } = this.renderer.getCamera().getState();
    if (way === "in") this.move({ ratio: ratio / CLOSER });
    else if (way === "out") this.move({ ratio: ratio * CLOSER });
    else this.move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  move(state) {
    const camera = this.renderer.getCamera();
    if (isStill.matches) camera.setState(state);
    else camera.animate(state, { duration: TURNED_MS });
  }

  open(id) {
    if (id !== this.chosen) this.choose(id, { follow: false });
    this.card.querySelector("[data-graph-open]").click();
  }

  leave() {
    // The list chooses what gets the focus in it, so this comes first.
    (this.list?.querySelector("a") ?? this.stage).focus();
    this.choose(null);
  }
}

function mixed(from, to, share) {
  return `rgb(${from.map((part, place) => Math.round(part + (to[place] - part) * share)).join(",")})`;
}
