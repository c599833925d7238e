"""The compiled rotation kernel, which pyproject.toml cannot describe. It is optional: without a compiler the formula serves."""

import sys

from setuptools import Extension, setup

# No fused multiply-add: every path must give the same bits. omp simd without a runtime: threads come from PyTorch's own library.
FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fopenmp-simd", "-fvisibility=hidden"]

setup(
    ext_modules=[
        Extension(
            "ordinate.kernels._rotate",
            ["src/ordinate/kernels/rotate.c"],
            depends=["src/ordinate/kernels/rows.h"],
            extra_compile_args=FLAGS,
            libraries=["dl"] if sys.platform.startswith("linux") else [],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
