"""What all pages share: title, width, navigation."""

import streamlit as st

st.set_page_config(page_title="rbmviz: see Markov chains mix", page_icon=":material/blur_on:", layout="wide")
# Streamlit leaves six empty rems above a page.
st.html("<style>.stMainBlockContainer { padding-top: 2.5rem; padding-bottom: 3rem; }</style>")
st.navigation([st.Page("pages/sample.py", title="Sample", icon=":material/grid_view:")], position="top").run()
