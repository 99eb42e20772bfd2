"""bench.html: the table of figures as a page that needs nothing else."""

import html

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #66707d; --paper: #fff; --line: #d9dee5; --good: #2f8f5b; --bad: #c23b3b; --bar: #4a7bd0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --quiet: #97a1ae; --paper: #14181e; --line: #2c333d; --good: #55b983; --bad: #e06c6c; --bar: #7ba4ea; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } .quiet { color: var(--quiet); }
svg { display: block; } .good { color: var(--good); } .bad { color: var(--bad); }
@media (max-width: 40rem) { td.pic, th.pic { display: none; } }
"""


def number(x):
    if x is None:
        return ""
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.3g}"


def picture(figure):
    """The value as a bar; the must as a line across it, the aim as a thin one."""
    bar = figure["must"] if figure["must"] is not None else figure["aim"]
    if not bar:
        return ""
    most = max(figure["value"], bar, figure["aim"] or 0) * 1.05 or 1
    at = lambda x: round(200 * x / most, 1)
    lines = f'<line x1="{at(bar)}" x2="{at(bar)}" y1="0" y2="14" stroke="currentColor" stroke-width="2"/>'
    if figure["aim"] is not None and figure["aim"] != bar:
        lines += f'<line x1="{at(figure["aim"])}" x2="{at(figure["aim"])}" y1="2" y2="12" stroke="currentColor" stroke-dasharray="2 2"/>'
    return (f'<svg width="204" height="14" role="img" aria-label="{number(figure["value"])} of {number(bar)}">'
            f'<rect x="0" y="3" width="{max(at(figure["value"]), 1)}" height="8" fill="var(--bar)"/>{lines}</svg>')


def write(file, result):
    out = ['<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
           f"<title>What a send costs</title><style>{STYLE}</style></head><body><h1>What a send costs</h1>",
           f'<p class="quiet">{html.escape(result["conditions"])} Thick line: the bar that must hold; dashed: what is in reach.</p>']
    for row in result["rows"]:
        out.append(f"<h2>{html.escape(row['title'])}</h2><table><tr><th>figure</th><th class=n>value</th><th class=n>must</th><th class=n>in reach</th>"
                   "<th class=pic></th></tr>")
        for f in row["figures"]:
            sign = "≥ " if f["at_least"] else "≤ "
            mark = "" if f["must"] is None else f' <span class="{"good" if f["met"] else "bad"}">{"holds" if f["met"] else "missed"}</span>'
            out.append(f"<tr><td>{html.escape(f['what'])}{mark}</td><td class=n>{number(f['value'])} <span class=quiet>{html.escape(f['unit'])}</span></td>"
                       f"<td class=n>{sign + number(f['must']) if f['must'] is not None else ''}</td>"
                       f"<td class=n>{sign + number(f['aim']) if f['aim'] is not None else ''}</td><td class=pic>{picture(f)}</td></tr>")
        out.append("</table>")
    out.append("<h2>A decision, ns of CPU</h2><table><tr><th>strategy and situation</th><th class=n>ns</th></tr>")
    out += [f"<tr><td>{html.escape(name)}</td><td class=n>{number(ns)}</td></tr>" for name, ns in result["decisions_ns"].items()]
    out.append("</table></body></html>")
    with open(file, "w", encoding="utf-8") as page:
        page.write("\n".join(out))
