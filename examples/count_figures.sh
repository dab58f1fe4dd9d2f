#!/bin/sh
# Which scan suits a series of T steps on P threads? Draws the operations of the busiest of 15000
# and of 84480 simulated threads, against T and as bars for four lengths: figures 6 and 7 of Sarkka
# and Garcia-Fernandez, "On the performance of prefix-sum parallel Kalman filters and smoothers on
# GPUs".
#
# Usage: count_figures.sh [FOLDER]     writes into FOLDER, default: the current one
# Needs gnuplot, and kalscan on the PATH or in $KALSCAN.
set -eu
kalscan=${KALSCAN:-kalscan}
folder=${1:-.}

T=100
for decade in 2 3 4 5; do
    for mantissa in 1.25 1.6 2 2.5 3.2 4 5 6.3 8 10; do
        T=$T,${mantissa}e$decade
    done
done
# The scans of the paper, and for the chunked scan what it becomes on so many threads.
scans=hillis-steele,blelloch,ladner-fischer,sengupta:1,sengupta:15000

for P in 15000 84480; do
    "$kalscan" count --T "$T" --threads $P --scan $scans,chunked --quiet --force \
        --plot "$folder/count-time-$P.svg"
    "$kalscan" count --T 1e3,1e4,1e5,1e6 --threads $P --scan $scans --quiet --force \
        --bars --plot "$folder/count-bars-$P.svg"
done
