"""tox and nox, which run what a file of the repository says.

Must not accept a verb with a command of one's own (`tox exec`), or a session that puts something out.
"""

from __future__ import annotations

import posixpath

from autopilot.runner.guard.policy.elsewhere import anywhere
from autopilot.runner.guard.policy.forms import Call, Form, Policy
from autopilot.runner.guard.policy.kinds import loose, read
from autopilot.runner.guard.policy.outward import check_task
from autopilot.runner.guard.verdict import Refused

_FORM = Form(
    "-epqvrl -e:word -s:word -f:word -p[:word] --list --version --sessions=word -k:text --notest", "text*"
)


def sessions(file: str, *, verbs: tuple[str, ...] = ()) -> Policy:
    """Judge by the names of the sessions; what stands behind `--` is for the commands of these.

    Source: https://tox.wiki/en/latest/cli_interface.html - the file is looked for upwards, and its folder is
    where the commands run.
    """

    def judge(call: Call) -> None:
        call.act.unchanged((file,), call.name)
        texts = [word.text for word in call.args]
        cut = texts.index("--") if "--" in texts else len(texts)
        given = _FORM.read(call._replace(args=call.args[:cut]))
        for word in given.values("-e", "-s", "-f", "-k", "--sessions"):
            check_task(call.name, word)
        if given.operands and given.operands[0].text not in verbs:
            shown = given.operands[0].text
            raise Refused("subcommand", f"{call.name} {shown}: {call.name} -e NAME -- WORDS for its commands")
        is_own = all(call.act.places.is_file(posixpath.join(each, file)) for each in call.act.folders)
        act = call.act if is_own else anywhere(call.act)
        for word in (*given.operands[1:], *call.args[cut + 1 :]):
            loose(act, word)
            if not word.text.startswith("-"):
                read(act, word)

    return judge
