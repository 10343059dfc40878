"""The Learn page: doors for newcomers and teachers, the lessons as a path of cards, and challenges."""

import re
from pathlib import Path

import streamlit as st

from rbmviz.lessons import Lesson
from rbmviz_app import card, controls, links, messages, session
from rbmviz_app.shared import LESSONS_OF_COMMAND

TITLE, ICON, PLACE = "Learn", "cast_for_education", 8

ABOUT_LESSONS = (
    "A lesson is a series of cards beside the live pages. A card sets up the page, asks for your "
    "prediction, tells you what to try, and turns green once you see the effect. The arrow keys move "
    "between steps, and each step has an address to share. A challenge sets a goal. "
    "New here? Take one of the first three doors."
)

PICTURES = Path(__file__).parent
"""Samples of the shipped models, one picture for each lesson."""

DOORS = (
    ("see", "rbm", "See it in two minutes", "Click through one Gibbs sweep."),
    ("stick", "stick", "Why chains stick", "And three ways out."),
    ("tune", "tune", "Tune your own", "Find the best step size and decay."),
    ("teach", "quiz", "Teach a class", "Plans for 20, 45 and 90 minutes."),
)
"""The doors at the top: name, lesson to open (its picture is shown), title, and description."""

PLANS = (Path(__file__).parent / "class_plans.md").read_text("utf-8")


def main() -> None:
    """Draw the page."""
    controls.heading("learn", "What do you want to understand?", ABOUT_LESSONS)
    st.html(Path(__file__).parent / "learn.css")
    sentence, following = card.finished()
    if sentence:
        messages.note(sentence)  # screen readers announce it, because its role is "status"
    if following is not None:
        kind = "challenge" if following.is_challenge else "lesson"
        label = f"Next {kind}: {messages.plain(following.title)}"
        if st.button(label, type="primary", icon=":material/arrow_forward:", key="next lesson"):
            card.show_step(following.name, 0, "learn")
    card.draw_progress_reader()
    draw_doors()
    challenges = [lesson for lesson in card.lessons().values() if lesson.is_challenge]
    path = [lesson for lesson in card.lessons().values() if not lesson.is_challenge]
    done = sum(_steps_read(lesson) == len(lesson.steps) for lesson in path)
    st.header(f"The path: {len(path)} lessons, {done} read", anchor=False)
    draw_cards("path", path)
    st.header("Challenges", anchor=False)
    draw_cards("challenges", challenges)
    messages.show_toasts()
    links.write("learn", {})


def with_links(plans: str) -> str:
    """Return the plans with a link for each address that they name, such as `?lesson=stick&step=3`."""
    steps = re.sub(r"`(\?lesson=([a-z-]+)&step=(\d+))`", "[\\2, step\u00a0\\3](learn\\1)", plans)
    return re.sub(r"`([a-z]+\?[^`]+)`", r"[\1](\1)", steps)


@st.dialog("Class plans", width="large")
def show_plans() -> None:
    """Show the plans for teachers over the page; their links open in another tab."""
    st.markdown(with_links(PLANS))


def draw_doors() -> None:
    """Draw the doors."""

    def see() -> None:
        session.show({"little": "units"})
        card.leave()

    with st.container(horizontal=True, key="learn doors"):
        for name, lesson, title, words in DOORS:
            with st.container(border=True, key=f"door {name}"):
                st.html(picture(lesson))
                if st.button(
                    title, key=f"open door {name}", type="primary", on_click=see if name == "see" else None
                ):
                    if name == "see":
                        card.switch_page("chain")
                    elif name == "teach":
                        show_plans()
                    else:
                        card.show_step(lesson, 0, "learn")
                st.markdown(words)


def draw_cards(key: str, lessons: list[Lesson]) -> None:
    """Draw lessons as cards, numbered in order."""
    with st.container(horizontal=True, key=f"learn {key}"):
        for number, lesson in enumerate(lessons, 1):
            draw_lesson(lesson, number)


def picture(lesson: str) -> str:
    """Return a lesson's picture as HTML, or "" if it has none, such as a lesson from the command line."""
    file = PICTURES / f"{lesson}.png"
    if not file.is_file():
        return ""
    return controls.picture(file)


def _steps_read(lesson: Lesson) -> int:
    return min(session.LESSON_PROGRESS.value.get(lesson.name, 0), len(lesson.steps))


def draw_lesson(lesson: Lesson, number: int) -> None:
    """Draw the card of a lesson: picture, title (the button that opens it), topic, minutes, progress."""
    n, reached = len(lesson.steps), _steps_read(lesson)
    with st.container(border=True, key=f"lesson entry {lesson.name}"):
        if drawn := picture(lesson.name):
            st.html(drawn)
        is_begun = 1 < reached < n
        title = f"{number}. {messages.plain(lesson.title)}"
        if st.button(title, type="primary", key=f"open {lesson.name}"):
            card.show_step(lesson.name, reached - 1 if is_begun else 0, "learn")
        st.markdown(lesson.about)
        said = f"{lesson.minutes} min"
        if lesson.name in LESSONS_OF_COMMAND:
            said += ", from files on this server"
        st.caption(f"{said}; read to step {reached} of {n}" if reached and n > 1 else said)
        if is_begun and st.button("From the beginning", type="tertiary", key=f"begin {lesson.name}"):
            card.show_step(lesson.name, 0, "learn")


if __name__ == "__main__":
    main()
