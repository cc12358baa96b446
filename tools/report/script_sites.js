/* The call stacks of allocations as a flame graph, either way up, and as a table. */

const CALLERS = ["__libc_start_call_main", "__libc_start_main", "start_thread"];
const fileName = path => path.slice(path.lastIndexOf("/") + 1);

/* What a frame is called: its function, else its module. */
function frameName(frame) {
  return (frame.function && shortName(frame.function)) || (frame.module ? fileName(frame.module) : frame.offset);
}
function framePlace(frame) {
  if (frame.source) return `${frame.source}:${frame.line}${frame.inlined ? " (inlined)" : ""}`;
  return frame.module ? `${fileName(frame.module)}+${frame.offset}` : frame.offset;
}
/* Innermost first, without the callers of main and of a thread's first function. */
function ownFrames(t, site) {
  const frames = site.frames.map(index => t.sites.frames[index]);
  const end = frames.findIndex(frame => frame.function === "main");
  if (end >= 0) return frames.slice(0, end + 1);
  const caller = frames.findIndex(frame => CALLERS.includes(frame.function));
  return caller >= 0 ? frames.slice(0, caller) : frames;
}

/* Layers between the program and the driver, which say little of who allocates. */
const BELOW = /^(libcuda|libcudart|libc10|libsluice|libffi|cudaMalloc|cuMem|at::detail::|c10::)/;
const isBelow = frame => BELOW.test(frame.function || "") || BELOW.test(fileName(frame.module || ""));
/* PyTorch's operators: the outermost is what the program called. */
const OPERATOR = /^(at::_ops::\w+::call|torch::autograd::generated::\w+::apply)/;
/* The outermost operator, else the first frame with a name that is not of those layers. */
function siteName(t, site) {
  const frames = ownFrames(t, site), named = frames.filter(frame => frame.function);
  const told = named.findLast(frame => OPERATOR.test(frame.function)) || named.find(frame => !isBelow(frame)) || named[0] || frames[0];
  if (!told) return "site " + site.site;
  if (OPERATOR.test(told.function)) return frameName(told);
  const caller = frames[frames.indexOf(told) + 1];
  const at = frame => frame.function ? `${frameName(frame)} (${fileName(framePlace(frame))})` : framePlace(frame);
  return told.source ? at(told) : frameName(told) + (caller ? " ← " + at(caller) : "");
}

/* Nodes {name, place, value, children, depth}: frames of equal name under equal callers are one. */
function flameTree(t, measure, inverted) {
  const root = {name: "all sites", place: "", value: 0, children: new Map(), parent: null, depth: 0};
  for (const site of t.sites.sites) {
    const value = site[measure], frames = inverted ? ownFrames(t, site) : ownFrames(t, site).reverse();
    if (!value) continue;
    root.value += value;
    let node = root;
    for (const frame of frames.length ? frames : [{function: "no call stack", offset: ""}]) {
      const name = frameName(frame);
      if (!frame.function && node.name === name) continue; /* nameless frames of one module */
      if (!node.children.has(name))
        node.children.set(name, {name, place: `${frame.function && frame.function !== name ? frame.function + " " : ""}${framePlace(frame)}`, value: 0, children: new Map(), parent: node, depth: node.depth + 1});
      node = node.children.get(name);
      node.value += value;
    }
  }
  const rest = t.sites.rest[measure];
  if (rest) {
    root.children.set("rest", {name: `${plural(t.sites.rest.sites, "further site")}`, place: "", value: rest, children: new Map(), parent: root, depth: 1});
    root.value += rest;
  }
  return root;
}
const childrenOf = node => [...node.children.values()].sort((a, b) => b.value - a.value);

/* Warm tints by name: the same function has the same everywhere. */
function flameTint(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return `hsl(${28 + (hash >>> 3) % 30} ${62 + (hash >>> 9) % 25}% ${66 + (hash >>> 14) % 10}%)`;
}

const ROW = 19;

function paintFlame(flame) {
  const {root, top, chosen, width} = flame, placed = [];
  const place = (node, left, right) => {
    if (right - left < 0.7) return;
    placed.push([node, left, right]);
    let at = left;
    for (const child of childrenOf(node)) {
      place(child, at, at + (right - left) * child.value / node.value);
      at += (right - left) * child.value / node.value;
    }
  };
  const above = [];
  for (let node = top.parent; node; node = node.parent) above.push(node);
  above.forEach(node => placed.push([node, 0, width]));
  place(top, 0, width);
  const deepest = most(placed.map(([node]) => node.depth));
  const svg = make("svg", {viewBox: `0 0 ${width} ${(deepest + 1) * ROW}`, height: (deepest + 1) * ROW, class: "flame", "aria-hidden": "true"});
  for (const [node, left, right] of placed) {
    const room = Math.floor((right - left - 6) / 6.6), text = room > 2 ? node.name.slice(0, room) : "";
    const box = make("g", {}, make("rect", {x: left, y: node.depth * ROW, width: Math.max(0.5, right - left), height: ROW - 1,
      fill: node === root ? "#cfd4da" : flameTint(node.name), class: node === chosen ? "chosen" : null}),
    text && make("text", {x: left + 3, y: node.depth * ROW + 13}, text));
    box.addEventListener("pointerenter", () => flame.read(node));
    box.addEventListener("click", () => { flame.top = flame.chosen = node; flame.draw(); flame.read(node); });
    svg.append(box);
  }
  replace(flame.host, svg);
}

function stepFlame(flame, key) {
  const node = flame.chosen, siblings = node.parent ? childrenOf(node.parent) : [node], i = siblings.indexOf(node);
  if (key === "ArrowDown") return childrenOf(node)[0] || node;
  if (key === "ArrowUp") return node.parent || node;
  if (key === "ArrowLeft") return siblings[i - 1] || node;
  if (key === "ArrowRight") return siblings[i + 1] || node;
  if (key === "Enter") flame.top = node;
  if (key === "Escape") flame.top = flame.root;
  return ["Enter", "Escape"].includes(key) ? node : null;
}

function flameGraph(t) {
  const host = make("div", {class: "chart", tabindex: 0, role: "group", "aria-roledescription": "flame graph",
    "aria-label": "Flame graph of allocation sites. Up and down follow calls, left and right go between siblings, Enter zooms, Escape shows all."});
  const reading = make("div", {class: "reading", "aria-live": "polite", style: {minHeight: "4.5rem"}});
  const flame = {host, width: 0, measure: "share_bytes", inverted: false};
  flame.read = node => replace(reading, make("p", {}, make("strong", {}, node.name), node.place && make("span", {}, " " + node.place),
    ` ${bytesText(node.value)}, ${percentText(flame.root.value ? node.value / flame.root.value : 0)}`));
  flame.draw = () => flame.width && paintFlame(flame);
  const rebuild = () => {
    flame.root = flame.top = flame.chosen = flameTree(t, flame.measure, flame.inverted);
    flame.draw();
    flame.read(flame.root);
  };
  host.addEventListener("keydown", event => {
    const next = stepFlame(flame, event.key);
    if (!next) return;
    event.preventDefault();
    flame.chosen = next;
    flame.draw();
    flame.read(next);
  });
  const toggle = (text, key, value) => {
    const button = make("button", {type: "button", "aria-pressed": String(flame[key] === value)}, text);
    button.addEventListener("click", () => {
      flame[key] = value;
      for (const other of button.parentNode.querySelectorAll(`[data-key=${key}]`)) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", "true");
      rebuild();
    });
    button.dataset.key = key;
    return button;
  };
  rebuild();
  drawWhenSized(host, width => { flame.width = width; flame.draw(); });
  return [make("div", {class: "tools"}, toggle("Callers first", "inverted", false), toggle("Inverted: allocator first", "inverted", true),
    toggle("At the peak", "measure", "share_bytes"), toggle("Allocated in all", "measure", "total_bytes")), host, reading];
}

function showSites(t) {
  const sites = t.sites.sites, shown = sites.filter((site, i) => i < 20 || t.shownSites.has(site.site));
  const rows = shown.map(site => [
    site.frames.length ? hidden(t.siteNames.get(site.site),
      make("ol", {class: "stack"}, ownFrames(t, site).map(frame => make("li", {}, `${frame.function || "?"}  ${framePlace(frame)}`)))) : "site " + site.site,
    bytesText(site.peak_bytes), bytesText(site.share_bytes), countText(site.allocations), bytesText(site.total_bytes),
    site.median_launches === null ? "never" : `after ${plural(site.median_launches, "launch").replace("launchs", "launches")}`,
    site.refused ? `${countText(site.refused)}, up to ${bytesText(site.refused_bytes)}` : "–"]);
  const all = sites.length + t.sites.rest.sites;
  replace(byId("sites-view"), sites.length ? flameGraph(t) : note("The trace has no allocations."),
    sites.length && table(`${plural(all, "site")}, which held ${bytesText(t.sites.peak_bytes)} at the peak; the largest`,
      ["~allocated by", "#most at one time", "#at the peak", "#allocations", "#in all", "#freed (median)", "#refused"], rows,
      shown.map(site => "site-" + site.site)));
}
