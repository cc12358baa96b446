/* The call stacks of allocations as a flame graph, either way up, and as a table. */

const fileName = path => path.slice(path.lastIndexOf("/") + 1);

/* What a frame is called: its function, else its module. */
function frameName(frame) {
  if (frame.python) return frame.function;
  return (frame.function && shortName(frame.function)) || (frame.module ? fileName(frame.module) : frame.offset);
}
function framePlace(frame) {
  if (frame.python) return frame.file + (frame.line ? ":" + frame.line : "");
  if (frame.source) return `${frame.source}:${frame.line}${frame.inlined ? " (inlined)" : ""}`;
  return frame.module ? `${fileName(frame.module)}+${frame.offset}` : frame.offset || "";
}
/* The call stack, innermost first: frames of C, and outside of them those of Python, if the site has any. */
function stackOf(t, site) {
  return [...site.frames.slice(0, site.own_frames).map(index => t.sites.frames[index]),
    ...site.python.map(index => ({...t.sites.python[index], python: true}))];
}

/* What PyTorch calls them; the rest is counted. */
function tensorsOf(site) {
  const rest = site.tensor_count - site.tensors.length;
  return site.tensor_count > 0 && make("p", {}, `Tensors: ${site.tensors.join(", ")}${rest ? ` and ${countText(rest)} more` : ""}`);
}

/* PyTorch calls each module's forward through these. */
const isPassedOn = frame => frame.python && /^Module\._(wrapped_)?call_impl$/.test(frame.function);
/* The stack for the graph: without what is in every stack, and with each run of the interpreter's frames as one. */
function flameFrames(t, site) {
  const frames = [];
  for (const frame of stackOf(t, site)) {
    if (isPassedOn(frame)) continue;
    if (!frame.interpreter) frames.push(frame);
    else if (!frames.length || !frames[frames.length - 1].cpython) frames.push({function: "CPython", cpython: true});
  }
  return frames.length ? frames : [{function: "no call stack"}];
}

const newNode = (name, value, parent) => ({name, value, parent, python: false, place: "", lines: new Set(), children: new Map(), depth: parent ? parent.depth + 1 : 0});
/* Where the code of a node is. Lines of a function of Python are one node. */
function nodePlace(node) {
  const lines = [...node.lines].sort((a, b) => a - b);
  return node.place + (lines.length ? ":" + lines.join(", ") : "");
}

/* Frames of equal name under equal callers are one node. */
function flameTree(t, measure, inverted) {
  const root = newNode("all sites", 0, null);
  for (const site of t.sites.sites) {
    const value = site[measure], frames = flameFrames(t, site);
    if (!value) continue;
    root.value += value;
    let node = root;
    for (const frame of inverted ? frames : frames.reverse()) {
      const name = frameName(frame), key = frame.python ? `${name} ${frame.file}` : name;
      if (!frame.function && node.name === name) continue; /* nameless frames of one module */
      if (!node.children.has(key)) {
        const child = newNode(name, 0, node);
        child.python = Boolean(frame.python);
        child.place = frame.python ? "Python " + frame.file : `${frame.function && frame.function !== name ? frame.function + " " : ""}${framePlace(frame)}`;
        node.children.set(key, child);
      }
      node = node.children.get(key);
      node.value += value;
      if (frame.python && frame.line) node.lines.add(frame.line);
    }
  }
  const rest = t.sites.rest[measure];
  if (rest) {
    root.children.set("rest", newNode(`${plural(t.sites.rest.sites, "further site")}`, rest, root));
    root.value += rest;
  }
  return root;
}
const childrenOf = node => [...node.children.values()].sort((a, b) => b.value - a.value);

/* Tints by name, the same for a function everywhere: warm ones, and cool ones for Python. */
function flameTint({name, python}) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return `hsl(${(python ? 190 : 28) + (hash >>> 3) % 30} ${62 + (hash >>> 9) % 25}% ${66 + (hash >>> 14) % 10}%)`;
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
      fill: node === root ? "#cfd4da" : flameTint(node), class: node === chosen ? "chosen" : null}),
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
  flame.read = node => replace(reading, make("p", {}, make("strong", {}, node.name), nodePlace(node) && make("span", {}, " " + nodePlace(node)),
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
    site.frames.length || site.python.length ? hidden(t.siteNames.get(site.site),
      make("ol", {class: "stack"}, stackOf(t, site).map(frame => make("li", {}, `${frame.python ? "Python " : ""}${frame.function || "?"}  ${framePlace(frame)}`))), tensorsOf(site)) : "site " + site.site,
    bytesText(site.peak_bytes), bytesText(site.share_bytes), countText(site.allocations), bytesText(site.total_bytes),
    site.median_launches === null ? "never" : `after ${plural(site.median_launches, "launch").replace("launchs", "launches")}`,
    site.refused ? `${countText(site.refused)}, up to ${bytesText(site.refused_bytes)}` : "–"]);
  const all = sites.length + t.sites.rest.sites;
  replace(byId("sites-view"), sites.length ? flameGraph(t) : note("The trace has no allocations."),
    sites.length && table(`${plural(all, "site")}, which held ${bytesText(t.sites.peak_bytes)} at the peak; the largest`,
      ["~allocated by", "#most at one time", "#at the peak", "#allocations", "#in all", "#freed (median)", "#refused"], rows,
      shown.map(site => "site-" + site.site)));
}
