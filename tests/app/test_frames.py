"""Frames that describe themselves: what is written is read again."""

import frame_cases as cases
import numpy as np
import pytest

from rbmviz.view.frames import write_frame
from tests.frames import read_frame


def test_frames_survive_a_round_trip():
    frame = read_frame(cases.WHOLE)
    assert frame.request == cases.REQUEST
    assert [panel.head for panel in frame.panels] == cases.HEADS
    first, second = (panel.blocks for panel in frame.panels)
    np.testing.assert_array_equal(first["v"], cases.BITS)
    for name, array in cases.ARRAYS.items():
        np.testing.assert_array_equal(first[name], array)
        assert first[name].dtype == array.dtype
    assert second["v"].shape == (0, 11)


def test_frame_heads_must_be_json():
    with pytest.raises(ValueError, match="JSON"):
        write_frame({}, [({"n": float("nan")}, {})])
