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

/* A table in a region that scrolls. columns: titles; those with # in front hold figures, with ~ long names. */
function table(caption, columns, rows, ids) {
  const kinds = columns.map(title => title[0] === "#" ? "number" : title[0] === "~" ? "name" : null);
  const cell = (content, c) => make("td", {class: kinds[c]}, content);
  return make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
    make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, columns.map((title, c) =>
        make("th", {scope: "col", class: kinds[c]}, title.replace(/^[#~]/, ""))))),
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

/* Calls `draw` with the width of `host` now and after each change of it. */
function drawWhenSized(host, draw) {
  let width = 0;
  const again = () => {
    const now = Math.max(280, Math.floor(host.clientWidth));
    if (host.isConnected && now !== width) draw(width = now);
  };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(host);
}

/* Round values for an axis up to `top`, in steps of 1, 2 or 5 times a power of `base`. */
function ticks(top, count, base = 10) {
  if (!(top > 0)) return [0];
  const unit = base ** Math.floor(Math.log(top / count) / Math.log(base));
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 5, 10];
  const step = steps.map(s => s * unit).find(s => top / s <= count) || top;
  return Array.from({length: Math.floor(top / step + 1e-9) + 1}, (_, i) => i * step);
}
