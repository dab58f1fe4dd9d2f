"""Write nile.h5: the local level model of the Nile's annual flow, from nile.csv.

usage: make_nile.py [OUT.h5]
"""
import os
import sys
import numpy as np
from kalscan_file import write

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = dict(F=[[1.0]], Q=[[1469.1]], H=[[1.0]], R=[[15099.0]], m0=[0.0], P0=[[1e7]])


def main():
    year, volume = np.loadtxt(os.path.join(HERE, "nile.csv"), delimiter=",", skiprows=1).T
    write(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "nile.h5"),
          volume, year.astype("i4"), MODEL, "x1",
          title="Annual flow of the Nile at Aswan, 1871-1970, local level model",
          source="Cobb (1978), Biometrika 65, 243-251; variances of Durbin & Koopman (2012)",
          y_attributes=dict(units="1e8 m3", long_name="annual flow"),
          t_attributes=dict(units="year", long_name="calendar year"))


if __name__ == "__main__":
    main()
