/* Stalls with what they waited for, kernels, and the map of the chunks. */

const PLAN_WORDS = {plan: "planned", demand: "on demand", late: "late"};

/* As the source has it, if the name is mangled. */
function kernelName(t, i) {
  const name = t.kernels.kernels[i].name, told = t.demangled.get(name) || name;
  return clipped(shortName(told.replace(/^void /, "")), told);
}

/* `title`: of a site that the table of sites leaves out. */
function siteLink(t, site, title) {
  const name = t.siteNames.get(site) || title;
  return t.shownSites.has(site) ? make("a", {href: "#site-" + site, title: name}, clipped(name)) : clipped(name);
}

function showStalls(t) {
  const stalls = t.stalls, rows = [];
  for (const one of stalls.longest) {
    const kernel = t.kernels.kernels.findIndex(row => row.name === one.kernel);
    rows.push([
      kernel >= 0 ? make("a", {href: "#kernel-" + kernel}, kernelName(t, kernel)) : clipped(one.kernel || "unknown launch"),
      one.phase, countText(one.count), timeText(one.ns), percentText(stalls.ns ? one.ns / stalls.ns : 0), timeText(one.longest_ns),
      one.cause ? make("span", {class: "nowrap"}, swatch(one.cause), PLAN_WORDS[one.cause]) : "unknown",
      one.slot === undefined ? "unknown" : make("span", {class: "nowrap"}, one.tensor ? clipped(one.tensor) : `slot ${one.slot}`, `, ${bytesText(one.bytes)}`),
      one.chunk === undefined ? "–" : make("a", {href: "#chunks", "data-chunk": one.chunk}, String(one.chunk)),
      one.site ? siteLink(t, one.site, one.title) : "unknown"]);
  }
  const head = rows.slice(0, 15), columns = ["~kernel", "phase", "#stalls", "#time", "#share", "#longest", "fetch", "allocation", "#chunk", "~allocated by"];
  const k = t.kernels;
  const kernelRows = k.kernels.map((row, i) => [kernelName(t, i), row.kind, countText(row.launches),
    row.sampled ? timeText(row.time_ns) : "–", row.sampled && k.all.time_ns ? percentText(row.time_ns / k.all.time_ns) : "–",
    countText(row.sampled), countText(row.misses), countText(row.late), countText(row.stalls), row.stalls ? timeText(row.stall_ns) : "–"]);
  replace(byId("stalls-view"),
    make("p", {}, stalls.count ? `${plural(stalls.count, "stall")}, ${timeText(stalls.ns)} in all. Of a launch's chunks, the one that was fetched last is named. Its fetch was planned and not there in time, made on demand when the launch already waited, or late: planned, and issued only at the launch.`
      : "No launch waited for data."),
    rows.length && table("What launches waited for, longest first", columns, head),
    rows.length > head.length && hidden(`The next ${rows.length - head.length} of ${countText(stalls.groups)}`,
      table("What launches waited for, continued", columns, rows.slice(head.length))),
    hidden(`Kernels (${countText(k.all.rows)})`, table("Kernels by time",
      ["~kernel", "kind", "#launches", "#time", "#share", "#measured", "#misses", "#late", "#stalls", "#stalled"],
      kernelRows, k.kernels.map((_, i) => "kernel-" + i)),
    note("A launch without a measured time counts as the mean of the measured ones that do the same.")));
}

const MOVED = [["fetched", 2], ["evicted", 0], ["populated", 3], ["discarded", 1]]; /* words, and bits of enum sl_action_kind */

/* What a cell shows: its colour's name, and its text. */
function cellOf(map, row, column) {
  const code = map.resident[row].charCodeAt(column), dead = code >= 97;
  const share = (dead ? code - 97 : code - 48) / 9, bits = parseInt(map.moved[row][column], 16);
  const moved = MOVED.filter(([, bit]) => bits >> bit & 1).map(([word]) => word);
  const state = share ? (share === 1 ? "on the device" : `${percentText(share)} on the device`) + (dead ? ", nothing live in it" : "")
    : dead ? "nothing live in it" : "not on the device";
  const tint = moved.includes("fetched") ? "plan" : moved.includes("evicted") ? "evict" : moved.includes("populated") ? "new"
    : share ? (dead ? "dead" : "resident") : dead ? null : "waiting";
  return {tint, share, text: state + (moved.length ? "; " + moved.join(", ") : "")};
}

function rowName(map, row) {
  const first = map.first_chunk + row * map.chunks_per_row;
  const last = Math.min(first + map.chunks_per_row, map.first_chunk + map.chunks) - 1;
  return first === last ? `chunk ${first}` : `chunks ${first} to ${last}`;
}

function paintMap(map, canvas, width, rowHeight, chosen) {
  const style = getComputedStyle(document.documentElement), tints = new Map();
  const tint = name => tints.get(name) || tints.set(name, style.getPropertyValue("--" + name).trim()).get(name);
  const inner = width - MARGIN.left - MARGIN.right, ratio = window.devicePixelRatio || 1, height = map.resident.length * rowHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const [first, last] = shownColumns(map.columns);
  const place = column => MARGIN.left + inner * Math.min(1, Math.max(0, (column / map.columns - axis.from) / (axis.to - axis.from)));
  map.resident.forEach((_, row) => {
    for (let column = first, next; column < last; column = next) {
      const cell = cellOf(map, row, column);
      const same = other => other.tint === cell.tint && other.share === cell.share;
      for (next = column + 1; next < last && same(cellOf(map, row, next));) next++;
      if (!cell.tint) continue;
      pen.globalAlpha = cell.tint === "resident" || cell.tint === "dead" ? 0.35 + 0.65 * cell.share : 1;
      pen.fillStyle = tint(cell.tint);
      pen.fillRect(place(column), row * rowHeight, place(next) - place(column), rowHeight - (rowHeight > 3 ? 1 : 0));
    }
  });
  pen.globalAlpha = 1;
  pen.strokeStyle = tint("fg");
  pen.strokeRect(MARGIN.left, chosen * rowHeight, inner, rowHeight);
  pen.fillStyle = tint("muted");
  pen.font = "12px sans-serif";
  pen.textAlign = "right";
  for (let row = 0; row < map.resident.length; row += Math.max(1, Math.ceil(28 / rowHeight)))
    pen.fillText(String(map.first_chunk + row * map.chunks_per_row), MARGIN.left - 6, row * rowHeight + Math.min(rowHeight, 11));
}

function showChunks(t) {
  const map = t.map, rows = map.resident.length, view = byId("chunks-view");
  if (!rows) {
    replace(view, note("The trace has no chunks: the driver managed the program's memory."));
    return;
  }
  const rowHeight = Math.max(2, Math.min(14, Math.floor(420 / rows))), canvas = make("canvas", {"aria-hidden": "true"});
  const chart = {chosen: 0};
  const choose = row => { chart.chosen = Math.min(rows - 1, Math.max(0, row)); redrawTimes(); };
  const line = t.timeline;
  const read = at => {
    const column = columnAt(at, map.columns), share = sum(map.resident.map((_, row) => cellOf(map, row, column).share)) / rows;
    return [make("div", {}, make("h3", {}, `At ${timeText(at * line.duration_ns)}, ${rowName(map, chart.chosen)}`),
      make("p", {}, cellOf(map, chart.chosen, column).text)),
    make("div", {}, make("h3", {}, "All chunks"), make("p", {}, `${percentText(share)} on the device`))];
  };
  const [host, reading] = timeChart("Chunks over time", 24, line.duration_ns, () => {
    paintMap(map, canvas, chart.width, rowHeight, chart.chosen);
  }, read, {
    least: "3.5rem",
    keys: {PageUp: () => choose(chart.chosen - 1), PageDown: () => choose(chart.chosen + 1)},
    point: event => { chart.chosen = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - canvas.getBoundingClientRect().top) / rowHeight))); },
  });
  new ResizeObserver(() => { chart.width = Math.max(280, host.clientWidth); redrawTimes(); }).observe(host);
  chart.width = 280;
  const frame = make("div", {class: "chart"}, canvas);
  replace(view, legend([["resident", "on the device"], ["waiting", "on the host"], ["dead", "on the device, nothing live in it"],
    ["plan", "fetched"], ["evict", "evicted"], ["new", "populated: new, without a copy"]]),
  frame, host, reading,
  note(`${plural(map.chunks, "chunk")} of ${bytesText(t.info.chunk_bytes)}, ${map.chunks_per_row === 1 ? "one" : map.chunks_per_row} a row. ` +
    "Page up and page down choose a row." + (map.placed ? "" : " The trace does not show which allocations the chunks hold.")));
  linkMouse(frame, canvas, map, rowHeight, choose);
  chart.show = chunk => choose(Math.floor((chunk - map.first_chunk) / map.chunks_per_row));
  t.showChunk = chart.show;
}

/* The mouse over the map reads the row and the moment. */
function linkMouse(frame, canvas, map, rowHeight, choose) {
  frame.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect(), inner = box.width - MARGIN.left - MARGIN.right;
    const at = axis.from + (axis.to - axis.from) * (event.clientX - box.left - MARGIN.left) / inner;
    axis.at = Math.min(Math.max(at, axis.from), axis.to - 1e-9);
    choose(Math.floor((event.clientY - box.top) / rowHeight));
  });
}
