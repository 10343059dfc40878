"""Lessons as pages without a server (``lesson``); ``rbmviz play --lesson`` writes them."""
