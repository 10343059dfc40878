"""How the app is started: ``main.py``, the script that it runs for each browser, and Streamlit's settings.

Installed, this folder is the package ``rbmviz_app.start``: Streamlit reads the settings beside ``main.py``.
"""
