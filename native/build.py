"""Build the C path: `python -m native.build`. Without a C compiler it says so and succeeds: it is never needed."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import cffi

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "native"
MODULE = "pw_native"
SOURCES = ("pw_engine.c", "pw_guest.c", "pw_imports.c", "pw_memory.c", "pw_vm.c", "pw_wasmtime.c")
FLAGS = ["-O2", "-std=gnu11", "-fPIC", "-fvisibility=hidden"]
STRICT = ["-Wall", "-Wextra", "-Werror"]
HOST_CALLBACK = """
extern "Python+C" int pw_host(void *host, const char *op, size_t op_len, const char *text, size_t text_len,
                              pw_answer *answer);
"""


def main() -> int:
    """0 when it was built or cannot be built here; 1 when a compiler refused our sources."""
    reason = why_not()
    if reason is not None:
        print(f"native path: not built: {reason}; the pure-Python path will be used")
        return 0
    compiler = find_compiler()
    assert compiler is not None
    OUT.mkdir(parents=True, exist_ok=True)
    target = OUT / f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
    wrapper = write_wrapper()
    include = [f"-I{sysconfig.get_path('include')}", f"-I{HERE}"]
    objects = []
    for source, flags in [(wrapper, []), *((HERE / name, STRICT) for name in SOURCES)]:
        objects.append(OUT / f"{source.stem}.o")
        if not run([*compiler, *FLAGS, *flags, *include, "-c", str(source), "-o", str(objects[-1])]):
            return 1
    fresh = target.with_suffix(".new")  # a running server keeps the file that it has open
    if not run([*compiler, "-shared", *map(str, objects), "-o", str(fresh), "-ldl", "-lpthread"]):
        return 1
    fresh.replace(target)
    print(f"native path: built {target.relative_to(HERE.parent)}")
    return 0


def why_not() -> str | None:
    """Why this machine cannot have the C path, or None."""
    if platform.system() != "Linux":
        return f"it needs Linux (memfd, pagemap), this is {platform.system()}"
    if find_compiler() is None:
        return "no C compiler was found (on Debian and Ubuntu: apt-get install gcc libc6-dev)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python.h is missing (on Debian and Ubuntu: apt-get install python3-dev)"
    return None


def find_compiler() -> list[str] | None:
    """The compiler's command: $CC if it says one, else the first that is there."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        command = shlex.split(name) if name else []
        if command and shutil.which(command[0]):
            return command
    return None


def write_wrapper() -> Path:
    """The C file that makes a Python module of pw_vm.h."""
    header = (HERE / "pw_vm.h").read_text()
    public = header.split("/* cffi: begin */")[1].split("/* cffi: end */")[0]
    ffi = cffi.FFI()
    ffi.cdef(public + HOST_CALLBACK)
    ffi.set_source(MODULE, '#include "pw_vm.h"')
    wrapper = OUT / f"{MODULE}.c"
    with contextlib.redirect_stdout(io.StringIO()):  # it talks
        ffi.emit_c_code(str(wrapper))
    return wrapper


def run(command: list[str]) -> bool:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(
            f"native path: this failed:\n  {shlex.join(command)}\n{done.stdout}{done.stderr}", file=sys.stderr
        )
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
