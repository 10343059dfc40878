"""Files of download buttons stay until the browser has had time to fetch them."""

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from rbmviz_app import download_files
from rbmviz_app.download_files import FetchedLater


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(download_files.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def manager():
    return MediaFileManager(MemoryMediaFileStorage("/media"))


def made(manager, content):
    """Return the id of a file that is made after a click, as Streamlit makes it."""
    file_id = manager.add_deferred(lambda: content, "text/plain", "element", file_name="it.txt")
    return manager.execute_deferred(file_id).split("/")[-1].split(".")[0]


def draw_two_parts(manager):
    manager.remove_orphaned_files()
    manager.remove_orphaned_files()


def replaced_button(manager):
    """Return the id of a button that a run of the script has drawn, and the next one has drawn anew."""
    first = manager.add_deferred(lambda: b"content", "text/plain", "element", file_name="it.txt")
    for session in list(manager._files_by_session_and_coord):
        manager.clear_session_refs(session)
    manager.add_deferred(lambda: b"newer content", "text/plain", "element", file_name="it.txt")
    manager.remove_orphaned_files()
    return first


def test_without_it_a_button_that_was_drawn_anew_has_no_file(manager):
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(replaced_button(manager))


def test_a_button_that_was_drawn_anew_has_its_file_for_ten_seconds(manager, clock):
    later = FetchedLater(manager)
    button = replaced_button(manager)
    clock[0] += 9
    manager.remove_orphaned_files()
    assert manager.execute_deferred(button)
    clock[0] += 2
    later.delete_old()
    assert len(manager._deferred_callables) == 1  # that of the page stays
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(button)


def test_without_it_a_file_is_gone_after_two_parts_of_a_page(manager):
    file_id = made(manager, b"content")
    draw_two_parts(manager)
    assert manager.read_file(file_id) is None


def shown(manager, content):
    """Return the id of a picture of a run of the script, which the next run has not made again."""
    file_id = manager.add(content, "image/png", "element").split("/")[-1].split(".")[0]
    for session in list(manager._files_by_session_and_coord):
        manager.clear_session_refs(session)
    return file_id


@pytest.mark.parametrize("make", [made, shown])
def test_a_file_stays_for_a_minute(manager, clock, make):
    later = FetchedLater(manager)
    file_id = make(manager, b"content")
    draw_two_parts(manager)
    assert manager.read_file(file_id).content == b"content"
    clock[0] += 59
    later.delete_old()
    assert manager.read_file(file_id).content == b"content"
    clock[0] += 2
    later.delete_old()
    assert manager.read_file(file_id) is None


def test_a_file_that_is_made_again_begins_its_time_again(manager, clock):
    later = FetchedLater(manager)
    file_id = made(manager, b"content")
    draw_two_parts(manager)
    clock[0] += 50
    assert made(manager, b"content") == file_id
    clock[0] += 20
    later.delete_old()
    assert manager.read_file(file_id).content == b"content"
    draw_two_parts(manager)
    clock[0] += 61
    later.delete_old()
    assert manager.read_file(file_id) is None


def test_many_files_take_no_more_memory_than_they_may(manager, clock, monkeypatch):
    monkeypatch.setattr(download_files, "MAX_BYTES", 2500)
    FetchedLater(manager)
    ids = []
    for i in range(4):
        ids.append(made(manager, bytes([i]) * 1000))
        draw_two_parts(manager)
    assert [manager.read_file(file_id) is not None for file_id in ids] == [False, False, True, True]
