"""Draws two and a half years of what `kalscan smooth data/co2.h5` finds: the weeks that were observed, the
smoothed concentration H x of every week, and two standard deviations of it to either side.

usage: co2_figure.py SMOOTHED.h5 FIGURE.svg      the output of kalscan smooth"""
import datetime
import pathlib
import sys

import h5py
import numpy as np

if len(sys.argv) != 3:
    sys.exit(__doc__[__doc__.index("usage"):])
WIDTH, HEIGHT, LEFT, BOTTOM = 860, 300, 48, 26
FIRST_DAY, WEEKS = datetime.date(1958, 3, 29), slice(200, 345)
BAND, LINE, DOT, GRID = "#a6cee3", "#1f78b4", "#222222", "#dddddd"

with h5py.File(pathlib.Path(__file__).parent / "../data/co2.h5") as f, h5py.File(sys.argv[1]) as g:
    y, H, day = f["y"][WEEKS], f["model/H"][0], f["t"][WEEKS]
    co2, variance = g["smoothed/mean"][WEEKS] @ H, g["smoothed/cov"][WEEKS] @ H @ H
spread = 2 * np.sqrt(variance)
low, high = np.floor(min(co2 - spread)), np.ceil(max(co2 + spread))


def x_of(days):
    return LEFT + (WIDTH - LEFT - 12) * (days - day[0]) / (day[-1] - day[0])


def y_of(ppm):
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10) * (ppm - low) / (high - low)


def points(days, ppm):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x_of(days), y_of(ppm)))


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


parts = []
for ppm in np.arange(low + low % 2, high, 2):
    parts += [f'<path d="M{LEFT},{y_of(ppm):.1f}H{WIDTH - 12}" stroke="{GRID}"/>',
              text(LEFT - 6, y_of(ppm) + 4, f"{ppm:.0f}", "end")]
for year, month in [(year, month) for year in (1962, 1963, 1964) for month in (1, 4, 7, 10)]:
    x = x_of((datetime.date(year, month, 1) - FIRST_DAY).days)
    if LEFT <= x < WIDTH:
        parts += [f'<path d="M{x:.1f},{HEIGHT - BOTTOM}v5" stroke="{DOT}"/>',
                  text(x, HEIGHT - 7, f"{datetime.date(year, month, 1):%b} {year}", "middle")]
days, edges = np.concatenate([day, day[::-1]]), np.concatenate([co2 + spread, (co2 - spread)[::-1]])
seen = ~np.isnan(y)
dots = "".join(f"M{point}h0" for point in points(day[seen], y[seen]).split())
parts += [f'<polygon points="{points(days, edges)}" fill="{BAND}"/>',
          f'<polyline points="{points(day, co2)}" fill="none" stroke="{LINE}" stroke-width="1.5"/>',
          f'<path d="{dots}" stroke="{DOT}" stroke-width="3.6" stroke-linecap="round"/>',
          f'<path d="M{LEFT},10V{HEIGHT - BOTTOM}H{WIDTH - 12}" fill="none" stroke="{DOT}"/>',
          f'<path d="M60,21h0" stroke="{DOT}" stroke-width="3.6" stroke-linecap="round"/>',
          text(70, 25, "observed, CO₂ at Mauna Loa in ppm"),
          f'<path d="M54,40h12" stroke="{BAND}" stroke-width="11"/><path d="M54,40h12" stroke="{LINE}"/>',
          text(70, 44, "smoothed, and two standard deviations to either side")]
pathlib.Path(sys.argv[2]).write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
    'font-size="12">\n<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n",
    encoding="utf-8")
