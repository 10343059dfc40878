"""How the app starts: ``main.py``, the script that runs for each browser, and Streamlit's settings.

Installed, this folder is the package ``rbmviz_app.start``: Streamlit reads the settings beside ``main.py``.
"""
