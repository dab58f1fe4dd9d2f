#!/bin/sh
# How much faster than the elimination of one block after the other can a block-tridiagonal Cholesky
# factorization be? This computes the theoretical speed-up for N blocks of order 32, by the formulas of
# "GPU-accelerated Cholesky factorization of block tridiagonal matrices" (its figures 2, 4, 6 and 7:
# partition, single stage, multi-stage, all of them) and by counting the operations of the busiest thread.
# Writes blocktri-speedup.csv, a table, and blocktri-speedup.svg, a figure.
#
# Usage: blocktri_speedup.sh [FOLDER]     writes into FOLDER, default: the current one
# Needs gnuplot, and kalscan on the PATH or in $KALSCAN.
set -eu
kalscan=${KALSCAN:-kalscan}
folder=${1:-.}
table=$folder/blocktri-speedup.csv

lengths="15 24 31 48 63 96 127 192 255 384 511 768 1023 1536 2047 3072 4095 6144 8191 12288 16383"
all=$(echo $lengths | tr ' ' ,)
ample=1e6          # a thread for every block
single=partition:1e12   # a pivot after every block: as many segments as fit

# Run `count` for an order and some lengths; print lines "T threads time formula".
counted() { # ORDER THREADS LENGTHS
    "$kalscan" count --method blocktri-factor --nx 32 --order "$1" --threads "$2" --T "$3" --csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
                 { print $at["T"], $at["threads"], $at["time_flops"], $at["model_flops"] }'
}

# Convert lines of counted() to lines of the table.
rows() { # FIGURE CURVE
    awk -v name="$1,$2" 'NR == FNR { time[$1] = $3; formula[$1] = $4; next }
        { printf "%s,%s,%s,%.3f,%.3f\n", name, $2, $1, formula[$1] / $4, time[$1] / $3 }' \
        "$table.sequential" -
}

trap 'rm -f "$table.sequential"' EXIT
counted sequential 1 "$all" > "$table.sequential"
{
    echo figure,curve,threads,N,formula,counted
    for P in 2 4 8 16 32; do counted partition $P "$all" | rows 2 "P = $P"; done
    for P in 2 4 8 16; do counted $single $P "$all" | rows 4 "P = $P"; done
    counted $single $ample "$all" | rows 4 "a thread for each column"
    for P in 4 16 64 256; do counted nested-dissection $P "$all" | rows 6 "P = $P"; done
    counted nested-dissection $ample "$all" | rows 6 "a thread for each column"
    for P in 4 16; do counted partition $P "$all" | rows 7 "partition on $P threads"; done
    counted $single $ample "$all" | rows 7 "single stage"
    for N in $lengths; do
        # Two stages that keep every other block, then elimination in order: the crossover is N / 2.
        counted recursive-schur:2:$((N / 2)) $ample $N
    done | rows 7 "two stages"
    counted nested-dissection $ample "$all" | rows 7 "multi-stage"
} > "$table"

# Print gnuplot commands for one figure, with a data block for each curve.
panel() { # FIGURE TITLE
    echo "set title '$2'"
    awk -F, -v figure="$1" '
        $1 == figure && !($2 in number) { number[$2] = ++curves; name[curves] = $2 }
        $1 == figure { line[number[$2]] = line[number[$2]] $4 " " $5 " " $6 "\n" }
        END {
            for (c = 1; c <= curves; ++c) printf "$c%d_%d << EOD\n%sEOD\n", figure, c, line[c]
            printf "plot 1 with lines lc rgb \"#999999\" dt 2 notitle"
            for (c = 1; c <= curves; ++c)
                printf ", $c%d_%d using 1:2 with lines lw 2 lc %d title \"%s\", " \
                       "$c%d_%d using 1:3 with points pt 6 ps 0.4 lc %d notitle", \
                       figure, c, c, name[c], figure, c, c
            printf "\n"
        }' "$table"
}
{
    cat <<END
set terminal svg size 980,860 font 'sans,11' background '#ffffff'
set output '$folder/blocktri-speedup.svg'
set multiplot layout 2,2 title \
'Speed-up over one block after the other: formulas (lines), counted with n = 32 (points)'
set logscale x
set xrange [10:20000]
set xlabel 'blocks N'
set ylabel 'speed-up'
set grid lt 1 lw 0.5 lc rgb '#cccccc'
set border 3
set tics nomirror
set key top left Left reverse samplen 2
set linetype 1 lc rgb '#d55e00'
set linetype 2 lc rgb '#0072b2'
set linetype 3 lc rgb '#009e73'
set linetype 4 lc rgb '#cc79a7'
set linetype 5 lc rgb '#e69f00'
set yrange [0:14]
END
    panel 2 'Partition'
    echo 'set yrange [0:3.3]'
    panel 4 'Single stage'
    echo 'set logscale y; set yrange [0.5:2000]'
    panel 6 'Multi-stage (nested dissection)'
    panel 7 'All of them'
    echo unset multiplot
} | gnuplot
