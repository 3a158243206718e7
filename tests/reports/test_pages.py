import re
from collections import Counter
from importlib.resources import files

from relaxwl.reports import pages

MODULES = sorted(
    path.name.removesuffix(".js") for path in (files("relaxwl.reports") / "templates" / "explorer").iterdir()
)
DECLARED = re.compile(r"^(?:export )?(?:const|let|function|class) (\w+)", re.MULTILINE)


def test_every_module_is_in_the_script_once_and_behind_what_it_imports():
    script = pages.script("explorer")
    heads = [pages.template(f"explorer/{module}.js").split("\n")[0] for module in MODULES]
    assert all(script.count(head) == 1 for head in heads)
    places = {module: script.index(head) for module, head in zip(MODULES, heads, strict=True)}
    for module in MODULES:
        for imported in re.findall(r'from "\./(\w+)\.js"', pages.template(f"explorer/{module}.js")):
            assert places[imported] < places[module]


def test_a_script_has_neither_imports_nor_exports():
    assert not re.search(r"^(import|export) ", pages.script("explorer"), re.MULTILINE)


def test_no_two_modules_use_a_name():
    names = Counter(name for module in MODULES for name in DECLARED.findall(pages.template(f"explorer/{module}.js")))
    assert [name for name, count in names.items() if count > 1] == []
