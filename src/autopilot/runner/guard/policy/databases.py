"""SQLite, as far as it only reads a file of the worktree.

Must not accept an order of the program itself but to list tables, nor a function that reads or writes files.
Source: sqlite.org/cli.html.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy
from autopilot.runner.guard.policy.refusals import WHY_NOT
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROW = Form(
    "-readonly -safe -batch -header -noheader -csv -json -column -line -list -table -box -markdown "
    "-nullvalue=word -separator=text",
    "text text",
    is_single=True,
)
_LISTS = re.compile(r"\.(schema|tables|indexes|indices|databases|dbinfo)( [A-Za-z0-9_%]+)?")
_ASKS = re.compile(
    r"\s*(select|with|explain|values)\b.*"
    r"|\s*pragma (table_info|table_xinfo|index_list|index_info|foreign_key_list|database_list|user_version"
    r"|integrity_check|quick_check|foreign_key_check|schema_version|encoding|journal_mode)(\(['\"\w]+\))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_REACHES = re.compile(
    r"(?i)\b(readfile|writefile|edit|load_extension|zipfile|fsdir|lsdir|sqlar_\w+|fts\d+_tokenizer|csv)\b|\n"
)


def _sqlite(call: Call) -> None:
    """Judge `sqlite3 -readonly FILE QUESTION`."""
    if [word.text for word in call.args] in (["--version"], ["-version"]):
        return
    if not any(word.text in {"-readonly", "--readonly"} for word in call.args):
        raise Refused("program", f"{WHY_NOT['sqlite3']}; a file is read by sqlite3 -readonly FILE SQL")
    file, question = _ROW.read(call).operands
    if ":" in file.text or "?" in file.text or file.pattern is not None:
        raise Refused("database", "sqlite3 reads one file of the worktree, named plainly")
    call.act.read(file)
    text = question.text.strip()
    is_asked = _ASKS.fullmatch(text) and ";" not in text.rstrip("; \n") and not _REACHES.search(text)
    if question.pattern is not None or not (is_asked or _LISTS.fullmatch(text)):
        raise Refused("database", "sqlite3 -readonly takes .schema, .tables, or one SELECT of one line")


PROGRAMS: Mapping[str, Policy] = MappingProxyType({"sqlite3": _sqlite})
