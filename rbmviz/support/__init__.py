"""What any part of the package may use: checks of input, records in one line, threads, stop points."""
