"""How colours look to the three kinds of colour-blind eyes, and how far apart two colours are: plain numpy.

Machado, Oliveira, Fernandes (2009), "A physiologically-based model for simulation of color vision
deficiency", table of severity 1.0; Sharma, Wu, Dalal (2005), "The CIEDE2000 color-difference formula".
WCAG 2.2 defines the contrast ratio.
"""

import numpy as np

VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""Matrices on linear RGB, by the kind of eyes."""

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)


def linear(colour):
    """Return linear RGB of "#rrggbb", from 0 to 1."""
    x = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def lab(colour, vision="normal"):
    """Return CIE L*a*b* (D65) of a colour, as these eyes see it."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    x = TO_XYZ @ seen / WHITE
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(lab1, lab2):
    """Return the distance CIEDE2000 of two colours in L*a*b*."""
    (L1, a1, b1), (L2, a2, b2) = lab1, lab2
    C = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    G = 0.5 * (1 - np.sqrt(C**7 / (C**7 + 25.0**7)))
    a1, a2 = (1 + G) * a1, (1 + G) * a2
    C1, C2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    dL, dC = L2 - L1, C2 - C1
    dh = 0.0 if C1 * C2 == 0 else (h2 - h1 + 180) % 360 - 180
    dH = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(dh) / 2)
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    if C1 * C2 == 0:
        h = h1 + h2
    elif abs(h1 - h2) <= 180:
        h = (h1 + h2) / 2
    else:
        h = (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    T = (
        1
        - 0.17 * np.cos(np.radians(h - 30))
        + 0.24 * np.cos(np.radians(2 * h))
        + 0.32 * np.cos(np.radians(3 * h + 6))
        - 0.20 * np.cos(np.radians(4 * h - 63))
    )
    S_L = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2)
    S_C, S_H = 1 + 0.045 * C, 1 + 0.015 * C * T
    turn = np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))
    R = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(turn)
    terms = dL / S_L, dC / S_C, dH / S_H
    return float(np.sqrt(sum(t * t for t in terms) + R * terms[1] * terms[2]))


def distance(one, other):
    """Return the smallest distance of two colours "#rrggbb" to any of the four kinds of eyes."""
    return min(ciede2000(lab(one, vision), lab(other, vision)) for vision in VISIONS)


def contrast(one, other):
    """Return the contrast ratio of two colours, from 1 to 21."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)
