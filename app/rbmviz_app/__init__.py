"""The interface in the browser: widgets, charts, pages; no mathematics."""
