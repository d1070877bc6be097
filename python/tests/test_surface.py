"""What the package offers, name by name: `surface.txt`. `UPDATE_SURFACE=1` writes the file."""

import inspect
import os
from pathlib import Path

import tautomer
from tautomer import testing

LIST = Path(__file__).with_name("surface.txt")


def lines():
    for module in (tautomer, testing):
        names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if own(v, module.__name__)]
        for name in names:
            yield from of(f"{module.__name__}.{name}", getattr(module, name))


def own(value, module):
    return inspect.isfunction(value) and value.__module__ == module and not value.__name__.startswith("_")


def of(path, item):
    if inspect.isclass(item):
        yield f"class {path}{signature(item)}"
        for name, part in sorted(vars(item).items()):
            if name.startswith("_") or isinstance(part, type):
                continue
            if isinstance(part, property):
                yield f"{path}.{name}: {part.fget.__annotations__.get('return', '')}"
            elif isinstance(part, (classmethod, staticmethod)) or inspect.isfunction(part):
                yield f"def {path}.{name}{signature(getattr(item, name))}"
        for name, kind in sorted(getattr(item, "__annotations__", {}).items()):
            if not name.startswith("_"):
                yield f"{path}.{name}: {kind}"
    elif callable(item) and hasattr(item, "__name__"):
        yield f"def {path}{signature(item)}"
    else:
        yield path


def signature(item):
    try:
        return str(inspect.signature(item))
    except ValueError:
        return ""


def test_the_surface_is_the_one_that_is_listed():
    found = sorted(set(lines()))
    if os.environ.get("UPDATE_SURFACE"):
        LIST.write_text("".join(f"{line}\n" for line in found))
    known = LIST.read_text().splitlines()
    gone, new = sorted(set(known) - set(found)), sorted(set(found) - set(known))
    assert not gone and not new, f"gone: {gone}\nnew: {new}\n`UPDATE_SURFACE=1` writes the list"
