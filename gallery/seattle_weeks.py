"""A year of temperatures ahead, with and without a season in the kernel.

Weekly means of the highest temperature of each day in Seattle, 2012 to 2014 known and 2015 held
out. The sum of trend, season and weather follows the year; a kernel that only knows smoothness
returns to the mean within some weeks, in an interval as wide as all seasons.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import dates
from vega_datasets import data

from posterity import GaussianProcessRegressor, displays, scoring
from posterity.kernels import RBF, Matern, Periodic, Scaled

OUT = Path(__file__).parent / "out"

days = pd.read_csv(data.seattle_weather.filepath, parse_dates=["date"])
weeks = days.resample("W", on="date")["temp_max"].mean().reset_index()
weeks["years"] = (weeks["date"] - weeks["date"][0]).dt.days / 365.25
known, later = weeks[weeks["date"] < "2015"], weeks[weeks["date"] >= "2015"]
season = Scaled(Periodic(1.0).fixed("period"))
shown = {
    "Trend, season and weather": Scaled(RBF(3.0)) + season + Scaled(Matern(0.1, smoothness=0.5)),
    "Smoothness alone": Scaled(RBF()),
}

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(11.4, 4.2), sharey=True)
    for ax, (title, kernel) in zip(axes, shown.items(), strict=True):
        model = GaussianProcessRegressor(kernel, random_state=0)
        model.fit(known[["years"]], known["temp_max"])
        forecast = model.predict_dist(later[["years"]])
        inside = scoring.interval_coverage(forecast, later["temp_max"])
        low, high = forecast.interval(0.9)
        blue, black = displays.COLORS["blue"], displays.COLORS["black"]
        ax.fill_between(later["date"], low, high, color=blue, alpha=0.25, lw=0, label="90 %")
        ax.plot(later["date"], forecast.mean(), color=blue, label="forecast")
        ax.plot(known["date"], known["temp_max"], "o", ms=2.5, color=black, label="known")
        orange = displays.COLORS["orange"]
        ax.plot(later["date"], later["temp_max"], "x", ms=4, color=orange, label="held out")
        ax.set_xlabel("year")
        ax.xaxis.set_major_locator(dates.YearLocator())
        ax.xaxis.set_major_formatter(dates.DateFormatter("%Y"))
        ax.set_title(f"{title}: 90 % holds {100 * inside:.0f} %")
    axes[0].set_ylabel("highest temperature, degrees Celsius")
    axes[0].legend(loc="upper left", ncols=2)
    axes[0].set_ylim(0.0, 45.0)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "seattle_weeks.png")
