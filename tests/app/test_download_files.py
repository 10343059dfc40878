"""Files of download buttons stay until the browser has had time to fetch them."""

import asyncio

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from rbmviz.errors import BadInput
from rbmviz_app import download_files
from rbmviz_app.download_files import FetchedLater, answer_or_reason, clear_but_answers


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


def test_a_button_that_was_drawn_anew_has_its_file_for_a_minute(manager, clock):
    later = FetchedLater(manager)
    button = replaced_button(manager)
    clock[0] += 59
    manager.remove_orphaned_files()
    assert manager.execute_deferred(button)
    clock[0] += 2
    later.delete_old()
    assert len(manager._deferred_callables) == 1  # that of the page stays
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(button)


def answered(manager, make):
    """Return the answer to a click on a button whose file is made by ``make``."""
    request = BackendOperationRequest(request_id="a click")
    request.deferred_file.file_id = manager.add_deferred(make, "text/plain", "element", file_name="it.txt")
    return asyncio.run(answer_or_reason(DeferredFileHandler(lambda: manager), request, "a session"))


def test_a_click_is_answered_with_the_address_of_its_file(manager):
    answer = answered(manager, lambda: b"content")
    assert answer.request_id == "a click"
    file_id = answer.deferred_file.url.split("/")[-1].split(".")[0]
    assert manager.read_file(file_id).content == b"content"


def test_a_file_that_cannot_be_made_yet_says_why(manager, caplog):
    def make():
        raise BadInput("There are no results yet.")

    answer = answered(manager, make)
    assert answer.error_msg == "There are no results yet."
    assert not answer.HasField("deferred_file")
    assert "Traceback" not in caplog.text


def test_a_fault_in_making_a_file_is_logged(manager, caplog):
    answer = answered(manager, lambda: {}["absent"])
    assert answer.error_msg == "This file could not be made: the log of the server says why."
    assert "KeyError: 'absent'" in caplog.text


def waiting_messages():
    """Return what is still to be sent to a browser: the answer to a click, and a part of a page."""
    queue, answer, part = ForwardMsgQueue(), ForwardMsg(), ForwardMsg()
    answer.backend_operation_response.request_id = "a click"
    part.delta.new_element.markdown.body = "a part of a page"
    queue.enqueue(answer)
    queue.enqueue(part)
    return queue


def kinds(queue):
    return [message.WhichOneof("type") for message in queue._queue]


def test_without_it_a_run_of_the_script_deletes_the_answer_to_a_click():
    queue = waiting_messages()
    download_files._clear(queue, retain_lifecycle_msgs=True)
    assert kinds(queue) == []


def test_a_run_of_the_script_keeps_the_answer_to_a_click():
    queue = waiting_messages()
    clear_but_answers(queue, retain_lifecycle_msgs=True)
    assert kinds(queue) == ["backend_operation_response"]
    clear_but_answers(queue, retain_lifecycle_msgs=True, fragment_ids_this_run=["a fragment"])
    assert kinds(queue) == ["backend_operation_response"]


def test_an_answer_that_was_sent_is_gone():
    queue = waiting_messages()
    clear_but_answers(queue)
    assert kinds(queue) == []


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
