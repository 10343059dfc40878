"""The classroom: the panels that one visitor runs, in any number of browsers that only watch."""
