#include <simulate/report.hpp>

#include <simulate/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

namespace shunt::simulate {

namespace {

constexpr std::string_view page_head = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>shunt simulate</title>
<style>
:root { --back: #fff; --text: #1d2328; --dim: #66717a; --line: #d9dee2; --box: #f5f7f8; --warn: #d98a00; --bad: #c43d3d; --away: #9aa5ad; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181b; --text: #e4e8ea; --dim: #97a2aa; --line: #333b41; --box: #1d2327; --warn: #e0a030; --bad: #e06060; --away: #5c676f; }
}
body { margin: 0 auto; max-width: 1500px; padding: 1rem 1.5rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 1rem; } h2 { font-size: 1.05rem; margin: 0; } h3 { font-size: .85rem; font-weight: 600; margin: 1rem 0 .2rem; }
.runs { display: grid; gap: 2rem; grid-template-columns: repeat(auto-fit, minmax(min(560px, 100%), 1fr)); }
.dim { color: var(--dim); } td, th { text-align: right; padding: .1rem .9rem .1rem 0; font-variant-numeric: tabular-nums; font-weight: 400; }
td:first-child, th:first-child { text-align: left; } th { color: var(--dim); }
svg { display: block; width: 100%; height: auto; background: var(--box); border-radius: 4px; } svg text { fill: var(--dim); font-size: 11px; }
.key { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin: 0 .35em 0 .8em; }
#tip { position: fixed; display: none; pointer-events: none; background: var(--back); color: var(--text); border: 1px solid var(--line); border-radius: 4px;
  padding: .4rem .6rem; font-size: 13px; white-space: pre; box-shadow: 0 2px 8px #0003; }
</style>
</head>
<body>
<h1 id="title"></h1>
<div class="runs" id="runs"></div>
<div id="tip"></div>
<script type="application/json" id="data">)page";

constexpr std::string_view page_tail = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const W = 720, LEFT = 46, RIGHT = 8;

function make(kind, attributes, text) {
  const svg = ["svg", "rect", "path", "line", "text", "g"].includes(kind);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", kind) : document.createElement(kind);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}
function color(i, n) { return `hsl(${Math.round(205 + 360 * i / Math.max(n, 1)) % 360} 55% ${i % 2 ? 46 : 56}%)`; }
function time(ms) { return ms >= 10000 ? +(ms / 1000).toFixed(1) + " s" : ms + " ms"; }
function share(part, all) { return all ? (100 * part / all).toFixed(1) + " %" : "-"; }
function sum(list) { return list.reduce((a, b) => a + b, 0); }

// A picture over time with a hover that tells the values of the piece under the pointer.
function picture(run, title, height, draw, tell) {
  const box = make("div"), svg = make("svg", { viewBox: `0 0 ${W} ${height + 18}`, role: "img", "aria-label": title });
  const pieces = run.attempts.length, step = (W - LEFT - RIGHT) / Math.max(pieces, 1), end = pieces * run.width_ms;
  const x = ms => LEFT + (end ? ms / end : 0) * (W - LEFT - RIGHT);
  draw(svg, x, step, height);
  for (let i = 0; i <= 4; ++i)
    svg.append(make("text", { x: x(end * i / 4), y: height + 13, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle" }, time(Math.round(end * i / 4))));
  const mark = make("line", { y1: 0, y2: height, stroke: "var(--dim)", "stroke-width": 1, visibility: "hidden" });
  svg.append(mark);
  svg.addEventListener("mousemove", event => {
    const area = svg.getBoundingClientRect();
    const i = Math.floor(((event.clientX - area.left) / area.width * W - LEFT) / step);
    if (i < 0 || i >= pieces) return hide();
    mark.setAttribute("x1", x((i + .5) * run.width_ms)); mark.setAttribute("x2", x((i + .5) * run.width_ms));
    mark.setAttribute("visibility", "visible");
    tip.textContent = `${time(i * run.width_ms)} to ${time((i + 1) * run.width_ms)}\n` + tell(i);
    tip.style.display = "block";
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
  });
  const hide = () => { tip.style.display = "none"; mark.setAttribute("visibility", "hidden"); };
  svg.addEventListener("mouseleave", hide);
  box.append(make("h3", {}, title), svg);
  return box;
}

function shares(run) {
  const n = run.brokers.length;
  return picture(run, "Share of attempts by broker", 150, (svg, x, step, height) => {
    run.attempts.forEach((row, i) => {
      const all = sum(row);
      let y = height;
      row.forEach((count, b) => {
        if (!count) return;
        const h = height * count / all;
        y -= h;
        svg.append(make("rect", { x: x(i * run.width_ms), y, width: Math.max(step, .5), height: h, fill: color(b, n) }));
      });
    });
    for (const part of [0, .5, 1]) svg.append(make("text", { x: LEFT - 4, y: height * (1 - part) + (part === 1 ? 10 : 0), "text-anchor": "end" }, 100 * part + " %"));
  }, i => run.brokers.map((name, b) => `${name}: ${run.attempts[i][b]} (${share(run.attempts[i][b], sum(run.attempts[i]))})`)
    .filter((text, b) => n <= 12 || run.attempts[i][b]).slice(0, 24).join("\n"));
}

function attempts(run) {
  const most = Math.max(1, ...run.attempts.map(sum));
  return picture(run, "Attempts, and those that did not store (red)", 80, (svg, x, step, height) => {
    run.attempts.forEach((row, i) => {
      const all = height * sum(row) / most, bad = height * sum(run.failed[i]) / most;
      svg.append(make("rect", { x: x(i * run.width_ms), y: height - all, width: Math.max(step, .5), height: all, fill: "var(--away)" }));
      if (bad) svg.append(make("rect", { x: x(i * run.width_ms), y: height - Math.max(bad, 1), width: Math.max(step, .5), height: Math.max(bad, 1), fill: "var(--bad)" }));
    });
    svg.append(make("text", { x: LEFT - 4, y: 10, "text-anchor": "end" }, most));
  }, i => `${sum(run.attempts[i])} attempts, ${sum(run.failed[i])} did not store`);
}

const words = { reachable: "isolated, reachable", isolated: "isolated, not reachable", away: "not in the route or read-only" };
const paint = { reachable: "var(--warn)", isolated: "var(--bad)", away: "var(--away)" };
function isolation(run) {
  const bar = run.brokers.length > 16 ? 8 : 18;
  return picture(run, "Who was avoided when", bar * run.brokers.length, (svg, x) => {
    run.brokers.forEach((name, b) => {
      for (const s of run.stretches[b])
        svg.append(make("rect", { x: x(s.from), y: b * bar + 2, width: Math.max(1, x(s.to) - x(s.from)), height: bar - 3, fill: paint[s.said] }));
      if (bar > 10) svg.append(make("text", { x: LEFT - 4, y: b * bar + 13, "text-anchor": "end" }, name.slice(0, 7)));
    });
  }, i => run.brokers.map((name, b) => {
    const s = run.stretches[b].find(s => s.from < (i + 1) * run.width_ms && s.to > i * run.width_ms);
    return s ? `${name}: ${words[s.said]}` : "";
  }).filter(Boolean).slice(0, 24).join("\n") || "all available");
}

function latencies(run) {
  const top = Math.log10(1 + Math.max(1, ...run.max_ms));
  return picture(run, "Latency of sends: median, p99 (orange), longest (dotted)", 130, (svg, x, step, height) => {
    const y = ms => height - height * .94 * Math.log10(1 + ms) / top;
    for (let ms = 1; Math.log10(1 + ms) <= top; ms *= 10) {
      svg.append(make("line", { x1: LEFT, x2: W - RIGHT, y1: y(ms), y2: y(ms), stroke: "var(--line)" }));
      svg.append(make("text", { x: LEFT - 4, y: y(ms) + 4, "text-anchor": "end" }, time(ms)));
    }
    const draw = (values, look) => {
      let d = "", pen = false;
      values.forEach((ms, i) => {
        if (!run.ended[i]) { pen = false; return; }
        d += `${pen ? "L" : "M"}${x((i + .5) * run.width_ms).toFixed(1)} ${y(ms).toFixed(1)} `;
        if (!pen) d += "h.01 ";
        pen = true;
      });
      if (d) svg.append(make("path", Object.assign({ d, fill: "none", "stroke-width": 1.6, "stroke-linecap": "round" }, look)));
    };
    draw(run.max_ms, { stroke: "var(--dim)", "stroke-dasharray": "1 3" });
    draw(run.p99_ms, { stroke: "var(--warn)" });
    draw(run.p50_ms, { stroke: "currentColor" });
  }, i => run.ended[i] ? `${run.ended[i]} sends ended\np50 ${time(run.p50_ms[i])}\np99 ${time(run.p99_ms[i])}\nmax ${time(run.max_ms[i])}` : "no send ended");
}

function numbers(run) {
  const s = run.summary, t = make("table"), row = cells => {
    const tr = make("tr");
    cells.forEach(c => tr.append(make(cells === head ? "th" : "td", {}, c)));
    t.append(tr);
  };
  const head = ["broker", "attempts", "share", "stored", ...(run.keys_first.length ? ["keys at first", "keys at last"] : [])];
  row(head);
  run.brokers.forEach((name, b) => {
    const of = s.brokers.find(one => one.broker === name) || { attempts: 0, stored: 0 };
    row([name, of.attempts, share(of.attempts, s.attempts), of.stored, ...(run.keys_first.length ? [run.keys_first[b], run.keys_last[b]] : [])]);
  });
  const first = [...t.children].slice(1);
  first.forEach((tr, b) => tr.firstChild.prepend(make("span", { class: "key", style: `background:${color(b, run.brokers.length)};margin-left:0` })));
  return t;
}

document.getElementById("title").textContent = data.title;
for (const run of data.runs) {
  const box = make("section"), s = run.summary, l = s.latency_ms;
  box.append(make("h2", {}, run.policy), make("div", { class: "dim" }, run.name));
  box.append(make("div", {}, `${s.sends} sends: ${s.stored} stored, ${s.failed.not_sent} not sent, ${s.failed.unknown} unknown, ${s.failed.rejected} rejected; ${s.attempts} attempts`));
  if (l.p50 !== null) box.append(make("div", {}, `latency p50 ${time(l.p50)}, p90 ${time(l.p90)}, p99 ${time(l.p99)}, max ${time(l.max)}`));
  box.append(shares(run), isolation(run), latencies(run), attempts(run), make("h3", {}, "Brokers"), numbers(run));
  document.getElementById("runs").append(box);
}
</script>
</body>
</html>
)page";

std::string_view to_string(verdict v) noexcept
{
    switch (v) {
    case verdict::available: return "available";
    case verdict::reachable: return "reachable";
    case verdict::isolated: return "isolated";
    case verdict::away: return "away";
    }
    return "?";
}

/// `write(i)` for each i below n, as a JSON array.
template <typename Write>
void append_array(std::string& out, std::size_t n, Write write)
{
    out += '[';
    for (std::size_t i = 0; i < n; ++i) {
        if (i != 0)
            out += ',';
        write(i);
    }
    out += ']';
}

void append_number(std::string& out, std::uint64_t n) { fmt::format_to(std::back_inserter(out), "{}", n); }

std::uint64_t count_of(const std::map<std::size_t, std::uint64_t>& counts, std::size_t broker)
{
    const auto at = counts.find(broker);
    return at == counts.end() ? 0 : at->second;
}

void append_run(std::string& out, const reported_run& run)
{
    const recording& series = run.series;
    const auto& pieces = series.pieces();
    std::vector<std::size_t> by_name(series.brokers().size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::sort(by_name.begin(), by_name.end(), [&](std::size_t a, std::size_t b) { return series.brokers()[a] < series.brokers()[b]; });

    out += R"({"name":)";
    append_quoted(out, run.name);
    out += R"(,"policy":)";
    append_quoted(out, run.policy);
    fmt::format_to(std::back_inserter(out), R"(,"width_ms":{},"brokers":)", series.width_ms());
    append_array(out, by_name.size(), [&](std::size_t b) { append_quoted(out, series.brokers()[by_name[b]]); });

    const auto table = [&](std::string_view key, auto counts_of) {
        fmt::format_to(std::back_inserter(out), R"(,"{}":)", key);
        append_array(out, pieces.size(), [&](std::size_t i) {
            append_array(out, by_name.size(), [&](std::size_t b) { append_number(out, count_of(counts_of(pieces[i]), by_name[b])); });
        });
    };
    table("attempts", [](const recording::piece& p) -> const auto& { return p.attempts; });
    table("failed", [](const recording::piece& p) -> const auto& { return p.failed; });

    const auto column = [&](std::string_view key, auto value_of) {
        fmt::format_to(std::back_inserter(out), R"(,"{}":)", key);
        append_array(out, pieces.size(), [&](std::size_t i) { append_number(out, static_cast<std::uint64_t>(value_of(pieces[i].latencies))); });
    };
    using latencies = std::map<std::int64_t, std::uint64_t>;
    column("ended", [](const latencies& l) {
        return std::accumulate(l.begin(), l.end(), std::uint64_t{0}, [](std::uint64_t n, const auto& one) { return n + one.second; });
    });
    column("p50_ms", [](const latencies& l) { return percentile(l, 500); });
    column("p99_ms", [](const latencies& l) { return percentile(l, 990); });
    column("max_ms", [](const latencies& l) { return percentile(l, 1000); });

    out += R"(,"stretches":)";
    append_array(out, by_name.size(), [&](std::size_t b) {
        const auto& all = series.stretches()[by_name[b]];
        append_array(out, all.size(), [&](std::size_t i) {
            fmt::format_to(std::back_inserter(out), R"({{"from":{},"to":{},"said":"{}"}})", all[i].from_ms, all[i].to_ms, to_string(all[i].said));
        });
    });
    const auto keys = series.keys();
    const auto placed = [&](std::string_view key, auto member) {
        fmt::format_to(std::back_inserter(out), R"(,"{}":)", key);
        append_array(out, keys.empty() ? 0 : by_name.size(), [&](std::size_t b) {
            const auto at = keys.find(by_name[b]);
            append_number(out, at == keys.end() ? 0 : at->second.*member);
        });
    };
    using pair = std::pair<std::uint64_t, std::uint64_t>;
    placed("keys_first", &pair::first);
    placed("keys_last", &pair::second);
    out += R"(,"summary":)" + to_json(run.sum) + "}";
}

}  // namespace

std::string report_page(const std::string& title, const std::vector<reported_run>& runs)
{
    std::string json = R"({"title":)";
    append_quoted(json, title);
    json += R"(,"runs":)";
    append_array(json, runs.size(), [&](std::size_t i) { append_run(json, runs[i]); });
    json += '}';

    std::string out(page_head);
    for (const char c : json) {  // a name must not end the element it stands in
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out.append(page_tail);
}

}  // namespace shunt::simulate
