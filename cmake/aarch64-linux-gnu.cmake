# Cross-compiling for AArch64 with Debian's g++-aarch64-linux-gnu, libraries and Python headers from the
# sysroot that `ci/setup arm64` unpacks; programs run under qemu, which emulates the CPU that QEMU_CPU names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(felloe_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(FELLOE_ARM64_SYSROOT "${felloe_root}/build/sysroots/arm64" CACHE PATH "an unpacked AArch64 Debian (ci/setup arm64)")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FELLOE_ARM64_SYSROOT)
# Libraries and packages are the target's, programs the host's. The compiler keeps its own headers: not CMAKE_SYSROOT.
set(CMAKE_FIND_ROOT_PATH "${FELLOE_ARM64_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${FELLOE_ARM64_SYSROOT}")
