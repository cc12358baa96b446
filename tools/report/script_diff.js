/* Two runs of a program: what changed, and whether it matters. */

const diff = data.diff, SIDES = [["a", "A"], ["b", "B"]];
const CLASSES = ["parameters", "gradients", "optimizer state", "activations", "workspaces", "inputs", "unknown"];
const CAUSES = ["plan", "demand", "late"];
const OFF_SCALE = 3; /* a budget this many times what is used is told, not drawn */
const CHARTED = 8;   /* kernels and sites that have bars */
const figures = new Map(diff.figures.map(figure => [figure.name, figure]));
const settings = new Map(diff.settings.map(setting => [setting.name, setting]));

const TEXTS = {ns: timeText, bytes: bytesText, number: countText};
const STATES = {same: "–", noise: "within the spread", more: "more", less: "less", added: "added", gone: "gone"};
const matters = state => state !== "same" && state !== "noise";
const iterationWord = {steps: "step", repetitions: "repetition", run: "run"}[diff.a.iterations_are];

const zeroDash = (value, text) => value ? text(value) : "–";
const changeText = (change, text) => change ? (change > 0 ? "+" : "−") + text(Math.abs(change)) : "–";
const shareText = figure => figure.change && figure.change_percent !== null ? (figure.change > 0 ? "+" : "−") + Math.abs(figure.change_percent).toFixed(1) : "–";
const stateText = figure => !figure.compared ? "not compared" : figure.state === "same" && figure.change ? "too little" : STATES[figure.state];
/* "A 1.80 ms, B 1.67 ms (−7.7 %)" */
function bothText(figure) {
  const text = TEXTS[figure.unit], share = shareText(figure);
  return `A ${text(figure.a.median)}, B ${text(figure.b.median)}` + (share === "–" ? "" : ` (${share} %)`) + (figure.compared ? "" : ", not compared");
}

/* Rows of the figures that have these names, without those that are 0 in both runs. */
function figureTable(caption, names) {
  const rows = names.map(name => figures.get(name)).filter(figure => figure.a.median || figure.b.median || figure.a.most || figure.b.most).map(figure => {
    const text = TEXTS[figure.unit];
    return [figure.name, zeroDash(figure.a.median, text), zeroDash(figure.b.median, text), changeText(figure.change, text), shareText(figure),
      zeroDash(Math.max(figure.a.spread, figure.b.spread), text), stateText(figure)];
  });
  return rows.length ? table(caption, ["figure", "#A", "#B", "#change", "#%", "#spread", "difference"], rows) : note(`${caption}: all are 0 in both runs.`);
}

const partsOf = (names, tints, key) => names.map(([figure, name], i) => ({name, tint: tints[i], value: figures.get(figure)[key].median}));
const pair = (title, row) => ({title, rows: SIDES.map(([key, side]) => ({side, parts: [], ...row(key)}))});
const isEmpty = group => group.rows.every(row => !row.total && !sum(row.parts.map(part => part.value)));

function showVerdict() {
  const verdict = diff.verdict, time = figures.get(verdict.judged_by === "host time" ? "time" : "device time");
  const words = {more: "B is worse", less: "B is better", same: "No difference that matters", noise: "No difference beyond the spread of iterations"};
  const headline = byId("headline");
  headline.textContent = verdict.text;
  headline.dataset.state = verdict.state;
  const counts = [["matter", "by enough to matter"], ["below_threshold", "too little to matter"], ["noise", "within the spread of iterations"], ["not_compared", "not compared"]]
    .map(([key, text]) => [["figure", "kernel", "site"].filter(name => diff.counts[name + "s"][key]).map(name => plural(diff.counts[name + "s"][key], name)).join(", "), text])
    .filter(([counted]) => counted).map(([counted, text]) => `${text}: ${counted}`);
  const lines = [["Verdict", [make("strong", {}, words[verdict.state]), `, judged by ${verdict.judged_by}; what differs by ${verdict.threshold_percent} % or less does not matter.`]],
    [time.name === "time" ? "Time" : "Device time", [bothText(time)]], ["Stalled", [bothText(figures.get("stalled"))]],
    ["Moved", [bothText(figures.get("moved"))]], ["Peak memory", [bothText(figures.get("peak"))]],
    ["Differ", [counts.length ? counts.join("; ") + "." : "nothing."]]];
  replace(byId("story-lines"), lines.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, ...text)]));
}

function notices() {
  const found = [];
  for (const [key, side] of SIDES) {
    const times = diff[key].launch_times;
    if (!diff[key].complete) found.push(`The trace of ${side} ends early or is damaged: what could be read is compared.`);
    if (2 * times.guessed > times.launches) found.push(`Most times of ${side} are guessed: record with SLUICE_TRACE_SAMPLE=1 to measure all.`);
  }
  if (diff.a.own_clock && diff.b.own_clock) found.push("Device time is that of kernels and stalls. The program's own times are not compared, because the device has a clock of its own.");
  if (diff.a.iterations_are === "run") found.push("No iterations were found in both traces: the whole runs are compared as one.");
  else if (diff.a.compared_iterations === 1 || diff.b.compared_iterations === 1)
    found.push("One iteration of a trace does not show how much iterations differ: record longer runs.");
  return found.map(text => make("p", {class: "notice"}, text));
}

function settingText(setting, key) {
  const value = setting[key], unit = {"device memory": bytesText, budget: bytesText, chunk: bytesText, "link in": rateText, "link out": rateText}[setting.name];
  if (value === null || (unit && !value)) return "unknown";
  return unit ? unit(value) : value;
}

/* Two long texts from the first word on in which they differ. */
function fromDifference(a, b) {
  let at = 0, word = 0;
  for (; at < a.length && a[at] === b[at]; at++) if (a[at] === " ") word = at + 1;
  return at === a.length || word === 0 ? [a, b] : [a, b].map(text => "… " + text.slice(word));
}

function showRuns() {
  const compared = side => side.iterations_are === "run" ? "the whole run" : `${side.compared_iterations} of ${side.iterations} ${side.iterations_are}, from no. ${side.first_compared}`;
  const measured = ({launch_times: times}) => `${countText(times.measured)} of ${countText(times.launches)}` + (times.guessed ? `, ${countText(times.guessed)} guessed` : "");
  const used = side => side.peak_percent_of_budget === null ? "unknown" : side.peak_percent_of_budget.toFixed(1) + " %";
  const more = [["trace", side => side.path], ["compared", compared], ["launches measured", measured], ["peak, of the budget", used]];
  const rows = [...more.map(([name, text]) => [name, text(diff.a), text(diff.b), ""]),
    ...diff.settings.map(setting => [setting.name, settingText(setting, "a"), settingText(setting, "b"), setting.differs ? "differs" : ""])];
  const wide = ([name, a, b, differs]) => [name, ...(a.length + b.length > 200 ? fromDifference(a, b).map((text, i) => clipped(text, [a, b][i])) : [a, b]), differs];
  replace(byId("runs-view"), table("Identity and settings", ["setting", "~A", "~B", ""], rows.filter(row => row[1] !== "unknown" || row[2] !== "unknown").map(wide)),
    hidden("Commands", SIDES.map(([key, side]) => make("p", {}, `${side}: `, make("code", {}, settingText(settings.get("command"), key))))));
}

function showStep() {
  const time = figures.get("time"), device = figures.get("device time");
  const spread = figure => key => figure[key].quarter < figure[key].three_quarters ? [figure[key].quarter, figure[key].three_quarters] : null;
  const host = pair("Program's time", key => ({total: time[key].median, parts: [{name: "time", tint: "unknown", value: time[key].median}], spread: spread(time)(key)}));
  const busy = pair("Device time", key => ({total: device[key].median, spread: spread(device)(key),
    parts: partsOf([["kernels", "kernels"], ["stalled", "stalled"]], ["resident", "stall"], key)}));
  const groups = [...(time.compared ? [host] : []), busy].filter(group => !isEmpty(group));
  replace(byId("step-view"), groups.length ? [legend([...(time.compared ? [["unknown", "program's time"]] : []), ["resident", "kernels"], ["stall", "stalled"]]),
    pairedBars(`Time of a ${iterationWord}`, groups, timeText)] : note("No times are known."),
  figureTable(`Times and counts of a ${iterationWord}`, ["time", "device time", "kernels", "stalled", "stalls", "launches", "mispredictions"]));
}

function showTraffic() {
  const names = way => CAUSES.map(cause => [`${way}, ${cause}`, cause]);
  const group = (title, way) => pair(title, key => ({total: figures.get(way)[key].median, parts: partsOf(names(way), CAUSES, key)}));
  const groups = [group("To the device: fetched", "fetched"), group("From the device: evicted", "evicted")];
  const causes = ["moved", "fetched", ...names("fetched").map(([name]) => name), "evicted", ...names("evicted").map(([name]) => name),
    "populated", "discarded", "program's copies in", "program's copies out"];
  replace(byId("traffic-view"), groups.every(isEmpty) ? note("Nothing is fetched or evicted in either run.") : [
    legend([["plan", "prefetch or planned eviction"], ["demand", "on demand"], ["late", "late: planned, but issued at the launch"]]),
    pairedBars(`Bytes moved in a ${iterationWord}, by cause`, groups, bytesText, 1024)],
  figureTable("Bytes by direction and cause", causes),
  figureTable("Bytes fetched and evicted, by class", ["fetched", "evicted"].flatMap(way => CLASSES.map(name => `${way}, ${name}`))));
}

function showMemory() {
  const peak = figures.get("peak"), mean = figures.get("mean"), top = Math.max(peak.a.median, peak.b.median);
  const drawn = key => diff[key].budget_bytes && diff[key].budget_bytes <= OFF_SCALE * top ? diff[key].budget_bytes : null;
  const present = CLASSES.filter(name => SIDES.some(([key]) => figures.get(`mean, ${name}`)[key].median));
  const live = SIDES.some(([key]) => diff[key].memory_by_class_is_live);
  const byClass = key => partsOf(present.map(name => [`mean, ${name}`, name]), present, key);
  const room = key => live ? 0 : Math.max(0, mean[key].median - sum(byClass(key).map(part => part.value)));
  const groups = [pair("At the peak", key => ({total: peak[key].median, parts: [{name: "occupied", tint: "resident", value: peak[key].median}], limit: drawn(key)})),
    pair("On average, by class", key => ({total: mean[key].median, parts: [...byClass(key), {name: "room in chunks", tint: "waiting", value: room(key)}]}))].filter(group => !isEmpty(group));
  const notes = [];
  for (const [key, side] of SIDES)
    if (diff[key].budget_bytes) notes.push(`The budget of ${side} is ${bytesText(diff[key].budget_bytes)}` + (drawn(key) ? ", the dashed line." : ", off the scale."));
  if (live) notes.push("The places of chunks are unknown: classes count live memory on the device and on the host.");
  notes.push("The peak and the mean count whole chunks; classes count the live allocations in them.");
  replace(byId("memory-view"), groups.length ? [legend([["resident", "occupied"], ...present.map(name => [name, name]), ...(SIDES.some(([key]) => room(key)) ? [["waiting", "room left in chunks"]] : [])]),
    pairedBars("Device memory", groups, bytesText, 1024)] : note("Nothing is known of memory on the device."), note(notes.join(" ")),
  figureTable("At the peak, by class", ["peak", ...CLASSES.map(name => `peak, ${name}`), "live"]),
  figureTable("Mean over launches, by class", ["mean", ...CLASSES.map(name => `mean, ${name}`)]));
}

const kernelName = kernel => clipped(kernel.title, kernel.name);

function showStalls() {
  const stalled = figures.get("stalled"), stalls = figures.get("stalls");
  const kernels = diff.kernels.filter(kernel => kernel.stall_ns.a.median || kernel.stall_ns.b.median || kernel.a.stalls || kernel.b.stalls);
  const rows = [...kernels].sort((a, b) => Math.abs(b.stall_ns.change) - Math.abs(a.stall_ns.change)).map(kernel => [kernelName(kernel),
    ...SIDES.map(([key]) => zeroDash(kernel[key].stalls, countText)), ...SIDES.map(([key]) => zeroDash(kernel.stall_ns[key].median, timeText)),
    changeText(kernel.stall_ns.change, timeText), shareText(kernel.stall_ns), stateText(kernel.stall_ns)]);
  replace(byId("stalls-view"), make("p", {}, SIDES.map(([key, side]) => `${side} waits ${timeText(stalled[key].median)} in ${plural(stalls[key].median, "stall")}`).join(", ") + "."),
    rows.length ? table("Stalls, by kernel", ["~kernel", "#stalls A", "#stalls B", "#stalled A", "#stalled B", "#change", "#%", "difference"], rows)
      : note("In no iteration of either run does a kernel usually wait."));
}

/* Rows that matter, then the rest, which is hidden. */
function twoTables(what, columns, matter, rest) {
  return [matter.length ? table(`${what} that differ enough to matter`, columns, matter) : note(`No ${what.toLowerCase()} differ enough to matter.`),
    rest.length > 0 && hidden(`The other ${countText(rest.length)} ${what.toLowerCase()}`, table(`${what} that do not differ, or too little`, columns, rest))];
}

function showKernels() {
  const row = kernel => [kernelName(kernel), STATES[kernel.state], ...SIDES.map(([key]) => zeroDash(kernel.launches[key].median, countText)),
    ...SIDES.map(([key]) => zeroDash(kernel.time_ns[key].median, timeText)), changeText(kernel.time_ns.change, timeText), shareText(kernel.time_ns),
    ...SIDES.map(([key]) => zeroDash(kernel.stall_ns[key].median, timeText))];
  const matter = diff.kernels.filter(kernel => matters(kernel.state)), rest = diff.kernels.filter(kernel => !matters(kernel.state));
  const charted = matter.filter(kernel => kernel.time_ns.compared && kernel.time_ns.change).slice(0, CHARTED);
  const groups = charted.map(kernel => pair(kernel.title + (["added", "gone"].includes(kernel.state) ? ` (${kernel.state})` : ""),
    key => ({total: kernel.time_ns[key].median, parts: [{name: "time", tint: "resident", value: kernel.time_ns[key].median}]})));
  const columns = ["~kernel", "state", "#launches A", "#launches B", "#time A", "#time B", "#change", "#%", "#stalled A", "#stalled B"];
  replace(byId("kernels-view"), groups.length > 0 && pairedBars("Kernels whose time changes most", groups, timeText), ...twoTables("Kernels", columns, matter.map(row), rest.map(row)));
}

function showSites() {
  const title = site => clipped(site.title || `site ${site.site}`);
  const name = site => site.frames ? make("details", {}, make("summary", {}, title(site)), make("code", {}, site.frames)) : title(site);
  const row = site => [name(site), STATES[site.state], ...SIDES.map(([key]) => zeroDash(site[key].peak_bytes, bytesText)), changeText(site.change, bytesText), shareText(site),
    ...SIDES.map(([key]) => zeroDash(site[key].allocations, countText)), ...SIDES.map(([key]) => zeroDash(site[key].total_bytes, bytesText))];
  const matter = diff.sites.filter(site => matters(site.state)), rest = diff.sites.filter(site => !matters(site.state));
  const columns = ["~site", "state", "#A", "#B", "#change", "#%", "#allocations A", "#allocations B", "#in all A", "#in all B"];
  const common = diff.sites.some(site => site.a.allocations && site.b.allocations);
  replace(byId("sites-view"), diff.sites.length > 0 && !common && note("No allocation site is in both traces: the program or its libraries were built anew."),
    ...twoTables("Sites", columns, matter.map(row), rest.map(row)));
}

function start() {
  const names = [...new Set(SIDES.map(([key]) => diff[key].program))].join(" and ");
  document.title = `${names}: two runs compared`;
  byId("title").textContent = document.title;
  replace(byId("subtitle"), SIDES.map(([key, side]) => make("div", {}, `${side}: ${diff[key].path}`)));
  replace(byId("notices"), notices());
  for (const show of [showVerdict, showRuns, showStep, showTraffic, showMemory, showStalls, showKernels, showSites]) show();
  replace(byId("figures-view"), figureTable(`All figures of a ${iterationWord}`, diff.figures.map(figure => figure.name)));
  byId("made-by").textContent = `Made by sluice ${data.sluice}. The figures are those of sluice trace diff --json.`;
  openForPrinting();
}
start();
