"""The rules of the house that a compiler does not see.

Usage: layers.py SOURCE_ROOT
Fails on an #include against the direction of the folders, on a library header in a folder that
must not know it, on a platform #if outside the files that hide platforms, and on a file of more
than 500 lines."""

import pathlib
import re
import sys

MOST_LINES = 500

# Folder: the folders whose headers it may include. The longest prefix of a path is its folder.
ALLOWED = {
    "include": {"include"},
    "src": {"include", "src"},
    "src/gpu": {"include", "src", "src/gpu"},
    "src/io": {"include", "src/io"},
    "src/cli": {"include", "count", "src/io", "src/cli"},
    "scan": {"include", "src", "src/gpu", "scan"},
    "blocktri": {"include", "src", "src/gpu", "scan", "blocktri"},
    "kalman": {"include", "src", "src/gpu", "scan", "blocktri", "kalman"},
    "count": {"include", "src", "src/gpu", "scan", "blocktri", "kalman", "count"},
    "examples": {"include"},
}
# Where a quoted include is looked for after its own folder, as the build does.
SEARCH = ["include", "src", "scan", "blocktri", "kalman",
          *("kalman/" + name for name in ["batch", "cuda", "cuda/chunks", "cuda/map", "map", "mixed", "scan", "tiled",
                                          "two_ended"]),
          "count", "src/io", "src/cli"]
# What the build finds elsewhere: made by it, or of the emulated device.
ELSEWHERE = {"ks_version.h", "ks_tiers.h", "emulated_kernel.h"}

# Library headers, and where they may be included.
LIBRARIES = {
    r"hdf5(_hl)?\.h|H5\w*\.h": ["src/io", "src/cli"],
    r"lapacke\w*\.h|cblas\w*\.h|openblas\w*\.h": ["src", "src/cli"],  # the command sets its threads
    r"pthread\.h|threads\.h": ["src", "src/cli"],
    r"cuda\w*\.h|cooperative_groups\.h": ["*.cu", "*.cuh", "src/gpu"],
    r"immintrin\.h|x86intrin\.h|cpuid\.h": ["src"],
}

PLATFORM = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(__linux\w*|__APPLE__|_WIN32|_WIN64|_MSC_VER|__unix\w*"
    r"|__x86_64\w*|__i386\w*|__aarch64__|__ARM\w*|__AVX\w*|__FMA__|__SSE\w*|__GNUC__|__clang__"
    r"|__CUDACC__|__CUDA_ARCH__|__FreeBSD__)\b")
PLATFORM_FILES = {"include/kalscan/export.h", "src/cpu.h", "src/hd.h", "src/pool.c",
                  "blocktri/dispatch.c", "kalman/dispatch.c", "src/gpu/kernel.h", "src/gpu/kernel_async.h",
                  "src/gpu/kernel_bulk.h", "src/gpu/kernel_mma.h", "include/kalscan/scan.cuh",
                  "include/kalscan/scan_rounds.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CODE = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc"}


def folder_of(path):
    """The folder of ALLOWED that a path belongs to, or None."""
    inside = [f for f in ALLOWED if path.startswith(f + "/")]
    return max(inside, key=len, default=None)


def resolve(root, path, name):
    """The path under root of an included file, or None for a file of the system."""
    for place in [pathlib.PurePosixPath(path).parent.as_posix(), *SEARCH]:
        candidate = root / place / name
        if candidate.is_file():
            return candidate.resolve().relative_to(root.resolve()).as_posix()
    return None


def library_problem(path, name):
    for pattern, places in LIBRARIES.items():
        if re.fullmatch(pattern, pathlib.PurePosixPath(name).name):
            folder = folder_of(path)
            fits = [p for p in places if p == folder or p == "*" + pathlib.Path(path).suffix]
            return "" if fits else f"<{name}> is not for {folder}/"
    return ""


def include_problem(root, path, quote, name):
    """Why a file may not include a name, or ''."""
    target = resolve(root, path, name)
    if target is None:
        unknown = quote == '"' and name not in ELSEWHERE
        return library_problem(path, name) or (f'"{name}" is in no folder of SEARCH' if unknown else "")
    folder, other = folder_of(path), folder_of(target)
    if other not in ALLOWED[folder]:
        return f"{folder}/ may not include {target}"
    if folder == "examples" and quote == '"':
        return f"an example includes <{name}>, as a user does"
    return ""


def problems_of(root, path):
    """All problems of one file of code."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    if len(lines) > MOST_LINES:
        yield f"{path}: {len(lines)} lines, more than {MOST_LINES}"
    if folder_of(path) is None:
        return
    hides_platforms = path in PLATFORM_FILES or path.endswith("_cuda.cu")
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if include:
            problem = include_problem(root, path, include[1], include[2])
            if problem:
                yield f"{path}:{number}: {problem}"
        if not hides_platforms and PLATFORM.match(line):
            yield f"{path}:{number}: a platform condition outside of src/hd.h and its like"


def code_files(root):
    for top in ["include", "src", "scan", "blocktri", "kalman", "count", "examples", "tests"]:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in CODE and file.is_file():
                yield file.relative_to(root).as_posix()


def check(root):
    """(number of files, list of problems) of a source tree."""
    files = list(code_files(root))
    return len(files), [p for f in files for p in problems_of(root, f)]


def main():
    count, problems = check(pathlib.Path(sys.argv[1]))
    print(*problems, sep="\n")
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
