"""The documentation site: `make docs` builds it into build/docs."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import kernelclust

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # gallery_style

project, author, copyright = "kernelclust", "kernelclust developers", "kernelclust developers"
version = release = kernelclust.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "numpydoc",
    "docstrings",  # of this folder
]
exclude_patterns = ["generated/changes.md"]
templates_path = ["_templates"]

# Words in single backticks are links where there is something of that name, and code where there is not.
default_role = "py:obj"
smartquotes = False  # "flat" is code
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"version": version}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_html_show_source_link = plot_html_show_formats = False
plot_formats = [("svg", 90)]
plot_rcparams = {"svg.fonttype": "none", "font.size": 10, "figure.facecolor": "white"}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_"
    if find_spec("scanpy")
    else "plot_(?!cells)",  # without scanpy that page has no pictures
    "within_subsection_order": "gallery_style.in_order",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "doc_module": ("kernelclust",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"kernelclust": None},
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "kernelclust"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_favicon = html_logo = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "kernelclust"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "mathematics", "gallery/*")}  # nothing beside these
html_context = {"default_mode": "auto"}


def _write_changes() -> None:
    """Gather the fragments of changes/ as a release would, without touching them."""
    found = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Newest changes"],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    target = HERE / "generated" / "changes.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(found.stdout)


_write_changes()
