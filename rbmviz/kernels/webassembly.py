"""Kernels compiled for browsers, from the same source: the work of ``python -m rbmviz.browser.build``.

numba emits the LLVM IR of a kernel and of all that it calls, not optimised for any processor; LLVM then
optimises it for WebAssembly with its vectors of 128 bits. Nothing is reordered or fused, and so a browser
computes the bits that the processor computes, except that exp and log are the browser's.

numba passes an array as seven words or more, and a chain has dozens of them. An exported kernel therefore
takes one pointer to a *block* of arguments with a slot of eight bytes for each word: first the pointers to
the returned value and to numba's exception, then the arguments. It returns 0, or else it raised.
"""

import re
from types import FunctionType, ModuleType
from typing import Any

import numba
from llvmlite import binding

from rbmviz.kernels import _jit, _llvm

TRIPLE = "wasm32-unknown-unknown"
LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
"""Without relaxed-simd, where the same instruction has other bits on another processor."""


def begin() -> None:
    """Let this process build kernels for browsers from now on; it can no longer run those it compiles."""
    _llvm.for_webassembly = True
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def compile_functions(module: ModuleType) -> None:
    """Make kernels of the plain functions that a module uses: browsers have no Python to run them in.

    Compiling them for Python as well would save nothing and delay the first start by seconds.
    """
    for name, function in vars(module).copy().items():
        if isinstance(function, FunctionType) and function.__module__.startswith("rbmviz.kernels."):
            setattr(module, name, _jit.private(function))


def object_code(kernel: Any, arguments: tuple[Any, ...], export: str) -> tuple[bytes, list[str]]:
    """Return an ``inner`` kernel for such arguments as an object file, and the types of its slots."""
    types = tuple(map(numba.typeof, arguments))
    private = getattr(kernel, "private_form", kernel)
    private.compile(types)
    compiled = private.overloads[types]
    modules = [
        binding.parse_assembly(_portable(str(library._final_module)))
        for library in compiled.library.linked()
        if library.name != "nrt"  # counts references, which no inner kernel does
    ]
    module = modules[0]
    for other in modules[1:]:
        module.link_in(other)
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "internal"
    name = compiled.fndesc.llvm_func_name
    slots = [str(argument.type) for argument in module.get_function(name).arguments]
    module = binding.parse_assembly(f"{module}\n{_entrance(name, slots, export)}")
    module.verify()
    machine = binding.Target.from_triple(TRIPLE).create_target_machine(
        cpu="generic", features=FEATURES, opt=3, reloc="static", codemodel="small"
    )
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module), slots


def _portable(text: str) -> str:
    """Return IR that names no processor, with the layout of memory in browsers."""
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{LAYOUT}"', text)
    text = re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text)
    text = re.sub(r"= (?:common|linkonce_odr|weak_odr|weak) ", "= internal ", text)
    return re.sub(r'"(?:target-cpu|target-features|tune-cpu|probe-stack)"="[^"]*"', "", text)


def _entrance(name: str, slots: list[str], export: str) -> str:
    """Return IR of the exported function: it loads the arguments from the slots and calls the kernel."""
    lines = [f"define i32 @{export}(ptr %block) {{"]
    for i, kind in enumerate(slots):
        lines.append(f"  %p{i} = getelementptr i8, ptr %block, i32 {8 * i}")
        lines.append(f"  %a{i} = load {kind}, ptr %p{i}, align 8")
    passed = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(slots))
    return "\n".join([*lines, f'  %status = call i32 @"{name}"({passed})', "  ret i32 %status", "}", ""])
