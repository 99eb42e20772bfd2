# What `cmake --install` puts where, what find_package(shunt) and pkg-config find there, and Debian packages of it (cpack).
#
# component  package         holds
#   runtime  libshunt1       lib/libshunt.so.1 (SHUNT_SHARED=ON)
#   dev      libshunt-dev    include/shunt/, lib/libshunt.so or lib/libshunt.a, lib/cmake/shunt/, lib/pkgconfig/shunt.pc
#   sdk      shunt-sdk-dev   include/shunt/sdk/, share/cmake/shunt/ (shuntConfig.cmake, shunt_add_plugin()), share/pkgconfig/
#   program  shunt           bin/shunt, its manual pages and completions, share/shunt/config/: files to copy
#   plugins  shunt-plugins   lib/shunt/plugins/*.so: the bundled strategies; lib/shunt/shunt-preflight: tries out plugins
#
# A prefix can be moved: whatever stands in these files is relative to where they lie. Works at the end of the configuration,
# when plugins and the program are known.

set(SHUNT_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions, from the prefix")

# The libraries that the parts link, in three languages: packages for find_package, modules and options for pkg-config.
function(shunt_dependencies_)
  get_property(parts GLOBAL PROPERTY SHUNT_PARTS)
  set(all "")
  foreach(part IN LISTS parts)
    get_property(libs GLOBAL PROPERTY SHUNT_PART_LIBS_${part})
    list(APPEND all ${libs})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(components "")
  set(packages "")
  set(modules "")
  set(options "")
  foreach(lib IN LISTS all)
    if(lib MATCHES "^Boost::(.+)$")
      set(component ${CMAKE_MATCH_1})
      if(NOT component STREQUAL "headers")
        list(APPEND components ${component})
        list(APPEND options -lboost_${component})
      endif()
    elseif(lib MATCHES "^OpenSSL::(Crypto|SSL)$")
      string(TOLOWER lib${CMAKE_MATCH_1} module)
      list(APPEND packages OpenSSL)
      list(APPEND modules ${module})
    elseif(lib STREQUAL "ZLIB::ZLIB")
      list(APPEND packages ZLIB)
      list(APPEND modules zlib)
    elseif(lib STREQUAL "LZ4::LZ4")
      list(APPEND packages LZ4)
      list(APPEND modules liblz4)
    elseif(lib MATCHES "^zstd::")
      list(APPEND packages zstd)
      list(APPEND modules libzstd)
    elseif(lib STREQUAL "prometheus-cpp::core")
      list(APPEND packages prometheus-cpp)
      list(APPEND modules prometheus-cpp-core)
    elseif(lib MATCHES "^(fmt|spdlog)::")
      list(APPEND packages ${CMAKE_MATCH_1})
      list(APPEND modules ${CMAKE_MATCH_1})
    elseif(lib MATCHES "::")
      message(FATAL_ERROR "core/install.cmake does not know how users of an installed shunt find ${lib}; say it there")
    else()
      list(APPEND options -l${lib})
    endif()
  endforeach()
  # Inside of a shared library it is nobody's business what it links. Boost is: its headers are part of ours, and a program
  # shares one Asio with the library.
  set(text "find_dependency(Boost ${Boost_VERSION_STRING} EXACT")
  if(SHUNT_SHARED)
    string(APPEND text ")")
  else()
    list(JOIN components " " components)
    list(REMOVE_DUPLICATES packages)
    string(APPEND text " COMPONENTS ${components})")
    foreach(package IN LISTS packages)
      string(APPEND text "\nfind_dependency(${package})")
    endforeach()
  endif()
  set(SHUNT_FIND_DEPENDENCIES "${text}" PARENT_SCOPE)
  list(JOIN modules " " modules)
  list(JOIN options " " options)
  if(SHUNT_SHARED)
    set(text "-pthread")  # what it links is its own business, and private modules would have to be installed
  else()
    set(text "${options} -pthread\nRequires: ${modules}")
  endif()
  set(SHUNT_PC_DEPENDENCIES "${text}" PARENT_SCOPE)
endfunction()

# The way from an installed file's folder to the prefix, for pkg-config.
function(shunt_way_up_ result folder)
  string(REGEX REPLACE "[^/]+" ".." up ${folder})
  set(${result} "\${pcfiledir}/${up}" PARENT_SCOPE)
endfunction()

function(shunt_install_)
  include(CMakePackageConfigHelpers)
  set(sdk_cmake_dir ${CMAKE_INSTALL_DATADIR}/cmake/shunt)
  set(core_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)
  set(plugin_dir lib/shunt/plugins)

  # Two export sets, so that a plugin's author needs none of the library's dependencies.
  install(TARGETS shunt_sdk EXPORT shuntSdkTargets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
  install(EXPORT shuntSdkTargets NAMESPACE shunt:: DESTINATION ${sdk_cmake_dir} COMPONENT sdk)
  install(FILES ${PROJECT_SOURCE_DIR}/sdk/cmake/shunt_add_plugin.cmake ${PROJECT_SOURCE_DIR}/sdk/cmake/shunt_plugin.map
    DESTINATION ${sdk_cmake_dir} COMPONENT sdk)
  install(TARGETS shunt_core EXPORT shuntCoreTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
  install(EXPORT shuntCoreTargets NAMESPACE shunt:: DESTINATION ${core_cmake_dir} COMPONENT dev)
  install(FILES ${PROJECT_SOURCE_DIR}/core/FindLZ4.cmake DESTINATION ${core_cmake_dir} COMPONENT dev)

  if(TARGET shunt)
    install(TARGETS shunt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/bash-completion DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/fish DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/zsh/site-functions/ DESTINATION ${SHUNT_ZSH_COMPLETIONS} COMPONENT program)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/shunt/config COMPONENT program)
  install(TARGETS shunt_preflight RUNTIME DESTINATION lib/shunt COMPONENT plugins)
  get_property(plugins GLOBAL PROPERTY SHUNT_PLUGIN_NAMES)
  foreach(plugin IN LISTS plugins)
    get_target_property(folder ${plugin} SOURCE_DIR)
    if(folder MATCHES "^${PROJECT_SOURCE_DIR}/plugins/")  # tests have plugins of their own
      install(TARGETS ${plugin} LIBRARY DESTINATION ${plugin_dir} COMPONENT plugins)
    endif()
  endforeach()
  foreach(pair runtime=libshunt${PROJECT_VERSION_MAJOR} dev=libshunt-dev sdk=shunt-sdk-dev program=shunt plugins=shunt-plugins)
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 package)
    if(component STREQUAL "runtime" AND NOT SHUNT_SHARED)
      continue()
    endif()
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
      COMPONENT ${component})
  endforeach()

  shunt_dependencies_()
  set(SHUNT_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(out ${PROJECT_BINARY_DIR}/install)
  configure_file(${PROJECT_SOURCE_DIR}/core/shuntCore.cmake.in ${out}/shuntCore.cmake @ONLY)
  install(FILES ${out}/shuntCore.cmake DESTINATION ${core_cmake_dir} COMPONENT dev)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/core/shuntConfig.cmake.in ${out}/shuntConfig.cmake
    INSTALL_DESTINATION ${sdk_cmake_dir})
  write_basic_package_version_file(${out}/shuntConfigVersion.cmake COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
  install(FILES ${out}/shuntConfig.cmake ${out}/shuntConfigVersion.cmake DESTINATION ${sdk_cmake_dir} COMPONENT sdk)

  shunt_way_up_(SHUNT_PC_PREFIX ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  configure_file(${PROJECT_SOURCE_DIR}/core/shunt.pc.in ${out}/shunt.pc @ONLY)
  install(FILES ${out}/shunt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  shunt_way_up_(SHUNT_PC_PREFIX ${CMAKE_INSTALL_DATADIR}/pkgconfig)
  configure_file(${PROJECT_SOURCE_DIR}/sdk/cmake/shunt-sdk.pc.in ${out}/shunt-sdk.pc @ONLY)
  install(FILES ${out}/shunt-sdk.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT sdk)

  if(SHUNT_SHARED)
    shunt_debian_packages_()
  endif()
endfunction()

# One .deb a component.
function(shunt_debian_packages_)
  set(exact "(= ${PROJECT_VERSION})")
  set(library libshunt${PROJECT_VERSION_MAJOR})
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME shunt)
  set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The maintainers of shunt <maintainers@shunt.invalid>")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_COMPONENTS_ALL runtime dev sdk plugins)
  if(TARGET shunt)
    list(APPEND CPACK_COMPONENTS_ALL program)
  endif()

  set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "shunt-plugins (>= ${PROJECT_VERSION_MAJOR}.0)")  # the default policy is one of them
  set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "shared library")

  set(CPACK_DEBIAN_DEV_PACKAGE_NAME libshunt-dev)
  set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${library} ${exact}, shunt-sdk-dev ${exact}, libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev")
  set(CPACK_COMPONENT_DEV_DESCRIPTION "headers and build files for programs that send")

  set(CPACK_DEBIAN_SDK_PACKAGE_NAME shunt-sdk-dev)
  set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_SDK_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_SDK_PACKAGE_SUGGESTS "shunt, cmake")
  set(CPACK_COMPONENT_SDK_DESCRIPTION "headers and build files for plugins")

  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME shunt)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "shunt-plugins (>= ${PROJECT_VERSION_MAJOR}.0)")
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "the program: send, simulate, judge plugins and configurations")

  set(CPACK_DEBIAN_PLUGINS_PACKAGE_NAME shunt-plugins)
  set(CPACK_DEBIAN_PLUGINS_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_PLUGINS_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_PLUGINS_DESCRIPTION "the bundled strategies")
  include(CPack)
endfunction()

cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL shunt_install_)
