"""The Markdown of captions and cards as JSON values: the watchers' page cannot render Markdown.

It supports paragraphs, lists, bold and italic text, code, and formulas between dollar signs; links keep their
text but not their address. Anything else is shown as written.
"""

import re
from typing import Any

from rbmviz.view.formulas import mathml

INLINE = re.compile(
    r"\$(?P<math>[^$]+)\$|`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|(?<!\w)[*_](?=\S)(?P<em>[^*_]+)(?<=\S)[*_](?!\w)"
    r"|\[(?P<link>[^\]]+)\]\([^)]*\)|:material/\w+:",
    re.DOTALL,
)

ITEM = re.compile(r"^(?:[-*]|\d+\.) +", re.MULTILINE)

StyledText = list[str]
"""A style ("text", "strong", "em", "code" or "math") and its text, which is MathML for "math"."""


def marked(text: str) -> list[dict[str, Any]]:
    """Return a text as blocks: ``{"items": [styled texts of a paragraph or of each item], "list": kind}``.

    The kind is "" for a paragraph, "ul" for a list with bullets and "ol" for one with numbers.
    """
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        first = ITEM.match(block)
        kind = "" if first is None else "ol" if block[0].isdigit() else "ul"
        items = ITEM.split(block)[1:] if kind else [block]
        if block:
            blocks.append({"list": kind, "items": [_styled(" ".join(item.split())) for item in items]})
    return blocks


def _styled(text: str, style: str = "text") -> list[StyledText]:
    spans: list[StyledText] = []
    at = 0
    for match in INLINE.finditer(text):
        if match.start() > at:
            spans.append([style, text[at : match.start()]])
        at = match.end()
        kind, inner = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        if kind == "math":
            spans.append(_formula(inner))
        elif kind == "code":
            spans.append(["code", inner])
        elif kind:
            spans += _styled(inner, kind if kind != "link" else style)
    if at < len(text):
        spans.append([style, text[at:]])
    return spans


def _formula(latex: str) -> StyledText:
    try:
        return ["math", mathml(latex)]
    except Exception:  # the converter raises many types of errors for formulas that it cannot read
        return ["code", latex]
