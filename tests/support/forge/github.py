"""GitHub's REST answers for what publishing needs, and the rules behind them.

Pure request-to-answer: no socket here. Answers start from GitHub's own examples, so
that every field of the description is there.
"""

import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.support.forge import issues
from tests.support.forge.faults import pull_problem
from tests.support.forge.issues import Issue, Issues
from tests.support.forge.spec import GitHubSpec, Json, Operation
from tests.support.forge.state import Pull, Pulls, Repositories

MAX_BODY_CHARS: Final = 65_536
LOGIN: Final = "bot"
OWN: Final = 1
_REPO: Final = "/repos/{owner}/{repo}"
_PULLS: Final = f"{_REPO}/pulls"
_PULL: Final = f"{_PULLS}/{{pull_number}}"
_BRANCH: Final = f"{_REPO}/branches/{{branch}}"
_ISSUE: Final = f"{_REPO}/issues/{{issue_number}}"
_COMMENTS: Final = f"{_ISSUE}/comments"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON body and headers."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One request that the description knows and allows."""

    operation: Operation
    query: dict[str, str]
    body: Json

    @property
    def repo(self) -> str:
        """The repository as `owner/name`."""
        names = self.operation.variables
        return f"{names['owner']}/{names['repo']}"


class GitHub:
    """Answers calls from the forge's state."""

    def __init__(self, spec: GitHubSpec, repositories: Repositories, pulls: Pulls, known: Issues) -> None:
        self.spec = spec
        self._repositories = repositories
        self._pulls = pulls
        self._issues = known
        self._routes: dict[tuple[str, str], Callable[[Call, str], Answer]] = {
            ("GET", "/user"): self._user,
            ("GET", _REPO): self._repo,
            ("GET", _BRANCH): self._branch,
            ("GET", _PULLS): self._list,
            ("POST", _PULLS): self._create,
            ("GET", _PULL): self._get,
            ("PATCH", _PULL): self._update,
            ("GET", _ISSUE): self._issue,
            ("GET", _COMMENTS): self._comments,
            ("POST", _COMMENTS): self._comment,
        }

    def answer(self, method: str, target: str, body: object, base_url: str) -> Answer:
        """Answer one request whose credentials were already accepted.

        Args:
            method: the HTTP method.
            target: path and query.
            body: the decoded JSON, or None.
            base_url: how this client calls us, for the URLs in the answer.
        """
        url = urllib.parse.urlsplit(target)
        operation = self.spec.find(method, url.path)
        route = self._routes.get((method, operation.template)) if operation else None
        if operation is None or route is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        errors = self.spec.request_errors(operation, url.query, body)
        if errors:
            text = "Invalid request.\n\n" + "; ".join(errors)
            return Answer(422, {"message": text, "documentation_url": "https://docs.github.com/rest"})
        call = Call(operation, dict(urllib.parse.parse_qsl(url.query)), _as_object(body))
        if "owner" in operation.variables and not self._repositories.path(call.repo):
            return Answer(404, {"message": "Not Found", "status": "404"})
        return route(call, base_url)

    def _user(self, call: Call, base_url: str) -> Answer:
        user = self.spec.example("/user", "get", "200")
        user |= {"login": LOGIN, "id": OWN, "url": f"{base_url}/users/{LOGIN}"}
        return Answer(200, user, {"X-OAuth-Scopes": "repo"})

    def _repo(self, call: Call, base_url: str) -> Answer:
        repo = self.spec.example(_REPO, "get", "200")
        for only_of_a_fork in ("parent", "source", "template_repository"):
            repo.pop(only_of_a_fork, None)
        owner, name = call.repo.split("/")
        repo |= {
            "name": name,
            "full_name": call.repo,
            "language": None,
            "default_branch": self._repositories.default_branch(call.repo),
            "clone_url": f"{base_url}/{call.repo}.git",
            "html_url": f"{base_url}/{call.repo}",
            "permissions": {"admin": False, "push": True, "pull": True},
        }
        repo["owner"]["login"] = owner
        return Answer(200, repo)

    def _branch(self, call: Call, base_url: str) -> Answer:
        name = call.operation.variables["branch"]
        sha = self._repositories.tip(call.repo, name)
        if sha is None:
            return Answer(404, {"message": "Branch not found", "status": "404"})
        branch = self.spec.example(_BRANCH, "get", "200")
        branch |= {"name": name, "protected": self._repositories.is_protected(call.repo, name)}
        branch["commit"]["sha"] = sha
        branch["protection"]["enabled"] = branch["protected"]
        return Answer(200, branch)

    def _list(self, call: Call, base_url: str) -> Answer:
        wanted = call.query.get("state", "open")
        found = [pull for pull in self._pulls.all(call.repo) if wanted in ("all", pull.state)]
        if "base" in call.query:
            found = [pull for pull in found if pull.base == call.query["base"]]
        owner, colon, head = call.query.get("head", "").partition(":")
        if colon:  # without an owner GitHub ignores the filter and lists everything
            is_ours = owner == call.repo.split("/")[0]
            found = [pull for pull in found if is_ours and pull.head == head]
        page = found[_paged(call)]
        return Answer(200, [self._shown(pull, base_url, is_simple=True) for pull in page])

    def _create(self, call: Call, base_url: str) -> Answer:
        head = call.body["head"].removeprefix(call.repo.split("/")[0] + ":")
        wanted = Pull(
            repo=call.repo,
            number=0,
            title=call.body.get("title", ""),
            body=call.body.get("body"),
            head=head,
            base=call.body["base"],
            draft=call.body.get("draft", False),
            sha=self._repositories.tip(call.repo, head) or "",
        )
        refused = self._refusal(wanted)
        if refused:
            return refused
        pull, is_new = self._pulls.open_or_find(wanted)
        if not is_new:
            text = f"A pull request already exists for {call.repo.split('/')[0]}:{head}."
            return Answer(422, pull_problem("custom", text))
        shown = self._shown(pull, base_url)
        return Answer(201, shown, {"Location": shown["url"]})

    def _refusal(self, wanted: Pull) -> Answer | None:
        if not wanted.title.strip():
            text = "title can't be blank"
            return Answer(422, pull_problem("missing_field", text, field_name="title"))
        if wanted.body and len(wanted.body) > MAX_BODY_CHARS:
            text = f"body is too long (maximum is {MAX_BODY_CHARS} characters)"
            return Answer(422, pull_problem("custom", text, field_name="body"))
        for name, branch in (("head", wanted.head), ("base", wanted.base)):
            if self._repositories.tip(wanted.repo, branch) is None:
                return Answer(422, pull_problem("invalid", f"{name} is invalid", field_name=name))
        if not self._repositories.commits_between(wanted.repo, wanted.base, wanted.head):
            text = f"No commits between {wanted.base} and {wanted.head}"
            return Answer(422, pull_problem("custom", text, field_name="base"))
        return None

    def _get(self, call: Call, base_url: str) -> Answer:
        pull = self._pulls.get(call.repo, int(call.operation.variables["pull_number"]))
        if pull is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        return Answer(200, self._shown(pull, base_url))

    def _update(self, call: Call, base_url: str) -> Answer:
        pull = self._pulls.get(call.repo, int(call.operation.variables["pull_number"]))
        if pull is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        if pull.is_merged and call.body.get("state") == "open":
            text = "state cannot be changed. The pull request cannot be reopened."
            return Answer(422, pull_problem("invalid", text, field_name="state"))
        known = {k: v for k, v in call.body.items() if k in ("title", "body", "state", "base")}
        changed = replace(pull, **known)
        if changed.body and len(changed.body) > MAX_BODY_CHARS:
            text = f"body is too long (maximum is {MAX_BODY_CHARS} characters)"
            return Answer(422, pull_problem("custom", text, field_name="body"))
        return Answer(200, self._shown(self._pulls.put(changed), base_url))

    def _issue(self, call: Call, base_url: str) -> Answer:
        found = self._issue_of(call)
        if found is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        return Answer(200, issues.shown(found, call.repo, self._account(), base_url))

    def _comments(self, call: Call, base_url: str) -> Answer:
        found = self._issue_of(call)
        if found is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        page, user = range(1, len(found.comments) + 1)[_paged(call)], self._account()
        told = [issues.comment_shown(found, call.repo, count, user=user, base_url=base_url) for count in page]
        return Answer(200, told)

    def _comment(self, call: Call, base_url: str) -> Answer:
        found = self._issue_of(call)
        if found is None:
            return Answer(404, {"message": "Not Found", "status": "404"})
        count = self._issues.comment(found, call.body["body"])
        told = issues.comment_shown(found, call.repo, count, user=self._account(), base_url=base_url)
        return Answer(201, told, {"Location": told["url"]})

    def _account(self) -> Json:
        user: Json = self.spec.example(_PULLS, "get", "200")[0]["user"]
        return {**user, "login": LOGIN, "id": OWN}

    def _issue_of(self, call: Call) -> Issue | None:
        return self._issues.get(call.repo, int(call.operation.variables["issue_number"]))

    def _shown(self, pull: Pull, base_url: str, *, is_simple: bool = False) -> Json:
        if is_simple:
            shown: Json = self.spec.example(_PULLS, "get", "200")[0]
        else:
            shown = self.spec.example(_PULLS, "post", "201")
            shown["merged"] = pull.is_merged
        url = f"{base_url}/repos/{pull.repo}/pulls/{pull.number}"
        shown |= {
            "id": 1000 + pull.number,
            "node_id": f"PR_{pull.number}",
            "number": pull.number,
            "state": pull.state,
            "title": pull.title,
            "body": pull.body,
            "draft": pull.draft,
            "requested_teams": [],
            "url": url,
            "html_url": f"{base_url}/{pull.repo}/pull/{pull.number}",
            "merged_at": "2026-01-02T09:00:00Z" if pull.is_merged else None,
            "closed_at": None if pull.state == "open" else "2026-01-02T09:00:00Z",
        }
        owner = pull.repo.split("/")[0]
        shown["user"]["login"] = LOGIN
        shown["head"] |= {"label": f"{owner}:{pull.head}", "ref": pull.head, "sha": pull.sha}
        shown["base"] |= {"label": f"{owner}:{pull.base}", "ref": pull.base}
        for side in ("head", "base"):
            shown[side]["repo"]["full_name"] = pull.repo
        return shown


def _paged(call: Call) -> slice:
    size = int(call.query.get("per_page", "30"))
    start = (int(call.query.get("page", "1")) - 1) * size
    return slice(start, start + size)


def _as_object(body: object) -> Json:
    return body if isinstance(body, dict) else {}
