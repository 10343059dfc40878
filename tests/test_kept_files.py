"""Files that the server keeps: only by their id, only for so long, only so much; whole or not at all."""

import errno
import os
import stat
import time

import pytest

from rbmviz import BadInput
from rbmviz.errors import OutputFailure
from rbmviz.kept_files import Gone, KeptFiles, is_id, kept_files, new_id


@pytest.fixture
def files(tmp_path):
    return KeptFiles(tmp_path / "kept", 10_000, 3600)


def test_a_file_comes_back_by_its_id_and_by_nothing_else(files):
    key = files.put("my\nmodel.npz", "sample_own", "a secret", b"\x00\nbytes")
    assert is_id(key)
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    file = files.get(key)
    assert (file.name, file.place, file.content) == ("my model.npz", "sample_own", b"\x00\nbytes")
    assert file.belongs_to("a secret")
    assert not file.belongs_to("another")
    assert b"a secret" not in files.path(key).read_bytes()
    (files.folder.parent / "outside").write_bytes(files.path(key).read_bytes())
    for other in (new_id(), "", "../outside", f"../kept/{key}", key.upper() + "x", key[:-1], key + "\n", "."):
        with pytest.raises(Gone, match="is gone, or was kept on another one"):
            files.get(other)
        if other and not is_id(other):
            with pytest.raises(BadInput):
                files.put("x", "model", "me", b"", other)


def test_only_its_owner_replaces_or_deletes_a_file(files):
    key = files.put("a", "training", "me", b"1")
    files.put("a", "training", "me", b"2", key)
    assert files.get(key).content == b"2"
    with pytest.raises(BadInput, match="only the browser that kept it"):
        files.delete(key, "you")
    files.delete(key, "me")
    files.delete(key, "me")  # gone already
    with pytest.raises(Gone):
        files.get(key)


def test_space_and_time_are_limited(files):
    with pytest.raises(BadInput, match=r"files of at most 0\.0 MB"):
        files.put("large", "model", "me", bytes(1001))
    keys = [files.put("a", "model", "me", bytes(800)) for _ in range(11)]
    with pytest.raises(BadInput, match="no room for more files"):
        files.put("a", "model", "me", bytes(800))
    files.put("a", "model", "me", bytes(700), keys[0])  # takes the place of the older one
    foreign = files.folder / "not ours"
    foreign.touch()
    left = files.folder / f".{keys[0]}.0123abcd"  # by an interrupted write
    left.touch()
    for path in (files.path(keys[0]), files.path(keys[1]), foreign, left):
        os.utime(path, (0, time.time() - 3601))
    with pytest.raises(Gone):
        files.get(keys[0])
    os.utime(files.path(keys[2]), (0, time.time() - 3599))
    files.get(keys[2])  # its age begins anew
    assert time.time() - files.path(keys[2]).stat().st_mtime < 60
    files.put("a", "model", "me", bytes(800))
    assert not any(files.path(key).exists() for key in keys[:2])
    assert not left.exists()
    assert foreign.exists()


def test_a_full_disk_and_a_foreign_folder_are_one_sentence(files, monkeypatch, tmp_path):
    files.put("a", "model", "me", b"1")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputFailure, match="the disk is full"):
        files.put("a", "model", "me", b"2")
    assert len(list(files.folder.iterdir())) == 1
    (tmp_path / "a file").touch()
    with pytest.raises(OutputFailure, match="cannot be written"):
        KeptFiles(tmp_path / "a file" / "kept", 10_000, 60).put("a", "model", "me", b"1")
    (tmp_path / "link").symlink_to(files.folder)
    with pytest.raises(OutputFailure, match="RBMVIZ_KEPT_DIR"):
        KeptFiles(tmp_path / "link", 10_000, 60).put("a", "model", "me", b"1")


@pytest.mark.parametrize("first", [b"", b"null", b"[1]", b'{"name": 1}', b"{" * 5000, b"\xff"])
def test_a_file_without_its_first_line_is_gone(files, first):
    key = files.put("a", "model", "me", b"1")
    files.path(key).write_bytes(first + b"\ncontent")
    with pytest.raises(Gone):
        files.get(key)


def test_settings_are_checked(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMVIZ_KEPT_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_KEPT_MB", "7")
    monkeypatch.setenv("RBMVIZ_KEPT_DAYS", "2")
    assert kept_files() == KeptFiles(tmp_path, 7_000_000, 172_800)
    for value in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("RBMVIZ_KEPT_DAYS", value)
        with pytest.raises(BadInput, match="RBMVIZ_KEPT_DAYS"):
            kept_files()
