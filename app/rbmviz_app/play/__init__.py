"""Pages in which samplers run in the browser, without a server: see ``page``."""
