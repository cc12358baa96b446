/* The story, phases, balance, budgets, ranks; and the page as a whole. */

const phaseAll = phases => phases.phases.find(phase => phase.phase === "all");
const stepOf = t => t.step || t.phases;
const movedBytes = (account, way) => account[way].moved;
/* The time that the link needs: as measured, else at its speed. */
const linkTime = (t, account, way) => account[way].transfer_ns || movedBytes(account, way) / t.ceiling[way] * 1e9;
const busierLink = (t, account) => Math.max(linkTime(t, account, "in"), linkTime(t, account, "out"));

function limitText(t) {
  const all = phaseAll(stepOf(t)), moved = movedBytes(all, "in") + movedBytes(all, "out"), busy = all.kernel_ns + all.stall_ns;
  if (!all.launches) return ["nothing", "the trace has no launches"];
  if (!moved && !all.stalls) return ["not memory", "all of it fits in the budget; nothing was fetched or evicted in " + iterationName(t)];
  if (!stepOf(t).durations) return ["unknown", "kernels were not timed, so their time cannot be compared with the link's"];
  const share = all.stall_ns / busy, link = busierLink(t, all);
  const worst = stepOf(t).phases.filter(phase => phase.phase !== "all").sort((a, b) => b.stall_ns - a.stall_ns)[0];
  const times = `kernels take ${timeText(all.kernel_ns)}, the busier direction of the link ${timeText(link)}`;
  if (share < 0.02) return ["computing", `traffic hides behind kernels: ${times}`];
  return [link > all.kernel_ns ? "the link" : `computing and, in the phase ${worst.phase}, the link`, `${times}; ${timeText(worst.stall_ns)} of the waits are in the phase ${worst.phase}` +
    (all.in.demand > 0.2 * movedBytes(all, "in") ? `, and ${percentText(all.in.demand / movedBytes(all, "in"))} of what is fetched comes on demand` : "")];
}

function storyLines(t) {
  const info = t.info, all = phaseAll(stepOf(t)), step = info.step_ns, busy = all.kernel_ns + all.stall_ns;
  const strong = text => make("strong", {}, text);
  const [limit, why] = limitText(t);
  const over = info.budget_bytes && info.peak_bytes / info.budget_bytes;
  return [
    ["Program", [strong(info.program), ` on ${info.metadata.device || "an unknown device"} with ${bytesText(info.device_bytes)}, policy ${info.metadata.policy || "unknown"}. ` +
      `${plural(sum(Object.values(info.launches).map(kind => kind.count)), "launch").replace("launchs", "launches")} of ${plural(info.kernels, "kernel")} in ${timeText(info.duration_ns)}.`]],
    ["Memory", ["It holds up to ", strong(bytesText(info.peak_bytes)), " with a budget of ", strong(info.budget_bytes ? bytesText(info.budget_bytes) : "unknown size"),
      over > 1 ? `: ${over.toFixed(2)} times as much as the budget.` : "."]],
    ["Step", step.count ? ["A step takes ", strong(timeText(step.median)), ` (median of ${countText(step.count)}; half of them ${timeText(step.quarter)} to ${timeText(step.three_quarters)}), on the program's clock.`]
      : ["The trace has no complete iteration."]],
    ["Stalls", all.stall_ns === 0 ? [`In ${iterationName(t)} `, strong("no launch waits"), " for data."] : [`In ${iterationName(t)} launches wait `, strong(timeText(all.stall_ns)), " for data",
      stepOf(t).durations ? `, ${percentText(busy ? all.stall_ns / busy : 0)} of the ${timeText(busy)} of kernels and waits.` : "."]],
    ["Limit", ["What limits it is ", strong(limit), `: ${why}.`]],
    ...info.metadata.movers ? [["Movers", ["In the last steps, threads that move memory took ", info.metadata.movers, "."]]] : []];
}

function notices(t) {
  const found = [], plan = data.plan.result, kernels = t.kernels.all;
  if ((plan && 2 * plan.guessed > plan.launches) || (kernels.launches && !kernels.sampled))
    found.push("Most times in this report are guessed: " + (plan ? `${countText(plan.guessed)} of ${countText(plan.launches)} replayed launches have no measured time, nor have similar ones.`
      : "no launch was timed.") + " Record with SLUICE_TRACE_SAMPLE=1 to measure all.");
  if (!t.info.complete) found.push("The trace ends early or is damaged: the report shows what could be read. A program that still runs writes on; make the report again later.");
  if (t.info.records_lost) found.push(`${countText(t.info.records_lost)} records are lost: figures may be too small.`);
  if ((t.info.metadata.device || "").endsWith(", executed in part"))
    found.push("A rehearsal: kernels were executed in part, so what the program computed is wrong, and times are those that were foretold.");
  if ((t.info.metadata.device || "").startsWith("softcuda"))
    found.push("Recorded on softcuda, a device in software: the times of kernels, transfers and stalls are those of the device that it models; step times and the time axis are those of the machine that it ran on.");
  if (!t.timeline.iteration) found.push("No training steps were found: the charts show the whole trace.");
  if (data.trace_count > data.traces.length) found.push(`Details are of the first ${data.traces.length} of ${data.trace_count} traces.`);
  return found.map(text => make("p", {class: "notice"}, text));
}

function showPhases(t) {
  const group = (title, phases) => {
    const rows = phases.phases.map(phase => [phase.phase, countText(phase.launches), timeText(phase.host_ns),
      phase.timed_launches ? timeText(phase.kernel_ns) : "–", bytesOrDash(phase.in.moved), bytesOrDash(phase.out.moved),
      bytesOrDash(phase.in.program + phase.out.program), bytesOrDash(phase.populated), bytesOrDash(phase.discarded),
      phase.hidden === undefined ? "–" : percentText(phase.hidden), timeOrDash(phase.stall_ns),
      phase.idle_bytes === undefined ? "–" : bytesText(phase.idle_bytes)]);
    return table(title, ["phase", "#launches", "#time", "#kernels", "#fetched", "#evicted", "#own copies", "#new", "#discarded", "#hidden", "#stalled", "#idle memory"], rows);
  };
  const parts = stepOf(t).phases.filter(phase => phase.phase !== "all");
  const longest = Math.max(...parts.map(phase => Math.max(phase.kernel_ns, linkTime(t, phase, "in"), linkTime(t, phase, "out"), phase.stall_ns)), 1);
  const bar = (name, ns) => ns > 0 && make("span", {class: "bar", title: timeText(ns), style: {background: colour(name), width: (100 * ns / longest).toFixed(2) + "%"}});
  replace(byId("phases-view"), make("p", {class: "lead"}, `In ${iterationName(t)}: time of kernels, of the link each way, and of stalls.`),
    legend([["resident", "kernels"], ["plan", "fetching"], ["evict", "evicting"], ["stall", "stalled"]]),
    make("div", {class: "bars", role: "img", "aria-label": "Times of each phase; the table below has the figures."}, parts.map(phase => [make("span", {}, phase.phase),
      make("span", {}, bar("resident", phase.kernel_ns), bar("plan", linkTime(t, phase, "in")), bar("evict", linkTime(t, phase, "out")), bar("stall", phase.stall_ns))]).flat()),
    t.step && group(`One iteration: ${iterationName(t)}`, t.step), group("The whole trace", t.phases),
    note("hidden: share of the busier direction's time during which no launch waited. idle memory: unoccupied budget, on average."));
}

/* A plot of points {x, y, name, colour, text}; scales map values to shares. */
function plot(label, height, points, options) {
  const host = make("div", {class: "chart"});
  drawWhenSized(host, width => {
    const left = 66, right = 18, top = 30, bottom = 44, inner = width - left - right, tall = height - top - bottom;
    const x = value => left + inner * options.x(value), y = value => top + tall * (1 - options.y(value));
    const svg = make("svg", {viewBox: `0 0 ${width} ${height}`, height, role: "group", "aria-label": label});
    for (const value of options.xTicks.filter((_, i) => options.xTicks.length * 62 < inner || i % 2 === 0)) svg.append(make("line", {class: "axis", x1: x(value), x2: x(value), y1: top, y2: top + tall}),
      make("text", {class: "quiet", x: x(value), y: top + tall + 16, "text-anchor": x(value) > left + inner - 24 ? "end" : "middle"}, options.xText(value)));
    for (const value of options.yTicks) svg.append(make("line", {class: "axis", x1: left, x2: left + inner, y1: y(value), y2: y(value)}),
      make("text", {class: "quiet", x: left - 6, y: y(value) + 4, "text-anchor": "end"}, options.yText(value)));
    svg.append(make("text", {class: "quiet", x: left + inner, y: height - 6, "text-anchor": "end"}, options.xTitle),
      make("text", {class: "quiet", x: 4, y: 12}, options.yTitle));
    if (options.lines) options.lines(svg, x, y, left, inner, top, tall);
    for (const point of points) {
      const px = x(point.x), py = y(point.y), end = px > left + inner * 0.6;
      svg.append(make("g", {tabindex: 0, role: "img", "aria-label": `${point.name}: ${point.text}`}, make("title", {}, `${point.name}: ${point.text}`),
        make("circle", {cx: px, cy: py, r: 6, fill: colour(point.tint)}),
        point.label && make("text", {x: px + (end ? -10 : 10), y: py + 4 + (point.shift || 0), "text-anchor": end ? "end" : "start"}, point.label)));
    }
    replace(host, svg);
  });
  return host;
}

function showBalance(t) {
  const parts = stepOf(t).phases.filter(phase => phase.phase !== "all" && phase.kernel_ns && busierLink(t, phase));
  const rows = stepOf(t).phases.map(phase => {
    const link = busierLink(t, phase);
    return [phase.phase, phase.timed_launches ? timeText(phase.kernel_ns) : "–", bytesOrDash(phase.in.moved + phase.out.moved), timeOrDash(link),
      !link ? "moves nothing" : !phase.kernel_ns ? "computes nothing" : phase.kernel_ns >= link ? `computing, ${(phase.kernel_ns / link).toFixed(1)} times the link`
        : `the link, ${(link / phase.kernel_ns).toFixed(1)} times the kernels`];
  });
  const figures = table(`Balance in ${iterationName(t)}`, ["phase", "#kernels", "#moved", "#link needs", "limited by"], rows);
  if (!parts.length) {
    replace(byId("balance-view"), note("No phase with timed kernels moved anything over the link."), figures);
    return;
  }
  const all = parts.flatMap(phase => [phase.kernel_ns, busierLink(t, phase)]);
  const low = Math.floor(Math.log10(Math.min(...all)) - 0.2), high = Math.ceil(Math.log10(Math.max(...all)) + 0.2);
  const scale = ns => (Math.log10(ns) - low) / (high - low), decades = Array.from({length: high - low + 1}, (_, i) => 10 ** (low + i));
  const places = [];
  const points = parts.map(phase => {
    const x = busierLink(t, phase), y = phase.kernel_ns, near = places.filter(place => Math.abs(scale(y) - place) < 0.06).length;
    places.push(scale(y));
    return {x, y, name: phase.phase, label: phase.phase, shift: near * 14, tint: y >= x ? "resident" : "demand", text: `kernels ${timeText(y)}, link ${timeText(x)}`};
  });
  replace(byId("balance-view"), plot("Kernel time against link time, per phase", 340, points, {x: scale, y: scale, xTicks: decades, yTicks: decades,
    xText: timeText, yText: timeText, xTitle: "time the link needs", yTitle: "time of kernels",
    lines: (svg, x, y, left, inner) => {
      svg.append(make("path", {class: "limit-line", d: `M${x(10 ** low)},${y(10 ** low)}L${x(10 ** high)},${y(10 ** high)}`}));
      svg.append(make("text", {class: "quiet", x: left + 8, y: y(10 ** high) + 16}, "limited by computing"),
        make("text", {class: "quiet", x: left + inner - 8, y: y(10 ** low) - 8, "text-anchor": "end"}, "limited by the link"));
    }}), figures);
}

function showBudget(t) {
  const plan = data.plan.result, view = byId("budget-view");
  if (!plan) {
    replace(view, note(data.plan.absent));
    return;
  }
  const made = plan.predictions.filter(one => one.iterations).sort((a, b) => a.budget_bytes - b.budget_bytes);
  const first = plan.predictions[0], need = most(made.map(one => one.need_bytes)), today = t.info.budget_bytes;
  const ns = [...made.map(one => one.step_ns), first.resident_ns], right = Math.max(need, today && today < need ? today : 0) * 1.06, top = most(ns) * 1.1;
  const at = one => `${bytesText(one.budget_bytes)}: step ${timeText(one.step_ns)}, ${(one.step_ns / one.resident_ns).toFixed(2)} times as long`;
  const points = made.map(one => ({x: one.budget_bytes, y: one.step_ns, name: "budget", tint: one.budget_bytes === today ? "stall" : "plan", text: at(one)}));
  points.push({x: need, y: first.resident_ns, name: "all on the device", label: "all on the device", tint: "resident", shift: 18, text: `${bytesText(need)}: step ${timeText(first.resident_ns)}`});
  const rows = made.map(one => [bytesText(one.budget_bytes) + (one.budget_bytes === today ? " (today)" : ""), percentText(one.budget_bytes / one.need_bytes), timeText(one.step_ns),
    (one.step_ns / one.resident_ns).toFixed(2), bytesText(one.bytes_in), bytesText(one.bytes_out), bytesText(one.remote_bytes), timeText(one.stall_ns), countText(one.missed_launches), one.host_cores.toFixed(2)]);
  replace(view, plot("Step time over the budget", 320, points, {x: value => value / right, y: value => value / top,
    xTicks: ticks(right, 6, 1024), yTicks: ticks(top, 5), xText: bytesText, yText: timeText, xTitle: "budget", yTitle: "predicted time of a step",
    lines: (svg, x, y, left, inner, above, tall) => {
      const line = [...made.map(one => [one.budget_bytes, one.step_ns]), [need, first.resident_ns]].sort((a, b) => a[0] - b[0]);
      svg.append(make("path", {class: "total", d: "M" + line.map(([bytes, time]) => `${x(bytes)},${y(time)}`).join("L")}));
      if (today && today < right) svg.append(make("path", {class: "limit-line", d: `M${x(today)},${above}v${tall}`}),
        make("text", today < right / 2 ? {x: x(today) + 5, y: above + 10} : {x: x(today) - 5, y: above + 10, "text-anchor": "end"}, `today ${bytesText(today)}`));
    }}),
  today >= need && note(`Today's budget, ${bytesText(today)}, holds all that the program needs.`),
  plan.doubt && note(plan.doubt),
  table("Predictions", ["#budget", "#of the need", "#step", "#slower", "#in", "#out", "#zero-copy", "#stall", "#misses", "#cores"], rows),
  note(`${countText(made.length ? made[0].iterations : 0)} ${plan.steps ? "steps" : "iterations"} were replayed; the link carries ${rateText(first.link_in)} in and ${rateText(first.link_out)} out. ` +
    `${data.plan.command} FILE... prints the same; without --no-least it also seeks the least budget that suffices.`));
}

function rankChart(rank, line, scales) {
  const host = make("div", {class: "chart"});
  drawWhenSized(host, width => {
    const count = line.device_bytes.length, high = 74, low = 92;
    const x = c => width * c / count, step = width / count;
    const area = (row, base, tall, top) => "M0," + base + row.map((value, c) => `L${x(c).toFixed(1)},${(base - tall * value / top).toFixed(1)}h${step.toFixed(2)}`).join("") + `V${base}Z`;
    replace(host, make("svg", {viewBox: `0 0 ${width} 100`, height: 100, role: "img", "aria-label": `Rank ${rank}: memory, stalls and waits over the iteration`},
      make("path", {fill: colour("resident"), d: area(line.device_bytes, high, 68, scales.memory)}),
      make("path", {fill: colour("stall"), d: area(line.stall_ns, low, 14, scales.stall)}),
      make("path", {fill: colour("late"), d: area(line.waited_ns, low, 14, scales.stall)})));
  });
  return host;
}

function showRanks() {
  const job = data.job, view = byId("ranks-view");
  if (!job) {
    replace(view, note("This report is of one trace. sluice trace report takes the traces of all ranks of a job."));
    return;
  }
  const lateOf = rank => job.ranks.ranks.find(one => one.rank === rank);
  const rows = job.info.ranks.map(rank => [String(rank.rank), countText(rank.launches), rank.step_ns ? timeText(rank.step_ns) : "–", bytesText(rank.need_bytes), bytesText(rank.budget_bytes),
    bytesText(rank.peak_bytes), bytesText(rank.in_bytes), bytesText(rank.out_bytes), timeText(rank.stall_ns), countText(rank.collectives), rank.compared ? timeText(rank.waited_ns) : "–",
    timeText(lateOf(rank.rank).late_ns)]);
  const late = job.ranks.ranks.map(rank => [String(rank.rank), countText(rank.compared), countText(rank.last), timeText(rank.late_ns), timeText(rank.late_by_work_ns),
    timeText(rank.late_by_link_ns), timeText(rank.late_by_data_ns), timeText(rank.late_by_host_ns)]);
  const worst = [...job.ranks.ranks].sort((a, b) => b.late_ns - a.late_ns)[0];
  const lines = job.timeline.ranks, scales = {memory: Math.max(1, ...lines.map(line => most(line.device_bytes))), stall: Math.max(1, ...lines.map(line => Math.max(most(line.stall_ns), most(line.waited_ns))))};
  const phases = job.phases.phases.flatMap(phase => phase.ranks.map((rank, i) => [i ? "" : phase.phase, String(rank.rank), countText(rank.launches), timeText(rank.host_ns), timeText(rank.kernel_ns),
    bytesText(rank.in_bytes), bytesText(rank.out_bytes), timeText(rank.stall_ns), timeText(rank.waited_ns)]));
  replace(view, worst.late_ns > 0 && make("p", {}, `Rank ${worst.rank} kept the others waiting most: ${timeText(worst.late_ns)} in all.`),
    table("Ranks, whole traces", ["#rank", "#launches", "#step", "#need", "#budget", "#peak", "#in", "#out", "#stalled", "#collectives", "#waited", "#late"], rows),
    make("h3", {}, job.timeline.iteration ? `Iteration ${job.timeline.iteration} on one axis, ${timeText(job.timeline.duration_ns)}` : "The whole traces on one axis"),
    legend([["resident", "memory on the device"], ["stall", "stalled for data"], ["late", "waiting for other ranks"]]),
    make("div", {class: "small-multiples"}, lines.map(line => make("div", {}, make("h3", {}, `Rank ${line.rank}`), rankChart(line.rank, line, scales)))),
    hidden("Phases of all ranks", table("Phases, by rank", ["phase", "#rank", "#launches", "#time", "#kernels", "#in", "#out", "#stalled", "#waited"], phases)),
    hidden("Who came late to collectives, and why", table("Lateness, by rank", ["#rank", "#compared", "#last", "#late", "#by work", "#by link", "#by data", "#by host"], late)));
}

/* What several sections need of a trace. */
function prepare(t) {
  const predicted = data.plan.result && data.plan.result.predictions[0];
  const assumed = predicted || {link_in: 24e9, link_out: 24e9};
  t.ceiling = {in: t.info.link_in || assumed.link_in, out: t.info.link_out || assumed.link_out, assumed: !t.info.link_in && !t.info.link_out};
  t.demangled = new Map(t.demangled);
  t.moves = sum(["in", "out"].map(way => movedBytes(phaseAll(t.phases), way)));
  const times = new Map(); /* sites with equal names are numbered, the largest first */
  t.siteNames = new Map(t.sites.sites.map(site => {
    const name = site.title, before = times.get(name) || 0;
    times.set(name, before + 1);
    return [site.site, before ? `${name} #${before + 1}` : name];
  }));
  const known = new Set(t.sites.sites.map(site => site.site));
  t.shownSites = new Set(t.stalls.longest.map(one => one.site).filter(site => known.has(site)));
  t.sites.sites.slice(0, 20).forEach(site => t.shownSites.add(site.site));
}

function showTrace(t) {
  axis.charts = [];
  const live = t.timeline.phases.map((_, c) => sum(CLASSES.map(name => t.timeline.memory[name][c])));
  Object.assign(axis, {from: 0, to: 1, at: (live.indexOf(most(live)) + 0.5) / live.length});
  replace(byId("notices"), notices(t));
  const name = t.info.program + (data.trace_count > 1 ? `, ${data.trace_count} ranks` : "");
  document.title = `${name}: GPU memory and traffic`;
  byId("title").textContent = `${name}: GPU memory and traffic`;
  const started = new Date(t.info.start_ns / 1e6);
  replace(byId("subtitle"), make("span", {}, t.file), isNaN(started) ? null : make("span", {}, `, ${started.toISOString().replace("T", " ").slice(0, 19)} UTC`),
    t.info.metadata.command && hidden("Command", make("code", {}, t.info.metadata.command)));
  replace(byId("story-lines"), storyLines(t).flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, ...text)]));
  for (const show of [showMemory, showLink, showStalls, showChunks, showSites, showPhases, showBalance, showBudget]) show(t);
}

function start() {
  data.traces.forEach(prepare);
  const select = byId("rank");
  data.traces.forEach((t, i) => select.append(make("option", {value: i}, `rank ${t.rank}: ${t.file}`)));
  byId("rank-choice").hidden = data.traces.length < 2;
  const shown = () => data.traces[select.value || 0];
  select.addEventListener("change", () => showTrace(shown()));
  document.addEventListener("click", event => {
    const link = event.target.closest("a[data-chunk]");
    if (link && shown().showChunk) shown().showChunk(Number(link.dataset.chunk));
    const target = event.target.closest("a[href^='#']");
    const closed = target && byId(target.getAttribute("href").slice(1)).closest("details:not([open])");
    if (closed) closed.open = true;
  });
  for (const media of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(media).addEventListener("change", redrawTimes);
  openForPrinting();
  byId("made-by").textContent = `Made by sluice ${data.sluice}. The figures are those of sluice trace and sluice plan with --json.`;
  showTrace(shown());
  showRanks();
}
start();
