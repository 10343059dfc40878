"""What all pages share: title, width, navigation."""

from pathlib import Path

import streamlit as st

from app import messages
from app.links import without_unreadable

# A file of our own: the named icons of Streamlit would be fetched from the network.
icon = str(Path(__file__).parent / "icon.png")
st.set_page_config(page_title="rbmviz: see Markov chains mix", page_icon=icon, layout="wide")
# Streamlit leaves six empty rems above a page, of which the navigation bar needs four.
st.html("<style>.stMainBlockContainer { padding-top: 4.5rem; padding-bottom: 3rem; }</style>")
PAGES = {
    "sample": ("Sample", "grid_view"),
    "train": ("Train", "school"),
    "coupling": ("Coupling", "join_inner"),
    "weights": ("Weights", "balance"),
    "chain": ("Little chain", "landscape"),
}
"""Title and icon of each page by the name of its folder, which is its address, too."""

page = st.navigation(
    [
        st.Page(f"pages/{name}/page.py", title=title, icon=f":material/{icon}:", url_path=name)
        for name, (title, icon) in PAGES.items()
    ],
    position="top",
)
without_unreadable()
with st.container():  # always there: else the page below would be built again when the sentence goes
    if sentence := st.session_state.pop("link left out", ""):
        messages.left_out(sentence)
page.run()
