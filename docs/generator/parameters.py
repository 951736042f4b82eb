"""The page of parameters: every key of a recipe, section by section."""

from __future__ import annotations

from pydantic import BaseModel

from components.params.meaning import kind_of, models_of
from docs.generator.models import anchor, paragraph, table


def parameters() -> list[str]:
    """Every key of a recipe, section by section."""
    from components.params import Params

    lines = [
        "# Parameters",
        "",
        "Every key that a recipe (`params.yaml`) can have. This page is generated from the pydantic models in",
        "`components/params` and in the worlds; `waymark params` prints the recipe in use with all defaults filled in.",
        "A key without a default must be given. Waymark refuses unknown keys.",
        "",
    ]
    paths = placed([("", Params), *world_sections()])
    for model, path in paths.items():
        title = f"`{path}`" if path else "Top level"
        lines += [f"## {title} {{ #{anchor(path)} }}", "", *paragraph(model), ""]
        lines += [*table(model, path, paths), ""] if model.model_fields else []
    return lines


def placed(roots: list[tuple[str, type[BaseModel]]]) -> dict[type[BaseModel], str]:
    """Every section with the dotted path at which it is first met, depth first; a repeated one has one entry."""
    paths: dict[type[BaseModel], str] = {}
    todo = list(roots)
    while todo:
        path, model = todo.pop(0)
        if model in paths:
            continue
        paths[model] = path
        todo = [
            (section_path(f"{path}.{field.alias or name}" if path else field.alias or name, section, sections), section)
            for name, field in model.model_fields.items()
            for sections in [models_of(field)]
            for section in sections
        ] + todo
    return paths


def section_path(full: str, section: type[BaseModel], sections: list[type[BaseModel]]) -> str:
    """The path of a section; of several kinds at one key, with the kind."""
    return f"{full} ({kind_of(section)})" if len(sections) > 1 else full


def world_sections() -> list[tuple[str, type[BaseModel]]]:
    """The section that each built-in or installed world brings itself."""
    from components import worlds

    installed = getattr(worlds, "installed_worlds", None)
    return [] if installed is None else [(f"worlds.{world.name}", world.Params) for world in installed()]
