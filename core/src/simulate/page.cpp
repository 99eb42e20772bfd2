#include <simulate/page.hpp>

namespace shunt::simulate {

// No part of it may come from elsewhere: it must open on a machine without a network, years from now.
const std::string_view page_before_data = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>shunt simulate</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1d2328; --dim: #5d6871; --line: #d9dee2; --box: #f6f8f9; --best: #e3f1e6;
  --warn: #d98a00; --bad: #c43d3d; --away: #a9b3bb; --script: #1d2328; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181b; --text: #e4e8ea; --dim: #9aa6ae; --line: #343d43; --box: #1c2226; --best: #203a29;
    --warn: #e0a030; --bad: #e06464; --away: #56616a; --script: #e4e8ea; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1560px; padding: 1rem clamp(.7rem, 2vw, 1.6rem) 3rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: .85rem; font-weight: 600; margin: 1.1rem 0 .25rem; }
.dim { color: var(--dim); } .small { font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .4rem 0; }
td, th { text-align: right; padding: .15rem .8rem .15rem 0; font-weight: 400; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } th { color: var(--dim); } tr + tr td { border-top: 1px solid var(--line); }
td.best { font-weight: 600; } td.best span { background: var(--best); border-radius: 3px; padding: .05rem .3rem; margin-right: -.3rem; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .85rem; color: var(--dim); margin: .25rem 0; }
.key { display: inline-block; width: .75em; height: .75em; border-radius: 2px; margin-right: .4em; }
.runs { display: grid; gap: 2.2rem; grid-template-columns: repeat(auto-fit, minmax(min(540px, 100%), 1fr)); margin-top: 1.4rem; }
.runs > * { min-width: 0; } details { grid-column: 1 / -1; } summary { cursor: pointer; }
.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: .5rem 0 0; } .facts div { min-width: 3.4rem; }
.facts dt { color: var(--dim); font-size: .8rem; } .facts dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.facts .bad dd { color: var(--bad); }
svg { display: block; width: 100%; background: var(--box); border-radius: 4px; touch-action: pan-y; }
svg text { fill: var(--dim); font-size: 11px; } svg rect { shape-rendering: crispEdges; } svg .dark { fill: var(--text); }
#tip { position: fixed; display: none; pointer-events: none; background: var(--back); color: var(--text); border: 1px solid var(--line);
  border-radius: 4px; padding: .35rem .55rem; font-size: 13px; white-space: pre; box-shadow: 0 2px 8px #0004; max-width: 96vw; overflow: hidden; z-index: 1;
  font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
<h1 id="title"></h1>
<div class="dim small" id="about"></div>
<div class="wide" id="compared"></div>
<div class="legend" id="brokers"></div>
<div class="runs" id="runs"></div>
<div id="tip"></div>
<script type="application/json" id="data">)page";

const std::string_view page_after_data = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const LEFT = 54, RIGHT = 10;

// ---- small things ----

function make(kind, attributes, ...inside) {
  const svg = ["svg", "rect", "path", "line", "text", "g", "circle"].includes(kind);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", kind) : document.createElement(kind);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...inside.map(one => typeof one === "number" ? number(one) : one));
  return e;
}
function number(n) { return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ","); }
function seconds(ms) { return ms >= 1000 || ms === 0 ? +(ms / 1000).toFixed(3) + " s" : ms + " ms"; }
function took(ms) { return ms === null ? "-" : ms >= 10000 ? +(ms / 1000).toFixed(1) + " s" : number(ms) + " ms"; }
function share(part, all) { return all ? (100 * part / all).toFixed(1) + " %" : "-"; }
function sum(list) { return list.reduce((a, b) => a + b, 0); }
function swatch(color) { return make("span", { class: "key", style: `background:${color}` }); }

// ---- the same colours and scales in all runs, so that they can be compared by eye ----

const brokers = [...new Set(data.runs.flatMap(run => run.brokers))].sort();
const FEW = ["#4e79a7", "#59a89c", "#8f6fc4", "#a59b3c", "#d37295", "#9c755f", "#4fb0d6", "#7b8794"];
function colorOf(name) {
  const i = brokers.indexOf(name);
  return brokers.length <= FEW.length ? FEW[i] : `hsl(${Math.round(190 + 300 * i / brokers.length) % 360} 42% ${i % 2 ? 46 : 58}%)`;
}
const END = Math.max(1, ...data.runs.map(run => run.attempts.length * run.width_ms));
const LONGEST = Math.max(10, ...data.runs.flatMap(run => run.max_ms));
const rate = (count, run) => 1000 * count / run.width_ms;
const BUSIEST = Math.max(1, ...data.runs.flatMap(run => run.attempts.map(row => rate(sum(row), run))));

// ---- pictures over time ----

function show(event, text) {
  tip.textContent = text;
  tip.style.display = "block";
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8)) + "px";
}
function hide() { tip.style.display = "none"; }

// `draw` gets the svg and x(ms); `tell` the values of a piece, for whoever points at it.
function picture(run, kind, title, width, height, draw, tell, legend) {
  const svg = make("svg", { viewBox: `0 0 ${width} ${height + 20}`, role: "img", "aria-label": title, "data-picture": kind });
  const x = ms => LEFT + ms / END * (width - LEFT - RIGHT);
  const round = [...Array(13)].flatMap((_, e) => [1, 2, 5].map(n => n * 10 ** e));
  const step = round.find(s => END / s <= (width < 500 ? 4 : 8)) || END;
  for (let ms = 0; ms <= END; ms += step) {
    svg.append(make("line", { x1: x(ms), x2: x(ms), y1: 0, y2: height, stroke: "var(--line)" }));
    if (x(ms) < width - 24) svg.append(make("text", { x: x(ms), y: height + 14, "text-anchor": ms ? "middle" : "start" }, seconds(ms)));
  }
  draw(svg, x);
  const mark = make("line", { y1: 0, y2: height, stroke: "var(--text)", "stroke-width": 1, "stroke-dasharray": "2 2", visibility: "hidden" });
  svg.append(mark);
  const point = event => {
    const area = svg.getBoundingClientRect();
    const ms = ((event.clientX - area.left) / area.width * width - LEFT) / (width - LEFT - RIGHT) * END;
    const i = Math.floor(ms / run.width_ms);
    if (i < 0 || i >= run.attempts.length) return leave();
    const middle = x((i + .5) * run.width_ms);
    mark.setAttribute("x1", middle); mark.setAttribute("x2", middle); mark.setAttribute("visibility", "visible");
    show(event, `${seconds(i * run.width_ms)} to ${seconds((i + 1) * run.width_ms)}\n` + tell(i));
  };
  const leave = () => { hide(); mark.setAttribute("visibility", "hidden"); };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", leave);
  return make("div", {}, make("h3", {}, title), svg, ...(legend ? [make("div", { class: "legend" }, ...legend.map(([color, text]) => make("span", {}, swatch(color), text)))] : []));
}
function level(svg, width, y, text) { svg.append(make("text", { x: LEFT - 5, y, "text-anchor": "end" }, text)); }
function most(lines) { return lines.slice(0, 24).concat(lines.length > 24 ? [`and ${lines.length - 24} more`] : []).join("\n"); }

function shares(run, width) {
  const height = 150;
  return picture(run, "share", "Where attempts went: share of each broker", width, height, (svg, x) => {
    run.attempts.forEach((row, i) => {
      const all = sum(row), left = x(i * run.width_ms), wide = Math.max(.5, x((i + 1) * run.width_ms) - left + .3);
      let y = height;
      row.forEach((count, b) => {
        if (!count) return;
        const h = height * count / all;
        y -= h;
        svg.append(make("rect", { x: left, y, width: wide, height: h, fill: colorOf(run.brokers[b]) }));
      });
    });
    level(svg, width, 10, "100 %"); level(svg, width, height / 2 + 4, "50 %"); level(svg, width, height, "0 %");
  }, i => most(run.brokers.map((name, b) => [name, run.attempts[i][b]]).filter(([, count]) => count || run.brokers.length <= 12)
    .map(([name, count]) => `${name}: ${number(count)} (${share(count, sum(run.attempts[i]))})`)));
}

// A long name, cut so that what tells it from the others is left.
function margin(name) {
  if (name.length <= 7) return name;
  let alike = 0;
  while (alike < name.length && brokers.every(other => other[alike] === name[alike])) ++alike;
  const from = Math.max(0, Math.min(alike - 2, name.length - 6));
  if (from === 0) return name.slice(0, 6) + "…";
  return "…" + (from + 6 < name.length ? name.slice(from, from + 5) + "…" : name.slice(from));
}

const VERDICTS = { reachable: ["var(--warn)", "avoided"], isolated: ["var(--bad)", "avoided, not reachable"], away: ["var(--away)", "not in the route, or read-only"] };
function isolation(run, width) {
  // Of many brokers those that had nothing are left out.
  const shown = run.brokers.map((_, b) => b).filter(b => run.brokers.length <= 12 || run.stretches[b].length + run.script[b].length);
  const row = shown.length > 20 ? 9 : 24, height = Math.max(row * shown.length, 24);
  const during = (all, i) => all.filter(s => s.from < (i + 1) * run.width_ms && s.to > i * run.width_ms);
  return picture(run, "isolation", "Who was avoided when", width, height, (svg, x) => {
    shown.forEach((b, place) => {
      const name = run.brokers[b], y = place * row, wide = s => x(Math.min(s.to, END)) - x(s.from);
      const bar = (s, top, height, fill) => svg.append(make("rect", { x: x(s.from), y: y + top, width: Math.max(1, wide(s)), height, fill }));
      for (const s of run.stretches[b]) bar(s, row * .14, row * .52, VERDICTS[s.said][0]);
      for (const s of run.script[b]) bar(s, row * .76, Math.max(2, row * .13), "var(--script)");
      if (row > 12) {
        level(svg, width, y + row * .6, margin(name));
        for (const s of run.script[b])
          if (wide(s) > 7 * s.does.length && !run.stretches[b].some(v => v.from <= s.from && v.to > s.from))
            svg.append(make("text", { x: x(s.from) + 3, y: y + row * .6, class: "dark" }, s.does));
      }
    });
  }, i => most(run.brokers.map((name, b) => {
    const said = during(run.stretches[b], i).map(s => VERDICTS[s.said][1]), does = during(run.script[b], i).map(s => s.does);
    return said.length + does.length ? `${name}: ${[...new Set([...said, ...does])].join("; ")}` : "";
  }).filter(Boolean)) || "nobody; all brokers are well",
  [...Object.entries(VERDICTS).filter(([said]) => data.runs.some(one => one.stretches.flat().some(s => s.said === said))).map(([, look]) => look),
    ["var(--script)", "the script: slow, hangs, refuses, ..."]]);
}

function latencies(run, width) {
  const height = 150, top = Math.log10(1 + LONGEST), y = ms => height - 4 - (height - 14) * Math.log10(1 + ms) / top;
  return picture(run, "latency", "How long sends took", width, height, (svg, x) => {
    for (let ms = 1; ms <= LONGEST * 1.01; ms *= 10) {
      svg.append(make("line", { x1: LEFT, x2: width - RIGHT, y1: y(ms), y2: y(ms), stroke: "var(--line)" }));
      level(svg, width, y(ms) + 4, seconds(ms));
    }
    const draw = (values, look) => {
      let d = "", pen = false;
      values.forEach((ms, i) => {
        if (!run.ended[i]) { pen = false; return; }
        d += `${pen ? "L" : "M"}${x((i + .5) * run.width_ms).toFixed(1)} ${y(ms).toFixed(1)} `;
        if (!pen) d += "h.01 ";
        pen = true;
      });
      if (d) svg.append(make("path", Object.assign({ d, fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" }, look)));
    };
    draw(run.max_ms, { stroke: "var(--dim)", "stroke-width": 1, "stroke-dasharray": "1 3" });
    draw(run.p99_ms, { stroke: "var(--warn)", "stroke-width": 1.6 });
    draw(run.p50_ms, { stroke: "var(--text)", "stroke-width": 1.8 });
  }, i => run.ended[i] ? `${number(run.ended[i])} sends ended\np50 ${took(run.p50_ms[i])}\np99 ${took(run.p99_ms[i])}\nmax ${took(run.max_ms[i])}` : "no send ended",
  [["var(--text)", "median"], ["var(--warn)", "p99"], ["var(--dim)", "longest (dotted)"]]);
}

function attempts(run, width) {
  const height = 80, y = count => (height - 6) * rate(count, run) / BUSIEST;
  return picture(run, "attempts", "Attempts a second", width, height, (svg, x) => {
    run.attempts.forEach((row, i) => {
      const left = x(i * run.width_ms), wide = Math.max(.5, x((i + 1) * run.width_ms) - left + .3), bad = sum(run.failed[i]), all = y(sum(row));
      svg.append(make("rect", { x: left, y: height - all, width: wide, height: all, fill: "var(--away)" }));
      if (bad) svg.append(make("rect", { x: left, y: height - Math.max(y(bad), 2), width: wide, height: Math.max(y(bad), 2), fill: "var(--bad)" }));
    });
    level(svg, width, 10, number(Math.round(BUSIEST))); level(svg, width, height, "0");
  }, i => `${number(sum(run.attempts[i]))} attempts\n${number(sum(run.failed[i]))} did not store`,
  [["var(--away)", "stored"], ["var(--bad)", "did not store"]]);
}

// ---- keys: where they lay first, where last ----

function keys(run, width) {
  const all = sum(run.keys_first), gap = 6, height = 150, used = run.brokers.filter((_, b) => run.keys_first[b] + run.keys_last[b]).length;
  const scale = (height - gap * Math.max(0, used - 1)) / Math.max(1, all), left = LEFT + 8, right = width - LEFT - 8;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height + 8}`, role: "img", "aria-label": "keys", "data-picture": "keys" });
  const column = (counts, x, anchor) => {
    let y = 4;
    return counts.map((count, b) => {
      const at = y;
      if (run.keys_first[b] + run.keys_last[b] === 0) return at;
      svg.append(make("rect", { x: x - (anchor === "end" ? 6 : 0), y, width: 6, height: Math.max(count * scale, .5), fill: colorOf(run.brokers[b]) }));
      svg.append(make("text", { x: x + (anchor === "end" ? -10 : 10), y: y + Math.max(count * scale / 2, 2) + 4, "text-anchor": anchor }, run.brokers[b].slice(0, 8)));
      y += count * scale + gap;
      return at;
    });
  };
  const from = column(run.keys_first, left, "end"), to = column(run.keys_last, right, "start");
  run.keys_between.forEach(([a, b, count]) => {
    const h = count * scale, y1 = from[a], y2 = to[b], middle = (left + right) / 2;
    from[a] += h; to[b] += h;
    const band = make("path", { d: `M${left} ${y1} C${middle} ${y1} ${middle} ${y2} ${right} ${y2} v${h} C${middle} ${y2 + h} ${middle} ${y1 + h} ${left} ${y1 + h} z`,
      fill: colorOf(run.brokers[a]), "fill-opacity": a === b ? .25 : .65 });
    const tell = event => show(event, a === b ? `${number(count)} keys stayed on ${run.brokers[a]}` : `${number(count)} keys went from ${run.brokers[a]} to ${run.brokers[b]}`);
    band.addEventListener("pointermove", tell);
    band.addEventListener("pointerdown", tell);
    band.addEventListener("pointerleave", hide);
    svg.append(band);
  });
  const line = `${number(run.keys)} keys; ${number(run.keys_moved)} changed their queue, ${number(run.out_of_order)} messages came out of order`;
  return make("div", {}, make("h3", {}, "Keys by broker: their first message, and their last"), svg, make("div", { class: "small dim" }, line));
}

// ---- numbers ----

function perBroker(run) {
  const has_keys = run.keys_first.length > 0;
  const table = make("table", { "data-table": "brokers" },
    make("tr", {}, ...["broker", "attempts", "share", "stored", ...(has_keys ? ["keys at first", "keys at last"] : [])].map(text => make("th", {}, text))));
  run.brokers.forEach((name, b) => {
    const of = run.summary.brokers.find(one => one.broker === name) || { attempts: 0, stored: 0 };
    const cells = [of.attempts, share(of.attempts, run.summary.attempts), of.stored, ...(has_keys ? [run.keys_first[b], run.keys_last[b]] : [])];
    table.append(make("tr", {}, make("td", {}, swatch(colorOf(name)), name), ...cells.map(cell => make("td", {}, cell))));
  });
  const wide = make("div", { class: "wide" }, table);
  return run.brokers.length <= 12 ? make("div", {}, make("h3", {}, "Brokers"), wide)
    : make("details", {}, make("summary", { class: "small" }, `Brokers: ${run.brokers.length}`), wide);
}

function facts(run) {
  const s = run.summary, l = s.latency_ms, lost = s.sends - s.stored;
  const list = make("dl", { class: "facts" });
  for (const [name, value, bad] of [["sends", number(s.sends)], ["stored", number(s.stored)], ["not sent", number(s.failed.not_sent), s.failed.not_sent],
      ["unknown", number(s.failed.unknown), s.failed.unknown], ["rejected", number(s.failed.rejected), s.failed.rejected], ["attempts", number(s.attempts)],
      ["p50", took(l.p50)], ["p99", took(l.p99)], ["p99.9", took(run.p999_ms)], ["max", took(l.max)]])
    if (bad || !["not sent", "unknown", "rejected"].includes(name))
      list.append(make("div", bad ? { class: "bad" } : {}, make("dt", {}, name), make("dd", { "data-fact": name }, value)));
  if (!lost) list.append(make("div", {}, make("dt", {}, "lost"), make("dd", { "data-fact": "lost" }, "none")));
  return list;
}

function compared() {
  const any_keys = data.runs.some(run => run.keys);
  const columns = [["not stored", run => run.summary.sends - run.summary.stored, number], ["attempts", run => run.summary.attempts, number],
    ["mean", run => run.mean_ms, ms => ms === null ? "-" : ms.toFixed(1) + " ms"], ["p50", run => run.summary.latency_ms.p50, took],
    ["p99", run => run.summary.latency_ms.p99, took], ["p99.9", run => run.p999_ms, took], ["max", run => run.summary.latency_ms.max, took],
    ...(any_keys ? [["keys moved", run => run.keys_moved, number], ["out of order", run => run.out_of_order, number]] : [])];
  const table = make("table", { "data-table": "compared" }, make("tr", {}, ...["", ...columns.map(([name]) => name)].map(text => make("th", {}, text))));
  for (const run of data.runs) {
    const tr = make("tr", {}, make("td", {}, run.policy + (data.runs.some(one => one !== run && one.policy === run.policy) ? ` (${run.name})` : "")));
    for (const [, value, text] of columns) {
      const values = data.runs.map(value), best = value(run) === Math.min(...values) && Math.max(...values) > Math.min(...values);
      tr.append(make("td", best ? { class: "best" } : {}, make("span", {}, text(value(run)))));
    }
    table.append(tr);
  }
  return table;
}

// ---- the page ----

function pictures(run, width) {
  return [shares, isolation, latencies, attempts, ...(run.keys_first.length ? [keys] : [])].map(draw => draw(run, width)).concat([perBroker(run)]);
}
function fill(box, run) {
  const width = Math.max(280, Math.min(760, box.clientWidth || 760));
  if (box.dataset.width === String(width)) return;
  box.dataset.width = width;
  box.replaceChildren(...pictures(run, width));
}

const OPEN = 4, boxes = [];
document.title = data.title + " - shunt simulate";
document.getElementById("title").textContent = data.title;
document.getElementById("about").textContent = "Run by shunt simulate, in virtual time. Point at a picture for its values." +
  (data.runs.length > 1 ? " All pictures have the same scales; the best of each column is marked." : "");
if (data.runs.length > 1) document.getElementById("compared").append(compared());
if (brokers.length <= 16) document.getElementById("brokers").append(...brokers.map(name => make("span", {}, swatch(colorOf(name)), name)));
data.runs.forEach((run, i) => {
  const box = make("div"), head = make("h2", {}, run.policy), name = run.name === run.policy ? [] : [make("div", { class: "dim small" }, run.name)];
  if (i < OPEN) {
    document.getElementById("runs").append(make("section", {}, head, ...name, facts(run), box));
    boxes.push([box, run]);
  } else {
    const more = make("details", {}, make("summary", {}, run.policy), facts(run), box);
    document.getElementById("runs").append(more);
    more.addEventListener("toggle", () => { if (more.open) { boxes.push([box, run]); fill(box, run); } });
  }
});
boxes.forEach(([box, run]) => fill(box, run));  // when all stand where they will: widths are known
window.addEventListener("resize", () => { hide(); boxes.forEach(([box, run]) => fill(box, run)); });
window.addEventListener("scroll", hide, { passive: true });
</script>
</body>
</html>
)page";

}  // namespace shunt::simulate
