/* Bars of A and of B below each other, in groups on one scale. */

const BARS = {left: 22, right: 92, title: 20, bar: 18, gap: 4, between: 12, axis: 24};

/* The first letters of a title that fit. */
const fitting = (text, width) => text.length * 7.2 <= width ? text : text.slice(0, Math.max(4, Math.floor(width / 7.2) - 1)) + "…";

/* What a group says to who cannot see it. */
const groupText = (group, text) => `${group.title}: ` + group.rows.map(row => `${row.side} ${text(row.total)}` +
  (row.parts.length > 1 ? " (" + row.parts.filter(part => part.value).map(part => `${part.name} ${text(part.value)}`).join(", ") + ")" : "")).join("; ");

/* One bar at `y`; `x` maps a figure to a place. */
function drawBar(svg, row, x, y, text) {
  let done = 0;
  svg.append(make("text", {class: "quiet", x: 4, y: y + 13}, row.side));
  for (const part of row.parts) {
    if (part.value) svg.append(make("rect", {x: x(done), y, width: Math.max(0.5, x(done + part.value) - x(done)), height: BARS.bar, fill: colour(part.tint)},
      make("title", {}, `${row.side}: ${part.name} ${text(part.value)}`)));
    done += part.value;
  }
  if (row.spread && x(row.spread[1]) - x(row.spread[0]) >= 3)
    svg.append(make("path", {class: "total", d: `M${x(row.spread[0])},${y + 4}V${y + 14}M${x(row.spread[0])},${y + 9}H${x(row.spread[1])}M${x(row.spread[1])},${y + 4}V${y + 14}`}));
  if (row.limit) svg.append(make("path", {class: "limit-line", d: `M${x(row.limit)},${y - 2}V${y + BARS.bar + 2}`}));
  const end = Math.max(x(Math.max(done, row.total)), row.spread ? x(row.spread[1]) : 0, row.limit ? x(row.limit) : 0);
  svg.append(make("text", {x: end + 6, y: y + 13}, text(row.total)));
}

/* groups: {title, rows: [{side, total, parts: [{name, tint, value}], spread: [quarter, three quarters], limit}]}.
 * `base` is that of the axis: 1024 for bytes. */
function pairedBars(label, groups, text, base) {
  const host = make("div", {class: "chart"});
  const ends = groups.flatMap(group => group.rows.flatMap(row => [row.total, sum(row.parts.map(part => part.value)), row.limit || 0, row.spread ? row.spread[1] : 0]));
  const scale = Math.max(1, most(ends));
  drawWhenSized(host, width => {
    const inner = width - BARS.left - BARS.right, each = BARS.title + 2 * (BARS.bar + BARS.gap) + BARS.between;
    const height = groups.length * each + BARS.axis, x = value => BARS.left + inner * value / scale;
    const svg = make("svg", {viewBox: `0 0 ${width} ${height}`, height, role: "img",
      "aria-label": `${label}. ${groups.map(group => groupText(group, text)).join(". ")}.`});
    for (const value of ticks(scale, Math.max(2, Math.min(6, Math.floor(inner / 90))), base))
      svg.append(make("line", {class: "axis", x1: x(value), x2: x(value), y1: BARS.title, y2: height - BARS.axis}),
        make("text", {class: "quiet tick", x: x(value), y: height - 8, "text-anchor": value ? "middle" : "start"}, text(value)));
    groups.forEach((group, i) => {
      const top = i * each;
      svg.append(make("text", {x: 4, y: top + 15}, make("title", {}, group.title), fitting(group.title, width - 12)));
      group.rows.forEach((row, r) => drawBar(svg, row, x, top + BARS.title + r * (BARS.bar + BARS.gap), text));
    });
    replace(host, svg);
  });
  return host;
}
