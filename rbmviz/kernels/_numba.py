"""How kernels are compiled, linked and cached, by numba's undocumented internals.

**Linking.** numba compiles each function to machine code: it links all functions that this one calls,
optimises them together, and repeats all of that for each caller. Here the LLVM IR of a function that only
kernels call stays unoptimised, and the kernel that Python calls is optimised with all of it at once. That
takes three quarters of the time, and the optimiser drops arguments that nobody reads. Whether a function is
called or inlined is declared, because the optimiser would inline a function at every call and compile each
copy.

**Caching.** numba keeps an index of each function's compilations and numbers the files of machine code. Two
processes that compile different things at the same moment can take the same number, and one would run the
other's code. Here each compilation has its own file, named by what it was compiled for; a file is used only
if its content is whole and says the same.

``check`` raises if numba's internals have changed; ``_jit`` then compiles with numba's documented options
alone, without a cache.
"""

import gc
import hashlib
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core import event, sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUTargetOptions
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.types import Function, Type

# numba registers the last types it knows when it first loads a kernel; a thread that looks up the type of an
# argument at that moment would fail ("dictionary changed size during iteration").
from numba.experimental import function_type  # noqa: F401

settings: Any = numba.config  # its names appear at run time only

EXPECTED: dict[type, str] = {
    DefaultPassBuilder: "define_nopython_pipeline",
    JITCodeLibrary: "add_ir_module _optimize_functions _optimize_final_module finalize enable_object_caching",
    CPUDispatcher: "compile get_call_template get_overload",
    CPUTargetOptions: "_nrt forceinline no_cfunc_wrapper no_cpython_wrapper",
    CompileResultCacheImpl: "_locator_classes",
    IndexDataCacheFile: "save load _dump _open_for_write",
    FunctionCache: "save_overload",
}
"""Attributes of numba's classes that this file uses or overrides."""


def check() -> None:
    """Raise AttributeError if numba lacks a name that this file uses; the imports check the rest."""
    library: Any = JITCodeLibrary(cpu_target.target_context.codegen(), "check")
    for name in ("_linking_libraries", "_finalized", "_codegen", "_recorded_timings", "_final_module"):
        getattr(library, name)
    for kind, names in EXPECTED.items():
        for name in names.split():
            if not hasattr(kind, name):
                raise AttributeError(f"numba's {kind.__name__} has no {name}")


# Linking


class _UnoptimisedIR(JITCodeLibrary):
    """The LLVM IR of one function, not yet optimised, for the kernels that call it."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def linked(self) -> list[Any]:
        """Return this library and the libraries of all functions called from it, directly or not."""
        libraries: dict[Any, None] = {self: None}
        for library in self._linking_libraries:
            callees = library.linked() if isinstance(library, _UnoptimisedIR) else [library]
            libraries.update(dict.fromkeys(callees))
        return list(libraries)


class _Whole(JITCodeLibrary):
    """A kernel that Python calls, with all functions that it calls."""

    counts_references = True

    def _optimize_functions(self, ll_module: Any) -> None:
        if self.counts_references:
            super()._optimize_functions(ll_module)
        else:
            ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        callees = [library for library in self._linking_libraries if isinstance(library, _UnoptimisedIR)]
        private = {function.name for callee in callees for function in _defined(callee._final_module)}
        for function in _defined(self._final_module):
            if function.name in private:
                # Not "internal": the JIT's linker finds such a function by name, even for another module with
                # its own form of it. Here it may have lost arguments, and such a call crashed.
                function.linkage = "private"
        if self.counts_references or hasattr(self._codegen, "_mpm_full"):  # the latter before numba 0.62
            super()._optimize_final_module()
        else:  # skips the passes that only serve reference counts
            passes, builder = self._codegen._module_pass_manager()
            with self._recorded_timings.record("Module passes", builder):
                passes.run(self._final_module, builder)


def _defined(ll_module: Any) -> list[Any]:
    return [function for function in ll_module.functions if not function.is_declaration]


SKIPPED = (
    "WithLifting InlineClosureLikes MakeFunctionToJitFunction InlineInlinables InlineOverloads LiteralUnroll "
    "FindLiterallyCalls LiteralPropagationSubPipelinePass RewriteDynamicRaises DumpParforDiagnostics"
).split()
"""Passes for what no kernel has: closures, ``with``, literal arguments. They take a fifteenth of the time."""

OF_ARRAYS = "NopythonRewrites IRLegalization".split()
"""Passes for the expressions that make arrays, and for the end of their lives: a twentieth."""


class _Types:
    """numba's typing context, which tries all definitions of a built-in function, for each + of two numbers.

    Here it does so once for the same types, which saves a tenth of the time.
    """

    signatures: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        key = function, args
        if kws or (isinstance(function, Type) and not isinstance(function, Function)):
            return self._context.resolve_function_type(function, args, kws)
        if key not in self.signatures:
            self.signatures[key] = self._context.resolve_function_type(function, args, kws)
        return self.signatures[key]


class _KernelPasses(Compiler):
    def __init__(self, typing_context: Any, *rest: Any) -> None:
        super().__init__(_Types(typing_context), *rest)

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("kernel")
        skipped = SKIPPED if self.state.flags.nrt else SKIPPED + OF_ARRAYS
        for kind, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if kind.__name__ not in skipped:
                passes.add_pass(kind, description)
        passes.finalize()
        return [passes]


class KernelCompiler(_KernelPasses):
    """Compiles a kernel that Python calls."""

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        library = _Whole(target_context.codegen(), "kernel")
        library.enable_object_caching()
        library.counts_references = bool(self.state.flags.nrt)
        self.state.library = library


class PrivateCompiler(_KernelPasses):
    """Compiles a kernel that only kernels call, up to its LLVM IR."""

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        self.state.library = _UnoptimisedIR(target_context.codegen(), "private kernel")
        self.state.flags.no_compile = True


class PrivateKernel(CPUDispatcher):
    """A kernel that only kernels call; it is never compiled to machine code alone."""

    _compiler: Any

    def __call__(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.py_func.__name__} is a private kernel, which only kernels can call: "
            "decorate it with @inner instead of @private to call it from Python."
        )

    def compile(self, sig: Any) -> Any:
        """Compile for these argument types; return numba's descriptor of the function."""
        args, _ = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                result: Any = self._compiler.compile(args, None)
                result.library.finalize()
                self.targetctx.insert_user_function(result.fndesc, result.fndesc, result.library.linked())
                self.overloads[args] = result
            return self.get_overload(sig)

    def get_overload(self, sig: Any) -> Any:
        """Return numba's descriptor of the function for these argument types."""
        args, _ = sigutils.normalize_signature(sig)
        overload: Any = self.overloads[args]
        return overload.fndesc


class InnerKernel(CPUDispatcher):
    """A kernel that Python calls, with a private form for kernels."""

    private_form: Any  # a PrivateKernel

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the type of a call by a kernel."""
        return self.private_form.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return numba's descriptor of the private form."""
        return self.private_form.get_overload(sig)


# Caching


class _CheckedFiles(IndexDataCacheFile):
    """The machine code of one function; each file begins with the SHA-256 of numba's version and the rest.

    A key says what code was compiled for: argument types, processor, bytecode.
    """

    def _path_of(self, key: Any) -> Path:
        index = Path(self._index_path)
        return index.with_name(f"{index.stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc")

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + content).digest()

    def save(self, key: Any, data: Any) -> None:
        """Save code under its own name and atomically, so that no other process reads half a file."""
        content = self._dump((self._source_stamp, key, data))
        with self._open_for_write(self._path_of(key)) as file:
            file.write(self._digest(content) + content)

    def load(self, key: Any) -> Any:
        """Return the code; None if it is missing, damaged or compiled for something else."""
        try:
            content = self._path_of(key).read_bytes()
        except OSError:
            return None
        size = hashlib.sha256().digest_size
        if self._digest(content[size:]) != content[:size]:
            return None
        stamp, stored_key, data = pickle.loads(content[size:])
        return data if stamp == self._source_stamp and stored_key == key else None


_CacheDir: Any = CompileResultCacheImpl._locator_classes[0]  # its name differs between versions of numba


class _Folder(_CacheDir):
    """numba's CACHE_DIR, even if read-only: a machine image may come with a full cache."""

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _OwnFolder(CompileResultCacheImpl):
    """Stores code in numba's CACHE_DIR only, never beside the sources or in numba's common folder."""

    _locator_classes = [_Folder]  # noqa: RUF012


class _KernelCache(FunctionCache):
    """numba's cache of one kernel; its errors never stop a program."""

    _impl_class = _OwnFolder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own: Any = self._cache_file
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, own._source_stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, unless the disk is full or the folder read-only."""
        try:
            super().save_overload(sig, data)
        except OSError:
            pass


_cache_dir = threading.Lock()
"""Of numba's CACHE_DIR: modules of kernels may be imported by several threads at once."""


def cache_in(folder: str, compiled: Any) -> None:
    """Keep the machine code of a dispatcher in ``folder``, if it can be used; else every process compiles."""
    with _cache_dir:
        before = settings.CACHE_DIR
        settings.CACHE_DIR = folder  # read when the cache is made, so restored at once
        try:
            compiled._cache = _KernelCache(compiled.py_func)  # as enable_caching() sets numba's own
        except (OSError, RuntimeError):
            pass
        finally:
            settings.CACHE_DIR = before


# Interrupts, and the collector of garbage

_after: list[Callable[[], None]] = []


class _Compilation(event.Listener):
    paused = False  # Python's search for garbage, which takes a tenth of the time

    def on_start(self, event: Any) -> None:
        if global_compiler_lock.is_locked() and gc.isenabled():  # by this thread, which has begun
            gc.disable()
            self.paused = True

    def on_end(self, event: Any) -> None:
        if global_compiler_lock.is_locked():
            return
        if self.paused:
            self.paused = False
            gc.enable()
        if _after and threading.current_thread() is threading.main_thread():
            _after.pop()()


event.register("numba:compiler_lock", _Compilation())


def after_compiling(call: Callable[[], None]) -> bool:
    """Make ``call`` when the main thread's compilation ends; return False, and do nothing, if there is none.

    For interrupts: an exception between two calls of LLVM leaves objects that are freed twice, and Python
    crashes. Call this in the main thread only; a later ``call`` replaces an earlier one.
    """
    if not global_compiler_lock.is_locked():
        return False
    _after[:] = [call]
    return True
