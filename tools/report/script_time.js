/* Charts on one time axis. All show the same part of it, and the same moment is read in all. */

const axis = {from: 0, to: 1, at: 0.5, charts: []};
const MARGIN = {left: 62, right: 14};

function redrawTimes() {
  axis.charts = axis.charts.filter(chart => chart.host.isConnected || !chart.drawn);
  for (const chart of axis.charts) chart.draw();
}
function showTimes(from, to) {
  const length = Math.min(1, Math.max(to - from, 1 / 480));
  axis.from = Math.min(Math.max(from, 0), 1 - length);
  axis.to = axis.from + length;
  axis.at = Math.min(Math.max(axis.at, axis.from), axis.to - 1e-9);
  redrawTimes();
}
function zoom(factor, around) {
  const share = (around - axis.from) / (axis.to - axis.from), length = (axis.to - axis.from) * factor;
  showTimes(around - share * length, around + (1 - share) * length);
}
function readAt(at) {
  const length = axis.to - axis.from;
  axis.at = Math.min(Math.max(at, 0), 1 - 1e-9);
  if (axis.at < axis.from) showTimes(axis.at, axis.at + length);
  else if (axis.at >= axis.to) showTimes(axis.at - length + 1e-9, axis.at + 1e-9);
  else redrawTimes();
}

const KEYS = {
  ArrowLeft: columns => readAt(axis.at - (axis.to - axis.from) / columns),
  ArrowRight: columns => readAt(axis.at + (axis.to - axis.from) / columns),
  ArrowUp: () => zoom(1 / 1.6, axis.at),
  ArrowDown: () => zoom(1.6, axis.at),
  Home: () => readAt(0),
  End: () => readAt(1),
  Escape: () => showTimes(0, 1),
};

function listen(chart) {
  const host = chart.host;
  const at = event => {
    const inside = event.clientX - host.getBoundingClientRect().left - MARGIN.left;
    return axis.from + (axis.to - axis.from) * inside / Math.max(1, host.clientWidth - MARGIN.left - MARGIN.right);
  };
  let dragged = null;
  host.addEventListener("pointermove", event => {
    if (dragged !== null && event.buttons) {
      const moved = dragged - at(event);
      showTimes(axis.from + moved, axis.to + moved);
    } else if (event.pointerType === "mouse") {
      if (chart.point) chart.point(event);
      readAt(Math.min(Math.max(at(event), axis.from), axis.to - 1e-9));
    }
  });
  host.addEventListener("pointerdown", event => {
    if (chart.point) chart.point(event);
    if (event.pointerType === "mouse") dragged = at(event);
    else readAt(Math.min(Math.max(at(event), axis.from), axis.to - 1e-9));
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) host.addEventListener(end, () => { dragged = null; });
  host.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event));
  }, {passive: false});
  host.addEventListener("keydown", event => {
    const key = (chart.keys && chart.keys[event.key]) || KEYS[event.key];
    if (!key || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    key(120);
  });
}

/* Buttons that do what the keys do. */
function timeTools() {
  const button = (text, label, act) => {
    const element = make("button", {type: "button", "aria-label": label}, text);
    element.addEventListener("click", act);
    return element;
  };
  const pan = share => showTimes(axis.from + share * (axis.to - axis.from), axis.to + share * (axis.to - axis.from));
  return make("div", {class: "tools"},
    button("+", "Zoom in", () => zoom(0.5, axis.at)), button("−", "Zoom out", () => zoom(2, axis.at)),
    button("←", "Earlier", () => pan(-0.5)), button("→", "Later", () => pan(0.5)),
    button("All", "Show the whole iteration", () => showTimes(0, 1)),
    make("span", {}, "Keys: ← → read, ↑ ↓ zoom, Esc all. Shift or Ctrl and the wheel zoom; drag moves."));
}

/* A chart: `paint(svg, x, width)` draws on the axis, `read(at)` returns what the reading shows. `x` maps a share
 * of the iteration to a place. `own` has keys and point() of its own. */
function timeChart(label, height, durationNs, paint, read, own) {
  const host = make("div", {class: "chart", tabindex: 0, role: "group", "aria-roledescription": "chart",
    "aria-label": label + ". Arrow keys read and zoom."});
  const reading = make("div", {class: "reading", "aria-live": "polite"});
  if (own && own.least) reading.style.setProperty("--least", own.least);
  const chart = {host, width: 0, drawn: false, ...own};
  chart.draw = () => {
    if (!chart.width) return;
    chart.drawn = true;
    const inner = chart.width - MARGIN.left - MARGIN.right;
    const x = at => MARGIN.left + inner * (at - axis.from) / (axis.to - axis.from);
    const svg = make("svg", {viewBox: `0 0 ${chart.width} ${height}`, height, "aria-hidden": "true"});
    svg.append(make("clipPath", {id: label.replace(/\W/g, "") + "-clip"},
      make("rect", {x: MARGIN.left, y: 0, width: inner, height})));
    const clip = make("g", {"clip-path": `url(#${label.replace(/\W/g, "")}-clip)`});
    svg.append(clip);
    paint(clip, svg, x, inner);
    clip.append(make("line", {class: "cursor", x1: x(axis.at), x2: x(axis.at), y1: 0, y2: height - 20}));
    timeTicks(svg, x, height, durationNs, inner);
    replace(host, svg);
    replace(reading, read(axis.at));
  };
  listen(chart);
  axis.charts.push(chart);
  drawWhenSized(host, width => { chart.width = width; chart.draw(); });
  return [host, reading];
}

function timeTicks(svg, x, height, durationNs, inner) {
  const shown = (axis.to - axis.from) * durationNs, step = (ticks(shown, Math.max(2, inner / 110))[1] || shown);
  for (let ns = Math.ceil(axis.from * durationNs / step) * step; ns <= axis.to * durationNs * (1 + 1e-9); ns += step) {
    const place = x(ns / durationNs);
    svg.append(make("line", {class: "axis", x1: place, x2: place, y1: height - 20, y2: height - 15}));
    svg.append(make("text", {class: "quiet", x: place, y: height - 4,
      "text-anchor": place > MARGIN.left + inner - 20 ? "end" : place < MARGIN.left + 12 ? "start" : "middle"}, timeText(ns)));
  }
}

/* The part of the columns that is shown. */
function shownColumns(count) {
  return [Math.max(0, Math.floor(axis.from * count)), Math.min(count, Math.ceil(axis.to * count))];
}
/* A stepped area between two functions of the column. */
function areaPath(count, x, low, high) {
  const [first, last] = shownColumns(count);
  let top = "", bottom = "";
  for (let c = first; c < last; c++) {
    const left = x(c / count).toFixed(1), right = x((c + 1) / count).toFixed(1);
    top += `${c === first ? "M" : "L"}${left},${high(c).toFixed(1)}L${right},${high(c).toFixed(1)}`;
    bottom = `L${right},${low(c).toFixed(1)}L${left},${low(c).toFixed(1)}` + bottom;
  }
  return top + bottom + "Z";
}
function linePath(count, x, y) {
  const [first, last] = shownColumns(count);
  let path = "";
  for (let c = first; c < last; c++)
    path += `${c === first ? "M" : "L"}${x(c / count).toFixed(1)},${y(c).toFixed(1)}H${x((c + 1) / count).toFixed(1)}`;
  return path;
}
function valueTicks(svg, values, y, text, inner) {
  for (const value of values) {
    svg.append(make("line", {class: "axis", x1: MARGIN.left, x2: MARGIN.left + inner, y1: y(value), y2: y(value)}));
    svg.append(make("text", {class: "quiet", x: MARGIN.left - 6, y: y(value) + 4, "text-anchor": "end"}, text(value)));
  }
}

/* The names of phases over the columns, where they fit. */
function phaseBand(clip, svg, phases, x, y) {
  for (let c = 0, begin = 0; c <= phases.length; c++) {
    if (c < phases.length && phases[c] === phases[begin]) continue;
    const left = Math.max(x(begin / phases.length), MARGIN.left), right = Math.min(x(c / phases.length), x(axis.to));
    clip.append(make("line", {class: "axis", x1: x(begin / phases.length), x2: x(begin / phases.length), y1: y, y2: y + 18}));
    if (right - left > 7 * phases[begin].length + 6)
      clip.append(make("text", {class: "quiet", x: (left + right) / 2, y: y + 13, "text-anchor": "middle"}, phases[begin]));
    begin = c;
  }
}
