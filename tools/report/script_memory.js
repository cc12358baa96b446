/* Memory by class, and the traffic of the link, over one iteration. */

const CLASSES = ["parameters", "gradients", "optimizer state", "activations", "workspaces", "inputs", "unknown"];
const OFF_SCALE = 3; /* a limit this many times the largest figure is told, not drawn */

const columnAt = (at, count) => Math.min(count - 1, Math.floor(at * count));

function iterationName(t) {
  return t.timeline.iteration ? `iteration ${t.timeline.iteration} of ${t.timeline.iterations}` : "the whole trace";
}
/* "3 allocations, 12 MiB: function" */
function holderEntry(t, holder) {
  const site = t.siteNames.get(holder.site) || "site " + holder.site;
  return make("li", {}, make("span", {title: site}, swatch(holder.class), site),
    make("span", {}, `${bytesText(holder.bytes)} in ${countText(holder.count)}`));
}

function readMemory(t, at) {
  const line = t.timeline, c = columnAt(at, line.phases.length);
  const present = CLASSES.filter(name => line.memory[name][c]);
  const holders = t.holders[columnAt(at, t.holders.length)];
  return [
    make("div", {},
      make("h3", {}, `At ${timeText(at * line.duration_ns)}, ${line.phases[c]}`),
      make("ul", {}, present.map(name => make("li", {}, make("span", {}, swatch(name), name),
        make("span", {}, bytesText(line.memory[name][c])))),
      make("li", {}, make("span", {}, "occupied in all"), make("span", {}, bytesText(line.memory.all[c]))))),
    make("div", {}, make("h3", {}, "Largest live allocations, by site"),
      make("ul", {}, holders.map(holder => holderEntry(t, holder))))];
}

function memoryTable(t) {
  const line = t.timeline, count = line.phases.length, present = CLASSES.filter(name => most(line.memory[name]));
  const rows = Array.from({length: 24}, (_, i) => Math.floor((i + 1) * count / 24) - 1).map(c => [
    timeText((c + 1) / count * line.duration_ns), line.phases[c],
    ...present.map(name => bytesText(line.memory[name][c])), bytesText(line.memory.all[c])]);
  return hidden("As a table", table("Memory at 24 times of the iteration",
    ["#time", "phase", ...present.map(name => "#" + name), "#occupied"], rows));
}

function showMemory(t) {
  const line = t.timeline, count = line.phases.length, height = 300, top = 26, bottom = height - 24;
  const present = CLASSES.filter(name => most(line.memory[name]));
  const stacked = present.map((name, i) => c => sum(present.slice(0, i + 1).map(each => line.memory[each][c])));
  const peak = Math.max(most(line.memory.all), ...Array.from({length: count}, (_, c) => present.length ? stacked[present.length - 1](c) : 0), 1);
  const budget = line.budget, drawn = budget && budget <= OFF_SCALE * peak;
  const scale = Math.max(peak, drawn ? budget : 0) * 1.06;
  const y = bytes => bottom - (bottom - top) * bytes / scale;
  const paint = (clip, svg, x, inner) => {
    valueTicks(svg, ticks(scale, 5, 1024), y, bytesText, inner);
    svg.append(clip);
    present.forEach((name, i) => clip.append(make("path", {class: "area", fill: colour(name),
      d: areaPath(count, x, i ? c => y(stacked[i - 1](c)) : () => bottom, c => y(stacked[i](c)))})));
    clip.append(make("path", {class: "total", d: linePath(count, x, c => y(line.memory.all[c]))}));
    if (drawn) {
      clip.append(make("path", {class: "limit-line", d: `M${MARGIN.left},${y(budget)}h${inner}`}));
      svg.append(make("text", {x: MARGIN.left + inner - 4, y: y(budget) - 5, "text-anchor": "end"}, `budget ${bytesText(budget)}`));
    }
    phaseBand(clip, svg, line.phases, x, 2);
  };
  const notes = [];
  if (budget && !drawn) notes.push(`The budget, ${bytesText(budget)}, is far above the ${bytesText(peak)} at the peak of this iteration.`);
  if (line.classes_of === "lives") notes.push("The places of chunks are unknown: the classes count live memory on the device and on the host.");
  if (!t.moves) notes.push("Nothing was fetched or evicted: everything fits.");
  notes.push("The line is what chunks occupy, with unused room; the areas are the live allocations in them.");
  replace(byId("memory-view"),
    legend(present.map(name => [name, name])), timeTools(),
    timeChart(`Device memory by class, ${iterationName(t)}, peak ${bytesText(peak)}, budget ${budget ? bytesText(budget) : "unknown"}`,
      height, line.duration_ns, paint, at => readMemory(t, at)),
    note(notes.join(" ")), memoryTable(t));
}

const CAUSES = [["plan", "prefetch or planned eviction"], ["demand", "on demand: a launch was already waiting"],
  ["late", "late: planned, but issued at the launch"]];

function readLink(t, at) {
  const line = t.timeline, count = line.phases.length, c = columnAt(at, count), seconds = line.duration_ns / count / 1e9;
  const way = (name, title) => make("div", {}, make("h3", {}, title),
    make("ul", {}, CAUSES.map(([cause]) => make("li", {}, make("span", {}, swatch(cause), cause),
      make("span", {}, `${bytesText(line[name][cause][c])} (${rateText(line[name][cause][c] / seconds)})`))),
    line.transfers && make("li", {}, make("span", {}, "link busy"),
      make("span", {}, percentText(Math.min(1, line[name].busy_ns[c] / (seconds * 1e9)))))));
  return [way("in", `To the device at ${timeText(at * line.duration_ns)}`), way("out", "From the device"),
    make("div", {}, make("h3", {}, "Launches stalled"), make("p", {}, timeText(line.stall_ns[c])))];
}

function linkTable(t) {
  const line = t.timeline, rows = [];
  for (const [way, text, ceiling] of [["in", "to the device", t.ceiling.in], ["out", "from the device", t.ceiling.out]]) {
    const all = sum(CAUSES.map(([cause]) => sum(line[way][cause])));
    rows.push([text, ...CAUSES.map(([cause]) => bytesText(sum(line[way][cause]))), bytesText(all),
      line.transfers ? percentText(sum(line[way].busy_ns) / line.duration_ns) : "not measured",
      rateText(ceiling), timeText(all / ceiling * 1e9)]);
  }
  return table(`Traffic of ${iterationName(t)}`,
    ["direction", "#plan", "#demand", "#late", "#in all", "#link busy", "#link can carry", "#time it needs"], rows);
}

/* Short enough for the margin; traces of very short times have rates beyond any link's. */
const tickRate = rate => rate < 1e12 ? rateText(rate).replace(/\.0+ /, " ") : (rate / 1e12).toPrecision(3).replace(/\.0+$/, "") + " TB/s";

function showLink(t) {
  const line = t.timeline, count = line.phases.length, height = 290, middle = 118, lane = 100, stalls = 236;
  const seconds = line.duration_ns / count / 1e9;
  const rates = way => Array.from({length: count}, (_, c) => sum(CAUSES.map(([cause]) => line[way][cause][c])) / seconds);
  const peak = Math.max(most(rates("in")), most(rates("out")));
  if (!peak && !sum(line.stall_ns)) {
    replace(byId("link-view"), note(`Nothing moved over the link in ${iterationName(t)}.`), linkTable(t));
    return;
  }
  const ceiling = Math.max(t.ceiling.in, t.ceiling.out), drawn = ceiling <= OFF_SCALE * peak;
  const scale = Math.max(peak, drawn ? ceiling : 0) * 1.05 || 1;
  const paint = (clip, svg, x, inner) => {
    for (const [way, sign] of [["in", -1], ["out", 1]]) {
      const y = rate => middle + sign * lane * rate / scale;
      valueTicks(svg, ticks(scale, 2).slice(way === "in" ? 0 : 1), y, tickRate, inner);
      svg.append(clip);
      const upTo = i => c => sum(CAUSES.slice(0, i).map(([cause]) => line[way][cause][c])) / seconds;
      CAUSES.forEach(([cause], i) => clip.append(make("path", {fill: colour(cause),
        d: areaPath(count, x, c => y(upTo(i)(c)), c => y(upTo(i + 1)(c)))})));
      if (drawn) clip.append(make("path", {class: "limit-line", d: `M${MARGIN.left},${y(t.ceiling[way])}h${inner}`}));
    }
    svg.append(make("text", {x: MARGIN.left, y: middle - lane - 6}, "to the device"),
      make("text", {x: MARGIN.left, y: middle + lane + 13}, "from the device"),
      make("text", {class: "quiet", x: MARGIN.left - 6, y: stalls + 28, "text-anchor": "end"}, "stalled"));
    const y = c => stalls + 30 - 28 * Math.min(1, line.stall_ns[c] / most(line.stall_ns));
    if (sum(line.stall_ns)) clip.append(make("path", {fill: colour("stall"), d: areaPath(count, x, () => stalls + 30, y)}));
  };
  const notes = [];
  if (peak && !drawn) notes.push(`The link can carry ${rateText(ceiling)}, ${(ceiling / peak).toFixed(0)} times the most in one interval of this iteration.`);
  if (t.ceiling.assumed) notes.push("The speed of the link was not measured; this is the one that sluice plan assumes.");
  if (line.other_clock) notes.push("The device has a clock of its own: traffic is drawn when it was issued.");
  else if (!line.transfers) notes.push("Transfers were not measured: traffic is drawn when it was issued.");
  replace(byId("link-view"), legend([...CAUSES, ["stall", "launches waiting"]]),
    timeChart("Traffic of the link by cause", height, line.duration_ns, paint, at => readLink(t, at), {least: "6.5rem"}),
    note(notes.join(" ")), linkTable(t));
}
