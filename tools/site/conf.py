# Settings of Sphinx; tools/site/build runs it.

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "DyNet"
author = "the DyNet authors"
copyright = f"{author}. Licence: Apache 2.0"
# The version on every page is the package's.
release = subprocess.check_output([Path(__file__).parents[1] / "version"], text=True).strip()
html_title = f"DyNet {release}"
root_doc = "README"
extensions = ["myst_nb", "sphinx_copybutton"]
exclude_patterns = ["**/.ipynb_checkpoints"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

# Anchors as GitHub makes them, so that links work there and here.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Links to files that are no pages (sources, the licence) lead to a copy of the file.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_in_temp = True

add_module_names = False
python_maximum_signature_line_length = 80
highlight_language = "text"
pygments_style = "default"
pygments_dark_style = "monokai"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_last_updated_fmt = None
