"""What all pages share: title, width, navigation."""

from importlib import import_module
from pathlib import Path

import streamlit as st

from rbmviz_app import embedding, keys, messages, presenting
from rbmviz_app.links import drop_unreadable, open_link

folder = Path(__file__).parent
# A file of our own: the named icons of Streamlit would be fetched from the network.
st.set_page_config(
    page_title="rbmviz: see Markov chains mix", page_icon=str(folder / "icon.png"), layout="wide"
)
st.html(folder / "style.css")
# Every folder with a page: it says its title, its icon and its place; the folder's name is its address.
found = {
    path.parent.name: import_module(f"rbmviz_app.pages.{path.parent.name}.page")
    for path in folder.glob("pages/*/page.py")
}
names = sorted(found, key=lambda name: found[name].PLACE)
page = st.navigation(
    [
        st.Page(
            f"pages/{name}/page.py",
            title=found[name].TITLE,
            icon=f":material/{found[name].ICON}:",
            url_path=name,
        )
        for name in names
    ],
    position="top",
)
drop_unreadable()
open_link(page.url_path or names[0])
embedding.draw_sheet()
presenting.draw_reader()
presenting.draw_switch()
messages.draw_link_warnings()
page.run()
keys.draw_switch()
