"""Entry point: ``streamlit run app/main.py`` serves the pages and the live pictures."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # Streamlit starts this file outside its package

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.pages_manager import PagesManager

from app import process
from app.access import guarded
from app.clicks import ClicksOnce
from app.stream.socket import lifespan, routes

# Beside a folder "pages" Streamlit would not know our pages before the shell has named them: whoever opened
# the first one by its address would read that it does not exist.
PagesManager.uses_pages_directory = False
process.configure_allocators()
app = st.App(
    Path(__file__).with_name("shell.py"),
    routes=routes,
    middleware=[*guarded(), Middleware(ClicksOnce)],
    lifespan=lifespan,
)
