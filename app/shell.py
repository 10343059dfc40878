"""What all pages share: title, width, navigation."""

from base64 import b64encode
from pathlib import Path

import streamlit as st

import rbmviz_app
from rbmviz import registry
from rbmviz_app import card, embedding, messages, pages, presenting
from rbmviz_app.access import opened
from rbmviz_app.links import open_link
from rbmviz_app.session import RACES
from rbmviz_app.share.publish import share_of_session
from rbmviz_app.sockets import SCRIPTS
from rbmviz_app.tabs import open_tab

folder = Path(str(rbmviz_app.__file__)).parent
# Our own, in the address itself: Streamlit's named icons would be fetched from the network, and a file of it
# is missing while a script runs.
icon = f"data:image/png;base64,{b64encode((folder / 'icon.png').read_bytes()).decode()}"
with SCRIPTS.running():
    st.set_page_config(page_title="rbmviz: see Markov chains mix", page_icon=icon, layout="wide")
    st.html(folder / "style.css")  # pages have it from the start, except at unknown addresses
    modules = pages.page_modules()
    entries = [
        st.Page(pages.file_of(name), title=module.TITLE, icon=f":material/{module.ICON}:", url_path=name)
        for name, module in modules.items()
    ]
    page = st.navigation({"": entries[: pages.IN_BAR], "More": entries[pages.IN_BAR :]}, position="top")
    name = page.url_path or next(iter(modules))
    open_tab(name)
    open_link(name)
    card.follow_address(name)
    embedding.draw_sheet()
    presenting.draw_reader()
    presenting.draw_switch()
    if name in RACES.value:
        RACES.value[name].parts.begin_run()
    if (share := share_of_session()) is not None:
        share.begin_run(name, modules[name].TITLE, card.hidden_from_watchers(name))
    messages.draw_link_warnings()
    if registry.left_out and not opened():
        messages.alert("plugins", " ".join(registry.left_out))
    card.draw(name)
    if name == next(iter(modules)):
        card.draw_line()
    page.run()
    if (share := share_of_session()) is not None:
        share.end_run()
    if name in RACES.value:
        RACES.value[name].parts.end_run()
