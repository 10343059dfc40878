"""A disk that is full for this process."""

import contextlib
import resource


@contextlib.contextmanager
def largest_file(size):
    """Limit the size of the files of this process, so that the system itself refuses larger ones."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
