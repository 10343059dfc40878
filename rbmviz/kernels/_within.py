"""How numba compiles a kernel that only kernels call: once, as a part of the kernel that Python calls.

numba by itself compiles each function to the end. It links all functions that this one calls, optimises them
together and makes machine code, and does all of that again for each caller. Here the LLVM IR of such a
function is not optimised by itself; the kernel that Python calls is optimised with all of it at once. That
takes three quarters of the time. The optimiser then sees which arguments nobody reads, and leaves them out.

Which of these functions are called, and which are compiled into their callers, is said at each, and not left
to the optimiser, which would copy a function into each of its calls, and compile every copy.
"""

from typing import Any

from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher


class _UnoptimisedIR(JITCodeLibrary):
    """The LLVM IR of one function, not optimised yet, for the kernels that call it."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the IR of the function; unless it is an inline kernel, it stays a function."""
        for function in ir_module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave everything else to the kernel that Python calls."""
        self._finalized = True

    def linked(self) -> list[Any]:
        """Return this library, and those of all functions that this one calls, directly or not."""
        found: dict[Any, None] = {self: None}
        for library in self._linking_libraries:
            callees = library.linked() if isinstance(library, _UnoptimisedIR) else [library]
            found.update(dict.fromkeys(callees))
        return list(found)


class _Whole(JITCodeLibrary):
    """A kernel that Python calls, with all functions that it calls."""

    counts_references = True

    def _optimize_functions(self, ll_module: Any) -> None:
        if self.counts_references:
            super()._optimize_functions(ll_module)
        else:
            ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        libraries = [one for one in self._linking_libraries if isinstance(one, _UnoptimisedIR)]
        private = {function.name for one in libraries for function in _defined(one._final_module)}
        for function in _defined(self._final_module):
            if function.name in private:
                # Not "internal": the JIT's linker finds such a function by its name, also for another module
                # that has its own form of it. Here it may have lost arguments: such a call crashed.
                function.linkage = "private"
        if self.counts_references or hasattr(self._codegen, "_mpm_full"):  # the latter before numba 0.62
            super()._optimize_final_module()
        else:  # the passes that come before are there for the references
            passes, builder = self._codegen._module_pass_manager()
            with self._recorded_timings.record("Module passes", builder):
                passes.run(self._final_module, builder)


def _defined(ll_module: Any) -> list[Any]:
    return [function for function in ll_module.functions if not function.is_declaration]


class KernelCompiler(Compiler):
    """Compiles a kernel that Python calls."""

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        library = _Whole(target_context.codegen(), "kernel")
        library.enable_object_caching()
        library.counts_references = bool(self.state.flags.nrt)
        self.state.library = library


class PrivateCompiler(Compiler):
    """Compiles a kernel that only kernels call, up to its LLVM IR."""

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, *rest)
        self.state.library = _UnoptimisedIR(target_context.codegen(), "private kernel")
        self.state.flags.no_compile = True


class PrivateKernel(CPUDispatcher):
    """A kernel that only kernels call: there is no machine code that Python could call."""

    _compiler: Any

    def __call__(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.py_func.__name__} is a private kernel, which only kernels can call: with @inner in the "
            "place of @private, Python can call it, too."
        )

    def compile(self, sig: Any) -> Any:
        """Compile for these types of the arguments; return what names the result within numba."""
        args, _ = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                result: Any = self._compiler.compile(args, None)
                result.library.finalize()
                self.targetctx.insert_user_function(result.fndesc, result.fndesc, result.library.linked())
                self.overloads[args] = result
            known: Any = self.overloads[args]
            return known.fndesc

    def get_overload(self, sig: Any) -> Any:
        """Return what names the function for these types within numba."""
        args, _ = sigutils.normalize_signature(sig)
        known: Any = self.overloads[args]
        return known.fndesc


class InnerKernel(CPUDispatcher):
    """A kernel that Python calls, and that has a private form for kernels."""

    private_form: Any  # a PrivateKernel

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the type of a call by a kernel."""
        return self.private_form.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return what names the private form within numba."""
        return self.private_form.get_overload(sig)
