"""The face in the browser: widgets, charts, pages. No mathematics."""
