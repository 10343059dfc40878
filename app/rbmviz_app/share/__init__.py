"""The classroom: one visitor's panels in any number of browsers that only watch."""
