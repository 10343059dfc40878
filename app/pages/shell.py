"""What all pages share: title, width, navigation."""

from pathlib import Path

import streamlit as st

from app import messages
from app.links import without_unreadable

# A file of our own: the named icons of Streamlit would be fetched from the network.
icon = str(Path(__file__).parents[1] / "icon.png")
st.set_page_config(page_title="rbmviz: see Markov chains mix", page_icon=icon, layout="wide")
# Streamlit leaves six empty rems above a page, of which the navigation bar needs four.
st.html("<style>.stMainBlockContainer { padding-top: 4.5rem; padding-bottom: 3rem; }</style>")
page = st.navigation(
    [
        st.Page("sample.py", title="Sample", icon=":material/grid_view:"),
        st.Page("train.py", title="Train", icon=":material/school:"),
        st.Page("coupling.py", title="Coupling", icon=":material/join_inner:"),
        st.Page("weights.py", title="Weights", icon=":material/balance:"),
        st.Page("chain.py", title="Little chain", icon=":material/landscape:"),
    ],
    position="top",
)
without_unreadable()
with st.container():  # always there: else the page below would be built again when the sentence goes
    if sentence := st.session_state.pop("link left out", ""):
        messages.left_out(sentence)
page.run()
