"""GitHub's REST interface, and every forge that speaks it.

Finds by head before it creates, always a draft. Must not push, and must not put the token or a server's
uncleaned words into an error.
Source: https://docs.github.com/en/rest/pulls/pulls (2022-11-28);
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from autopilot.publish.answers import Lost, no_answer
from autopilot.publish.forges import github_rules
from autopilot.publish.forges.answers import Answer, refusal, unavailable, words
from autopilot.publish.forges.forge import Known, Wanted
from autopilot.publish.wire import NoAnswerError, OverWire, Wire
from autopilot.schemas.publication import PullRequest

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access

_HEADERS = (
    ("Accept", "application/vnd.github+json"),
    ("X-GitHub-Api-Version", "2022-11-28"),
)
_MOST_BYTES = 32 << 20
"""A hundred pull requests with their texts are told at once."""


class _Answered(BaseModel):
    """The part of an answer that we rely on; the rest is the forge's."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Side(_Answered):
    ref: str
    sha: str = Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    label: str | None = None


class _User(_Answered):
    login: str


class _Pull(_Answered):
    number: int = Field(ge=1)
    html_url: str
    state: Literal["open", "closed"]
    draft: bool = False
    body: str | None = None
    merged_at: str | None = None
    user: _User | None = None
    head: _Side
    base: _Side

    def known(self) -> Known:
        """Translate to our words."""
        state: Literal["open", "closed", "merged"] = "merged" if self.merged_at else self.state
        shown = PullRequest(number=self.number, url=self.html_url, draft=self.draft, state=state)
        author = self.user.login if self.user else ""
        return Known(shown, self.head.sha, self.base.ref, self.body or "", author, self.head.ref)


class _Branch(_Answered):
    protected: bool


_PULLS = TypeAdapter(tuple[_Pull, ...])


class GitHubForge(OverWire):
    """One repository on one such forge. Use as a context: it keeps a connection."""

    def __init__(self, api_url: str, project: str, access: Access, *, clock: Clock, timeout_s: float) -> None:
        """Take the interface's address, `owner/name`, the credential and how long one answer may take."""
        self._project = project
        self._access = access
        self._clock = clock
        self._wire = Wire(
            api_url,
            {**dict(_HEADERS), "Authorization": f"Bearer {access.token}"},
            clock=clock,
            timeout_s=timeout_s,
            most_bytes=_MOST_BYTES,
        )

    def protection(self, branch: str) -> str | None:
        """Ask whether the forge protects a branch; one that is not there yet is not protected."""
        answer = self._ask("GET", f"/branches/{quote(branch, safe='')}")
        if answer.status == httpx.codes.NOT_FOUND:
            return None
        is_protected = answer.read(_Branch.model_validate_json, httpx.codes.OK).protected
        return "it is protected on the forge" if is_protected else None

    def find(self, branch: str) -> Known | None:
        """Ask for every pull request of this head, whatever its state."""
        owner = self._project.partition("/")[0]
        head = f"{owner}:{branch}"
        answer = self._ask("GET", "/pulls", params={"head": head, "state": "all", "per_page": "100"})
        pulls = answer.read(_PULLS.validate_json, httpx.codes.OK)
        ours = [pull for pull in pulls if pull.head.ref == branch and pull.head.label in {None, head}]
        ours.sort(key=lambda pull: (pull.state == "open", pull.number))
        return ours[-1].known() if ours else None

    def get(self, number: int) -> Known:
        """Ask for one pull request; it is merged when the forge says when it was."""
        answer = self._ask("GET", f"/pulls/{number}")
        return answer.read(_Pull.model_validate_json, httpx.codes.OK).known()

    def create(self, wanted: Wanted) -> PullRequest:
        """Open a draft; when the answer is lost or says that there is one, look before believing anything."""
        payload = {
            "title": wanted.title,
            "head": wanted.branch,
            "base": wanted.base,
            "body": wanted.body,
            "draft": True,
        }
        try:
            answer = self._ask("POST", "/pulls", json=payload)
        except Lost as lost:
            known = self.find(wanted.branch)
            if known is None:
                raise unavailable(lost) from lost
            return known.pr
        if answer.status == httpx.codes.UNPROCESSABLE_ENTITY:
            known = self.find(wanted.branch)
            if known is None:
                raise refusal(answer)
            return known.pr
        return answer.read(_Pull.model_validate_json, httpx.codes.CREATED).known().pr

    def update(self, known: Known, *, body: str, head: str) -> None:
        """Replace the text. The forge follows the branch by itself."""
        del head
        answer = self._ask("PATCH", f"/pulls/{known.pr.number}", json={"body": body})
        answer.read(_Pull.model_validate_json, httpx.codes.OK)

    def weaknesses(self, branch: str) -> tuple[str, ...]:
        """Look at the token's reach, and at the rules of the base, the default and each release branch."""
        told = self._ask("GET", "")
        repository = told.read(github_rules.Repository.model_validate_json, httpx.codes.OK)
        releases = self._ask("GET", "/git/matching-refs/heads/release")
        refs = releases.read(github_rules.REFS.validate_json, httpx.codes.OK)
        names = [branch, repository.default_branch, *(each.ref.removeprefix("refs/heads/") for each in refs)]
        found, rulesets = [*github_rules.of_token(repository, told.header("x-oauth-scopes"))], set[int]()
        for name in dict.fromkeys(each for each in names if each):
            answer = self._ask("GET", f"/rules/branches/{quote(name, safe='')}", params={"per_page": "100"})
            rules = answer.read(github_rules.RULES.validate_json, httpx.codes.OK)
            found += github_rules.of_branch(name, rules)
            rulesets.update(rule.ruleset_id for rule in rules if rule.ruleset_id is not None)
        for number in sorted(rulesets):
            answer = self._ask("GET", f"/rulesets/{number}")
            found += github_rules.of_ruleset(
                answer.read(github_rules.Ruleset.model_validate_json, httpx.codes.OK)
            )
        return tuple(found)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        json: dict[str, Any] | None = None,
    ) -> Answer:
        """Ask once.

        Raises:
            Lost: no answer, or a server's failure: the work may have been done.
            TransientError: a rate limit, with the time to wait.
            Stop: the token is not accepted, or the repository is not reachable with it.
        """
        url = f"/repos/{self._project}{path}"
        request = f"{method} {_named(path)}"
        try:
            response = self._wire.ask(method, url, params=params, json=json)
        except NoAnswerError as error:
            raise no_answer(error, request, words()) from None
        return Answer(response, request, words(), told=self._access.told).check(self._clock)


def _named(path: str) -> str:
    """Name what was asked for, without whose it is."""
    return path.partition("?")[0].split("/")[1] if path else "repository"
