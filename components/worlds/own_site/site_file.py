"""The file `site.yaml` of a user's site: how the application starts, what its state is, and how it is reset.

`docs/reference/site-file.md` lists the keys. Commands run in `/bin/sh -e` with these environment variables:

- `DATA`: the folder of the application's data; also the working directory and the home.
- `PORT`: the port on 127.0.0.1 on which it has to listen.
- `ORIGIN`: scheme and host under which the browser sees it, such as `http://fossil.test`.
- `SITE`: the folder of `site.yaml`.
- `PYTHON`: the Python in which Waymark runs.
- `SEED`: the seed of the task, in `reset.command`.
"""

from __future__ import annotations

import re
import runpy
from copy import deepcopy
from pathlib import Path, PurePosixPath
from traceback import extract_tb
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from components.params import Section
from components.params.recipe_file import RecipeLoader, syntax_problem
from components.worlds.own_site import validation_errors
from components.worlds.own_site.task_file import TaskTemplate
from components.worlds.world import WorldError


class OwnSiteError(WorldError):
    """A user's site cannot be read, built, started or reset; the message says what to correct."""


class SiteLoader(RecipeLoader):
    """YAML that refuses plain numbers whose text would be lost: YAML reads `12:30` as 750, `007` as 7, `1_000` as 1000.
    Sites have such texts: times, numbers of orders, postal codes."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """A whole number."""
        if not _WHOLE.fullmatch(node.value):
            raise _no_plain_number(node)
        return int(node.value)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        """A number with a fraction."""
        if ":" in node.value or "_" in node.value:
            raise _no_plain_number(node)
        return super().construct_yaml_float(node)


SiteLoader.add_constructor("tag:yaml.org,2002:int", SiteLoader.construct_yaml_int)
SiteLoader.add_constructor("tag:yaml.org,2002:float", SiteLoader.construct_yaml_float)
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def _no_plain_number(node: yaml.ScalarNode) -> yaml.constructor.ConstructorError:
    problem = f"YAML reads {node.value} as a number and would not keep its text: put it in quotes"
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class Request(Section):
    """One HTTP request to the application, sent by Waymark and not by the agent's browser."""

    get: str = ""
    """The path; either this or `post`."""
    post: str = ""
    form: dict[str, str] | None = None
    """Fields of a form. Hidden fields of the form at the same address, such as a CSRF token, are added."""
    body: dict[str, Any] | None = Field(default=None, alias="json")
    """A JSON object, in place of a form."""
    headers: dict[str, str] = Field(default_factory=dict)
    user: str = Field(default="", alias="as")
    """The login, of `logins`, with which the request is sent; empty: none."""

    @property
    def path(self) -> str:
        """The path of either method."""
        return self.get or self.post

    @model_validator(mode="after")
    def _one_method(self) -> Request:
        if bool(self.get) == bool(self.post):
            raise ValueError("a request needs either `get: /path` or `post: /path`")
        if not self.path.startswith("/"):
            raise ValueError(f"{self.path} must begin with /")
        if self.get and (self.form is not None or self.body is not None):
            raise ValueError(f"get: {self.get} cannot have a form or JSON; write `post`")
        return self


class Reset(Section):
    """How the application gets its first data back before each episode. Without any key it is restarted on them."""

    sqlite: list[str] = Field(default_factory=list)
    """Databases, by their paths in `$DATA`, that are overwritten while the application runs."""
    dump: dict[str, str] = Field(default_factory=dict)
    """SQL files, by their paths beside `site.yaml`, that replace all tables of a database: `{app.db: first.sql}`."""
    command: str = ""
    """A command, while the application runs."""
    request: Request | None = None
    """A request to the application."""

    @property
    def restarts(self) -> bool:
        """Whether the process is stopped, its data folder replaced, and started again."""
        return not (self.sqlite or self.dump or self.command or self.request)

    @property
    def varies(self) -> bool:
        """Whether the data depend on the seed, so they cannot be compared with the first data."""
        return _SEED.search(self.command) is not None


_SEED = re.compile(r"\$\{?SEED\b")
"""The variable in a shell command: `$SEED`, `${SEED}` and `${SEED:-1}`, but not `$SEEDS`."""


class JsonRows(Section):
    """A list in a JSON response that is compared like a table."""

    get: str
    user: str = Field(default="", alias="as")
    rows: str = ""
    """The list's place in the response, such as `data.items`; empty: the response is the list."""
    key: str = "id"
    """The field that identifies a row."""


def _file_pattern(pattern: str) -> str:
    """Refuses a pattern that finds nothing, or files outside of the data folder.

    Raises:
        ValueError: it does.
    """
    parts = PurePosixPath(pattern).parts
    if not parts:
        raise ValueError("a pattern of files is empty: write one such as `pages/*.txt`")
    if pattern.startswith("/") or ".." in parts:
        raise ValueError(f"{pattern} leads out of $DATA: write a path in $DATA, without `..` and without a leading /")
    if any("**" in part and part != "**" for part in parts):
        raise ValueError(f"{pattern}: `**` stands for any folders, so it is a whole part of a path: `pages/**/*.txt`")
    return pattern


class StateFiles(Section):
    """What the application keeps, compared before and after each episode."""

    sqlite: list[str] = Field(default_factory=list)
    """Databases, by their paths in `$DATA`."""
    files: list[Annotated[str, AfterValidator(_file_pattern)]] = Field(default_factory=list)
    """Patterns of files in `$DATA`, such as `pages/*.txt`. They are the table `files` with the columns
    `path`, the key, and `text`."""
    responses: dict[str, JsonRows] = Field(default_factory=dict, alias="json")
    """Lists in JSON responses, by the name of the table that they are."""
    keys: dict[str, list[str]] = Field(default_factory=dict)
    """Columns that identify a row, by table, in place of the primary key: for applications that replace rows."""
    noise: list[str] = Field(default_factory=list)
    """Patterns of tables (`session*`) and columns (`user.last_login`) whose changes count for nothing."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is compared."""
        return not (self.sqlite or self.files or self.responses)

    @model_validator(mode="after")
    def _distinct_names(self) -> StateFiles:
        by_name: dict[str, str] = {}
        for database in self.sqlite:
            name = PurePosixPath(database).stem
            if name in by_name:
                raise ValueError(
                    f"the tables of both {by_name[name]} and {database} would be named `{name}:…`: give the databases "
                    "of state.sqlite file names that differ before the ending"
                )
            by_name[name] = database
        if self.files and "files" in self.responses:
            raise ValueError("state.files is the table `files`: give the list of state.json another name")
        return self


def _origin(origin: str) -> str:
    """Refuses an origin that is not `http://` and a host.

    Raises:
        ValueError: it is not.
    """
    if origin and not re.fullmatch(r"http://[a-z0-9.-]+", origin):
        raise ValueError(
            f"{origin} must be http:// and a host in small letters, without a port, a path or https: pages are under "
            "this name in the agent's browser, such as http://shop.test; the application listens on $PORT"
        )
    return origin


class SiteFile(Section):
    """The whole of `site.yaml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """The world's name in recipes."""
    origin: Annotated[str, AfterValidator(_origin)] = ""
    """Scheme and host of the pages, without a port; by default `http://<name>.test`, with `-` for `_`."""
    prepare: str = ""
    """Makes the first data in the empty folder `$DATA`. It runs once; its result is kept and copied."""
    start: str
    """Starts the application on `$PORT` and does not return. Begin the last line with `exec`."""
    ready: str = Field(default="/", pattern="^/")
    """A path that answers with a status below 500 once the application has started."""
    start_timeout_s: float = Field(default=60.0, gt=0)
    reset: Reset = Field(default_factory=Reset)
    state: StateFiles = Field(default_factory=StateFiles)
    logins: dict[str, list[Request] | dict[str, str]] = Field(default_factory=dict)
    """By name: requests that log a person in, or cookies by name."""
    requires: dict[str, str] = Field(default_factory=dict)
    """Programs that the commands need, and how to install each: `{fossil: "apt-get install fossil"}`. A name with a
    slash is a path from the current folder, such as `.venv-app/bin/python`."""
    stray: str | Request | None = None
    """A write that no task asks for: SQL on the first database, or a request. `waymark world check` adds it to the
    oracle's run, which must then fail."""
    forgeable: str = ""
    """How a script of the page could fake the state that rules look at; empty if only the application's server has it.
    Reports and `waymark world check` say it."""
    replayable: bool = False
    """Whether the same calls on a fresh copy always lead to the same pages: none shows the present time, or random
    content that matters for a task. Branches (`rl.branches`) need it."""
    tasks: dict[str, TaskTemplate] = Field(default_factory=dict)

    @property
    def address(self) -> str:
        """Scheme and host of the pages."""
        return self.origin or f"http://{self.name.replace('_', '-')}.test"

    @model_validator(mode="after")
    def _names_exist(self) -> SiteFile:
        users = {f"tasks.{name}.login": template.login for name, template in self.tasks.items()}
        users |= {f"state.json.{name}.as": rows.user for name, rows in self.state.responses.items()}
        users |= {
            f"tasks.{name}.requests.{number}.as": rule.user
            for name, template in self.tasks.items()
            for number, rule in enumerate(template.requests)
        }
        sent = {"reset.request.as": self.reset.request, "stray.as": self.stray}
        users |= {place: request.user for place, request in sent.items() if isinstance(request, Request)}
        unknown = {place: user for place, user in users.items() if user and user not in self.logins}
        if unknown:
            wrong = ", ".join(f"{place} = {user!r}" for place, user in unknown.items())
            raise ValueError(f"{wrong}: there is no such login in logins, which has {', '.join(self.logins) or 'none'}")
        for name, template in self.tasks.items():
            if template.effects and self.state.is_empty:
                raise ValueError(f"tasks.{name} has effects, so `state` must say which tables or files are compared")
        if isinstance(self.stray, str) and not self.state.sqlite:
            raise ValueError("stray is SQL, but state.sqlite names no database")
        return self


def read_site(folder: Path) -> SiteFile:
    """Reads `site.yaml`, and beside it `tasks.yaml`, `tasks.py` and oracles in `oracles/<task>.yaml`, if there are any.

    Raises:
        OwnSiteError: a file is missing, cannot be read or run, or has a wrong key; the message lists the places.
    """
    path = folder / "site.yaml"
    content = _mapping(path)
    tasks = content.get("tasks") or {}
    if not isinstance(tasks, dict):
        raise OwnSiteError(f"{path}: tasks must be a mapping of names to tasks, not {type(tasks).__name__}")
    known = dict.fromkeys(map(str, tasks), "site.yaml")
    for name, read in (("tasks.yaml", _mapping), ("tasks.py", _python_tasks)):
        if (folder / name).exists():
            more = read(folder / name)
            for task in map(str, more):
                if task in known:
                    raise OwnSiteError(f"{task}: in {known[task]} and in {name} of {folder}; remove one of the two")
                known[task] = name
            tasks = {**tasks, **more}
    content = {**content, "tasks": tasks}
    for name, task in tasks.items():
        beside = folder / "oracles" / f"{name}.yaml"
        if isinstance(task, dict) and "oracle" not in task and beside.exists():
            task["oracle"] = _yaml(beside)
    try:
        return SiteFile.model_validate(content)
    except ValidationError as error:
        wrong = [f"  {line}" for line in validation_errors.lines(error, content)]
        raise OwnSiteError("\n".join([f"{path} is wrong:", *wrong])) from error


def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), SiteLoader)
    except OSError as error:
        raise OwnSiteError(f"{path} cannot be read: {error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise OwnSiteError(f"{path} cannot be read: {syntax_problem(error)}") from error


def _python_tasks(path: Path) -> dict[str, Any]:
    """The mapping `TASKS` that a Python file defines."""
    try:
        tasks = runpy.run_path(str(path)).get("TASKS")
    except Exception as error:
        places = [f", line {frame.lineno}" for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        place = f"{path}{places[-1]}" if places else str(path)
        raise OwnSiteError(f"{place}: {type(error).__name__}: {error}; correct the file") from error
    if not isinstance(tasks, dict):
        raise OwnSiteError(f"{path} must define TASKS, a mapping of names to tasks with the keys of tasks.yaml")
    return deepcopy(tasks)  # oracles are added to it


def _mapping(path: Path) -> dict[str, Any]:
    content = _yaml(path)
    if not isinstance(content, dict):
        raise OwnSiteError(f"{path} must be a mapping of keys")
    return content
