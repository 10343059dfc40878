"""All lessons: what each is about, how far it has been read, and its beginning."""

import streamlit as st

from rbmviz.lessons import Lesson
from rbmviz_app import card, links, messages, session
from rbmviz_app.shared import LESSONS_OF_COMMAND

TITLE, ICON, PLACE = "Learn", "cast_for_education", 8

ABOUT_LESSONS = (
    "Each lesson is a row of cards that stand beside the live pages. A card sets the whole page, asks what "
    "you expect, and tells what to do and where to look; it turns green once you see on the page what it is "
    "about. The arrow keys go back and on, and the address of each step can be shared. First take the lesson "
    "*Why chains stick*."
)
"""What a newcomer has to know about the page."""


def main() -> None:
    """Draw the page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title("What do you want to understand?", anchor=False, width="content")
        with st.popover("About this page", icon=":material/info:", type="tertiary", key="learn about"):
            st.markdown(ABOUT_LESSONS)
    card.draw_progress_reader()
    for lesson in card.lessons().values():
        draw_lesson(lesson)
    if LESSONS_OF_COMMAND:
        st.caption("The last ones are files of whoever runs this server.")
    links.write("learn", {})


def draw_lesson(lesson: Lesson) -> None:
    """Draw the entry of a lesson: title, minutes, what it is about, and the button that opens it."""
    n, reached = len(lesson.steps), session.LESSON_PROGRESS.value.get(lesson.name, 0)
    reached = min(reached, n)
    with st.container(border=True, key=f"lesson entry {lesson.name}"):
        st.header(messages.plain(lesson.title), anchor=False)
        st.markdown(lesson.about)
        said = f"{n} steps, about {lesson.minutes} minutes."
        st.caption(f"{said} You have read up to step {reached}." if reached else said)
        with st.container(horizontal=True):
            again = 1 < reached < n
            if st.button(
                f"Go on at step {reached}" if again else "Begin",
                icon=":material/play_lesson:",
                type="primary",
                key=f"open {lesson.name}",
            ):
                card.show_step(lesson.name, reached - 1 if again else 0, "learn")
            if again and st.button("From the beginning", type="tertiary", key=f"begin {lesson.name}"):
                card.show_step(lesson.name, 0, "learn")


if __name__ == "__main__":
    main()
