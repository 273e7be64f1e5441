# What `cmake --install BUILD --component treadle_cpp` puts into a prefix: libtreadle.so, the public headers and the
# package file for find_package(treadle). The installed headers keep the paths they have here, below include/treadle.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(treadle_headers
  treadle.h
  autograd/engine.h
  autograd/node.h
  autograd/references.h
  backend/cpu/mt19937.h
  backend/cpu/random.h
  backend/kernel.h
  core/context.h
  core/dims.h
  core/dtype.h
  core/error.h
  core/export.h
  core/pool.h
  core/random.h
  core/ref.h
  core/storage.h
  core/tensor.h
  ops/names.h
  ops/schema.h
  ops/table.h)
foreach(header IN LISTS treadle_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/treadle/engine/${folder} COMPONENT treadle_cpp)
endforeach()

install(TARGETS treadle EXPORT treadleTargets COMPONENT treadle_cpp LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/treadle)
install(EXPORT treadleTargets NAMESPACE treadle:: DESTINATION ${package_dir} COMPONENT treadle_cpp)
configure_package_config_file(cmake/treadleConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/treadleConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/treadleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/treadleConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/treadleConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT treadle_cpp)
