"use strict";
/* Texts from the trace reach the page as text nodes and attributes only, never as markup. */

const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);

/* An element: attributes, then children (nodes, or texts). */
function make(name, attributes, ...children) {
  const svg = ["svg", "g", "path", "rect", "line", "text", "circle", "title", "clipPath"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false));
  return element;
}

const replace = (host, ...children) => host.replaceChildren(...children.flat().filter(Boolean));

/* Figures as the commands print them. */
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0, value = bytes;
  while (value >= 1024 && unit + 1 < units.length) value /= 1024, unit++;
  const digits = unit === 0 || Number.isInteger(value) ? 0 : value < 100 ? 2 : 1;
  return value.toFixed(digits) + " " + units[unit];
}
function timeText(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
    if (ns >= size) return (ns / size).toFixed(ns / size < 10 ? 2 : ns / size < 100 ? 1 : 0) + " " + unit;
  return Math.round(ns) + " ns";
}
const timeOrDash = ns => ns ? timeText(ns) : "–", bytesOrDash = bytes => bytes ? bytesText(bytes) : "–";
const countText = number => number.toLocaleString("en");
const percentText = share => (100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0) + " %";
const rateText = bytesPerSecond => (bytesPerSecond / 1e9).toFixed(bytesPerSecond < 1e10 ? 2 : 1) + " GB/s";
const plural = (count, word) => countText(count) + " " + word + (count === 1 ? "" : "s");
const sum = numbers => numbers.reduce((all, one) => all + one, 0);
const most = numbers => numbers.reduce((all, one) => Math.max(all, one), 0);

const colour = name => "var(--" + name.replace(/ /g, "-") + ")";
const swatch = name => make("span", {class: "swatch", "aria-hidden": "true", style: {background: colour(name)}});
const legend = entries => make("ul", {class: "legend"}, entries.map(([name, text]) => make("li", {}, swatch(name), text)));

/* The first number in a text, with the units of the functions above; without one, less than any. */
const UNITS = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, ...Object.fromEntries(["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].map((unit, i) => [unit, 1024 ** i]))};
function numberIn(text) {
  const [, sign, digits, unit] = /([+−-]?)(\d[\d,]*\.?\d*)\s*(\S*)/.exec(text) || [];
  return digits === undefined ? -Infinity : (sign && sign !== "+" ? -1 : 1) * Number(digits.replace(/,/g, "")) * (UNITS[unit] || 1);
}

const SORTED_LEAST = 4; /* shorter tables are read at a glance */

/* The title of a column as a button that sorts the rows: figures from the largest on, then the other way round. */
function sorter(title, c, isNumber) {
  const button = make("button", {type: "button", class: "sort"}, title);
  button.addEventListener("click", () => {
    const head = button.parentNode, body = head.closest("table").tBodies[0], ways = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
    const way = head.getAttribute("aria-sort") === ways[0] ? ways[1] : ways[0], sign = way === "ascending" ? 1 : -1;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", way);
    const keys = new Map([...body.rows].map(row => [row, isNumber ? numberIn(row.cells[c].textContent) : row.cells[c].textContent]));
    const order = (one, other) => one === other ? 0 : isNumber ? one - other : one.localeCompare(other, "en");
    body.append(...[...body.rows].sort((one, other) => sign * order(keys.get(one), keys.get(other))));
  });
  return button;
}

/* A table in a region that scrolls. columns: titles; those with # in front hold figures, with ~ long names. Its rows can be sorted, unless
 * some continue the one above and so begin with an empty cell. */
function table(caption, columns, rows, ids) {
  const kinds = columns.map(title => title[0] === "#" ? "number" : title[0] === "~" ? "name" : null);
  const cell = (content, c) => make("td", {class: kinds[c]}, content);
  const sorts = rows.length >= SORTED_LEAST && rows.every(row => row[0] !== "");
  const head = (title, c) => title && sorts ? sorter(title, c, kinds[c] === "number") : title;
  return make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
    make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, columns.map((title, c) =>
        make("th", {scope: "col", class: kinds[c]}, head(title.replace(/^[#~]/, ""), c))))),
      make("tbody", {}, rows.map((row, r) => make("tr", {id: ids && ids[r]}, row.map(cell))))));
}
const clipped = (text, title) => make("span", {class: "clip", title: title || text}, text);

/* A function's name without parameters, and with … for template arguments. */
function shortName(name) {
  let short = "", depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i], operator = /operator[<>()-]*$/.test(short);
    if (depth === 0 && c === "(" && !operator && !name.startsWith("(anonymous", i)) break;
    if (c === "<" && !operator && depth++ === 0) short += "<…>";
    else if (c === ">" && depth > 0) depth--;
    else if (depth === 0) short += c;
  }
  return short.trim() || name;
}
const hidden = (title, ...content) => make("details", {}, make("summary", {}, title), ...content);
const note = text => make("p", {class: "note"}, text);

const PAPER_WIDTH = 700; /* of a page between its margins */

/* Calls `draw` with the width of `host` now, after each change of it, and for printing, of which a ResizeObserver hears nothing. */
function drawWhenSized(host, draw) {
  let width = 0;
  const again = scale => {
    const now = Math.max(280, Math.floor(scale * host.clientWidth));
    if (host.isConnected && now !== width) draw(width = now);
  };
  new ResizeObserver(() => requestAnimationFrame(() => again(1))).observe(host);
  window.addEventListener("beforeprint", () => again(PAPER_WIDTH / document.body.clientWidth));
  window.addEventListener("afterprint", () => again(1));
}

/* Round values for an axis up to `top`, in steps of 1, 2 or 5 times a power of `base`. */
function ticks(top, count, base = 10) {
  if (!(top > 0)) return [0];
  const unit = base ** Math.floor(Math.log(top / count) / Math.log(base));
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 5, 10];
  const step = steps.map(s => s * unit).find(s => top / s <= count) || top;
  return Array.from({length: Math.floor(top / step + 1e-9) + 1}, (_, i) => i * step);
}

const PRINTED_ROWS = 60; /* a longer list stays closed on paper */

/* What is hidden on the screen is open on paper, except for the call stacks in the cells of tables. */
function openForPrinting() {
  const isPrinted = part => !part.closest("td") && part.querySelectorAll("tr").length < PRINTED_ROWS;
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(part => { part.open = isPrinted(part); }));
}
