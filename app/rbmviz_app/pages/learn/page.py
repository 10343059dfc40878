"""All lessons and challenges: topic, progress, and a button that opens each."""

from pathlib import Path

import streamlit as st

from rbmviz.lessons import Lesson
from rbmviz_app import card, links, messages, session
from rbmviz_app.shared import LESSONS_OF_COMMAND

TITLE, ICON, PLACE = "Learn", "cast_for_education", 8

ABOUT_LESSONS = (
    "A lesson is a series of cards beside the live pages. A card sets up the page, asks for your "
    "prediction, tells you what to try, and turns green once you see the effect. The arrow keys move "
    "between steps, and each step has an address to share. A challenge sets a goal and names the knobs you "
    "may change. Begin with *Why chains stick*."
)
"""The page's introduction for newcomers."""


def main() -> None:
    """Draw the page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title("What do you want to understand?", anchor=False, width="content")
        with st.popover("About", icon=":material/info:", type="tertiary", key="learn about"):
            st.markdown(ABOUT_LESSONS)
    st.html(Path(__file__).parent / "learn.css")
    if sentence := card.finished_sentence():
        messages.note(sentence)  # announced as it appears: its role is "status"
    card.draw_progress_reader()
    lessons = card.lessons().values()
    for lesson in lessons:
        if not lesson.is_challenge:
            draw_lesson(lesson)
    st.header("Challenges", anchor=False)
    st.markdown("A goal, and the knobs that you may turn. The card turns green when you reach it.")
    for lesson in lessons:
        if lesson.is_challenge:
            draw_lesson(lesson)
    messages.show_toasts()
    links.write("learn", {})


def draw_lesson(lesson: Lesson) -> None:
    """Draw the entry of a lesson: title, minutes, topic, and the button that opens it."""
    n, reached = len(lesson.steps), session.LESSON_PROGRESS.value.get(lesson.name, 0)
    reached = min(reached, n)
    with st.container(border=True, key=f"lesson entry {lesson.name}"):
        st.header(messages.plain(lesson.title), anchor=False)
        st.markdown(lesson.about)
        said = f"About {lesson.minutes} minutes."
        if not lesson.is_challenge:
            said = f"{n} steps, about {lesson.minutes} minutes."
        if lesson.name in LESSONS_OF_COMMAND:
            said += " From files on this server."
        st.caption(f"{said} You have read up to step {reached}." if reached and n > 1 else said)
        with st.container(horizontal=True):
            is_begun = 1 < reached < n
            if st.button(
                f"Go on at step {reached}" if is_begun else "Begin",
                icon=":material/play_lesson:",
                type="primary",
                key=f"open {lesson.name}",
            ):
                card.show_step(lesson.name, reached - 1 if is_begun else 0, "learn")
            if is_begun and st.button("From the beginning", type="tertiary", key=f"begin {lesson.name}"):
                card.show_step(lesson.name, 0, "learn")


if __name__ == "__main__":
    main()
