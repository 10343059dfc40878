"""Reading and writing files: arrays, models of other programs, metadata, whole files, provenance."""
