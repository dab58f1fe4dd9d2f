"""Write co2.h5: the model of co2_model.py with its fitted variances, and the data of co2.csv.

usage: make_co2.py [OUT.h5]
"""
import os
import sys
import numpy as np
import co2_model
from kalscan_file import write


def main():
    dates, y = co2_model.series()
    days = (np.array(dates, "M8[D]") - np.datetime64(dates[0])).astype("i4")
    write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(co2_model.HERE, "co2.h5"),
          y, days, co2_model.model(**co2_model.VARIANCES), "x1",
          title="Weekly CO2 at Mauna Loa, 1958-2001, level + slope + seasonal model",
          source="Keeling & Whorf (2004), flask air samples, Scripps Institution of Oceanography, "
                 "CDIAC, Oak Ridge National Laboratory",
          y_attributes=dict(units="ppm", long_name="CO2 concentration, weekly"),
          t_attributes=dict(units=f"days since {dates[0]} 00:00:00", calendar="standard",
                            long_name="day of the sample"))


if __name__ == "__main__":
    main()
