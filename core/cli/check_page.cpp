#include "check_page.hpp"

namespace shunt::cli {

namespace {

constexpr std::string_view head = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>shunt plugin check</title>
<style>
:root { --back: #fff; --text: #1d2328; --dim: #66717a; --line: #d9dee2; --box: #f5f7f8; --passed: #2c8a4b; --warned: #b87400; --failed: #c43d3d; --skipped: #7c8891; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181b; --text: #e4e8ea; --dim: #97a2aa; --line: #333b41; --box: #1d2327; --passed: #5cc07d; --warned: #e0a030; --failed: #e87070; --skipped: #8b979f; }
}
body { margin: 0 auto; max-width: 1100px; padding: 1rem 1.5rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
.dim { color: var(--dim); }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }
.counts button { border: 1px solid var(--line); background: var(--box); color: inherit; font: inherit; border-radius: 4px; padding: .25rem .8rem; cursor: pointer; }
.counts button[aria-pressed="false"] { opacity: .45; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .35rem .8rem .35rem 0; vertical-align: top; overflow-wrap: anywhere; }
td:nth-child(1) { width: 5.5rem; font-weight: 600; } td:nth-child(2) { width: 12rem; } td:nth-child(4) { width: 5rem; text-align: right; color: var(--dim); font-variant-numeric: tabular-nums; }
.passed { color: var(--passed); } .warned { color: var(--warned); } .failed, .crashed { color: var(--failed); } .skipped { color: var(--skipped); }
@media (max-width: 600px) {
  body { padding: 1rem; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: 5.5rem 1fr auto; column-gap: .6rem; border-top: 1px solid var(--line); padding: .45rem 0; }
  td, td:nth-child(n) { display: block; width: auto; border: 0; padding: 0; }
  td:nth-child(3) { grid-row: 2; grid-column: 1 / -1; }
}
.detail { background: var(--box); border-radius: 4px; padding: .2rem .5rem; margin-top: .25rem; }
</style>
</head>
<body>
<h1 id="file"></h1>
<div class="dim" id="strategies"></div>
<p class="warned" id="interrupted" hidden>The run was interrupted: the checks that are not here were not run.</p>
<div class="counts" id="counts"></div>
<div id="all"></div>
<script type="application/json" id="data">)page";

constexpr std::string_view tail = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const kinds = ["failed", "crashed", "warned", "passed", "skipped"];
const shown = new Set(kinds);
function make(kind, attributes, ...inside) {
  const e = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...inside);
  return e;
}
document.getElementById("file").textContent = data.file;
document.getElementById("strategies").textContent = data.strategies.map(s => `${s.kind} ${s.name}`).join(", ") || "no strategy is known of it";
document.getElementById("interrupted").hidden = !data.interrupted;
for (const kind of kinds) {
  const button = make("button", { "aria-pressed": "true", class: kind }, `${data[kind]} ${kind}`);
  button.addEventListener("click", () => {
    shown.has(kind) ? shown.delete(kind) : shown.add(kind);
    button.setAttribute("aria-pressed", shown.has(kind));
    draw();
  });
  document.getElementById("counts").append(button);
}
function draw() {
  const all = document.getElementById("all");
  all.replaceChildren();
  for (const strategy of [...new Set(data.checks.map(c => c.strategy))]) {
    const checks = data.checks.filter(c => c.strategy === strategy && shown.has(c.result));
    if (!checks.length) continue;
    checks.sort((a, b) => kinds.indexOf(a.result) - kinds.indexOf(b.result));
    const rows = checks.map(c => make("tr", {},
      make("td", { class: c.result }, c.result), make("td", {}, c.name),
      make("td", {}, c.reason, ...(c.detail ? [make("div", { class: "detail" }, c.detail)] : [])),
      make("td", {}, c.seconds ? `${Math.round(c.seconds * 1000)} ms` : "")));
    all.append(make("h2", {}, strategy || "the file"), make("table", {}, ...rows));
  }
}
draw();
</script>
</body>
</html>
)page";

}  // namespace

std::string check_page(std::string_view results)
{
    std::string page(head);
    for (const char c : results) {
        if (c == '<')  // no text of a plugin may end the script it stands in
            page += "\\u003c";
        else
            page += c;
    }
    page += tail;
    return page;
}

}  // namespace shunt::cli
