"""A package of worlds that is installed and cannot be imported stops only recipes that name its world."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NO_DEFAULT = """
from components.params import Section
from components.worlds import World


class Params(Section):
    needed: int


class KIND(World):
    name = "stall"
    Params = Params
"""
RECIPE = "name: mine\nextends: demo\nworlds: {stall: {}}\n"


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory) -> Path:
    """A folder with a package, as pip installs it, whose `site.yaml` has a key that does not exist."""
    folder = tmp_path_factory.mktemp("site-packages")
    metadata = folder / "waymark_stall-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: waymark-stall\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[waymark.worlds]\nstall = waymark_stall\n")
    package = folder / "waymark_stall"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from components.worlds.own_site import own_site\n\nKIND = own_site(__file__)\n"
    )
    (package / "site.yaml").write_text("name: stall\nadress: http://stall.test\n")
    return folder


def python(site_packages: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": f"{site_packages}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True, capture_output=True)


def test_other_worlds_are_found(site_packages):
    code = "from components.worlds import installed_worlds; print([world.name for world in installed_worlds()])"
    found = python(site_packages, code)
    assert found.returncode == 0, found.stderr
    assert "'miniwob'" in found.stdout
    assert "stall" not in found.stdout


@pytest.mark.parametrize("content", [NO_DEFAULT, "KIND = object\n"])
def test_a_world_that_cannot_be_made_is_left_out(site_packages, tmp_path, content):
    shutil.copytree(site_packages, tmp_path / "packages")
    (tmp_path / "packages/waymark_stall/__init__.py").write_text(content)
    code = (
        "from components.doctor.programs import broken_worlds; from components.worlds import installed_worlds\n"
        "print([world.name for world in installed_worlds()], *broken_worlds())"
    )
    found = python(tmp_path / "packages", code)
    assert found.returncode == 0, found.stderr
    assert "'miniwob'" in found.stdout
    assert "worlds: 'stall' cannot be made" in found.stdout


def test_keys_of_older_recipes_are_explained(site_packages):
    code = "from components.params.old_keys import moved; print(moved({'sites': {'world': 'miniwob'}}))"
    found = python(site_packages, code)
    assert found.returncode == 0, found.stderr
    assert "sites.world is now worlds" in found.stdout


def test_doctor_says_what_is_wrong_with_it(site_packages):
    found = python(site_packages, "from components.doctor.programs import broken_worlds; print(*broken_worlds())")
    assert found.returncode == 0, found.stderr
    assert "world stall" in found.stdout
    assert "OwnSiteError" in found.stdout
    assert "adress" in found.stdout
    assert "required=False" in found.stdout


def test_a_recipe_that_names_it_is_refused_with_the_reason(site_packages, tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(RECIPE)
    code = f"from pathlib import Path; from components.params import load; load(Path({str(recipe)!r}))"
    found = python(site_packages, code)
    assert "'stall' (waymark_stall) cannot be imported: OwnSiteError" in found.stderr
    assert "adress" in found.stderr
