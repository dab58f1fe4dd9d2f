"""layers.py finds what it must find: each case is a small tree with one thing wrong, or nothing."""

import pathlib
import tempfile
import unittest

import layers

HEADERS = {
    "include/kalscan/a.h": "int a;\n",
    "src/base.h": "int base;\n",
    "src/io/file.h": "int file;\n",
    "src/cli/cli.h": "int cli;\n",
    "scan/plan.h": "int plan;\n",
    "kalman/step.h": "int step;\n",
    "kalman/tiled/tile.h": "int tile;\n",
    "blocktri/chol.h": "int chol;\n",
    "count/count.h": "int count;\n",
}


class Layers(unittest.TestCase):
    def problems(self, path, text):
        """Problems of a tree that holds HEADERS and one more file."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {**HEADERS, path: text}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            return layers.check(root)[1]

    def test_downward_includes_pass(self):
        for path, name in [("src/x.c", "base.h"), ("src/x.c", "kalscan/a.h"),
                           ("scan/x.c", "base.h"), ("kalman/x.c", "plan.h"),
                           ("kalman/x.c", "chol.h"), ("blocktri/x.c", "plan.h"),
                           ("src/cli/x.c", "file.h"), ("src/cli/x.c", "../io/file.h"),
                           ("src/io/x.c", "kalscan/a.h"), ("tests/kalman/x.c", "step.h"),
                           ("kalman/x.c", "tile.h"), ("kalman/map/x.c", "tile.h"), ("kalman/map/x.c", "chol.h"),
                           ("count/x.c", "step.h"), ("src/cli/x.c", "count.h")]:
            self.assertEqual(self.problems(path, f'#include "{name}"\n'), [], (path, name))

    def test_upward_includes_fail(self):
        for path, name in [("include/kalscan/x.h", "base.h"), ("include/kalscan/x.h", "step.h"),
                           ("src/x.c", "plan.h"), ("src/x.c", "../scan/plan.h"),
                           ("src/x.h", "step.h"), ("src/x.c", "io/file.h"),
                           ("scan/x.c", "step.h"), ("scan/x.h", "chol.h"),
                           ("kalman/x.c", "file.h"), ("blocktri/x.c", "step.h"),
                           ("blocktri/x.c", "tile.h"), ("kalman/tiled/x.c", "count.h"),
                           ("src/io/x.c", "base.h"), ("src/io/x.c", "../cli/cli.h"),
                           ("src/cli/x.c", "step.h"), ("kalman/x.c", "count.h"),
                           ("examples/x.c", "plan.h")]:
            found = self.problems(path, f'#include "{name}"\n')
            self.assertEqual(len(found), 1, (path, name, found))
            self.assertIn(f"{path}:1:", found[0])

    def test_unknown_includes_fail(self):
        self.assertEqual(len(self.problems("kalman/x.c", '#include "no_such.h"\n')), 1)
        self.assertEqual(self.problems("kalman/x.c", '#include "ks_version.h"\n#include <no_such.h>\n'), [])

    def test_library_headers_have_their_places(self):
        for path, name in [("src/io/x.c", "hdf5.h"), ("src/x.c", "lapacke.h"),
                           ("src/cli/x.c", "cblas.h"),
                           ("kalman/x_cuda.cu", "cuda_runtime.h"), ("src/x.c", "pthread.h")]:
            self.assertEqual(self.problems(path, f"#include <{name}>\n"), [], (path, name))
        for path, name in [("src/x.c", "hdf5.h"), ("kalman/x.c", "hdf5.h"),
                           ("scan/x.c", "H5public.h"), ("kalman/x.c", "lapacke.h"), ("scan/x.c", "cblas.h"), ("kalman/x.c", "pthread.h"),
                           ("src/x.c", "cuda_runtime.h")]:
            self.assertEqual(len(self.problems(path, f"#include <{name}>\n")), 1, (path, name))

    def test_platform_conditions_have_their_places(self):
        for line in ["#ifdef __linux__", "#if defined(__x86_64__)", "# if FOO && defined(_WIN32)",
                     "#ifndef __CUDACC__"]:
            self.assertEqual(len(self.problems("kalman/x.c", line + "\n#endif\n")), 1, line)
            self.assertEqual(self.problems("src/hd.h", line + "\n#endif\n"), [], line)
        self.assertEqual(self.problems("kalman/x.c", "#ifdef __cplusplus\n#endif\n"), [])

    def test_length(self):
        self.assertEqual(self.problems("scan/x.c", "int x;\n" * 500), [])
        self.assertEqual(len(self.problems("scan/x.c", "int x;\n" * 501)), 1)


if __name__ == "__main__":
    unittest.main()
