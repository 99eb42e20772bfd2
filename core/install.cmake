# What `cmake --install` puts where, and what find_package(shunt) finds there.
#
#   bin/shunt                the program
#   lib/libshunt.a           the library, target shunt::core
#   lib/shunt/plugins/*.so   the bundled strategies; found from bin/ by ../lib/shunt/plugins
#   lib/cmake/shunt/         shuntConfig.cmake; `COMPONENTS sdk` gives the SDK alone, which depends on nothing
#   include/shunt/           public headers, and the SDK below sdk/
#   share/shunt/config/      configuration files to copy
#
# Works at the end of the configuration, when plugins and the program are known.

# Needed packages, told from what the parts link: "Boost 1.81 COMPONENTS ...", "fmt", ...
function(shunt_dependencies_ result)
  get_property(parts GLOBAL PROPERTY SHUNT_PARTS)
  set(packages Threads)
  set(components "")
  foreach(part IN LISTS parts)
    get_property(libs GLOBAL PROPERTY SHUNT_PART_LIBS_${part})
    foreach(lib IN LISTS libs)
      if(lib MATCHES "^Boost::(.+)$")
        if(NOT CMAKE_MATCH_1 STREQUAL "headers")
          list(APPEND components ${CMAKE_MATCH_1})
        endif()
      elseif(lib MATCHES "^([^:]+)::")
        list(APPEND packages ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(REMOVE_DUPLICATES components)
  list(JOIN components " " components)
  set(text "find_dependency(Boost 1.81 COMPONENTS ${components})")
  foreach(package IN LISTS packages)
    string(APPEND text "\n  find_dependency(${package})")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(shunt_install_)
  include(CMakePackageConfigHelpers)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)

  # Two export sets, so that a plugin's author needs none of the library's dependencies.
  install(TARGETS shunt_sdk EXPORT shuntSdkTargets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT shuntSdkTargets NAMESPACE shunt:: DESTINATION ${cmake_dir})
  install(TARGETS shunt_core EXPORT shuntCoreTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT shuntCoreTargets NAMESPACE shunt:: DESTINATION ${cmake_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/sdk/cmake/shunt_add_plugin.cmake ${PROJECT_SOURCE_DIR}/sdk/cmake/shunt_plugin.map
    DESTINATION ${cmake_dir})

  if(TARGET shunt)
    install(TARGETS shunt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  set(plugin_dir lib/shunt/plugins)
  get_property(plugins GLOBAL PROPERTY SHUNT_PLUGIN_NAMES)
  foreach(plugin IN LISTS plugins)
    get_target_property(folder ${plugin} SOURCE_DIR)
    if(folder MATCHES "^${PROJECT_SOURCE_DIR}/plugins/")  # tests have plugins of their own
      install(TARGETS ${plugin} LIBRARY DESTINATION ${plugin_dir})
    endif()
  endforeach()

  install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/shunt/config)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  shunt_dependencies_(SHUNT_FIND_DEPENDENCIES)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/core/shuntConfig.cmake.in ${PROJECT_BINARY_DIR}/shuntConfig.cmake
    INSTALL_DESTINATION ${cmake_dir} PATH_VARS plugin_dir)
  # 0.x promises nothing from one minor version to the next.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/shuntConfig.cmake ${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake DESTINATION ${cmake_dir})
endfunction()

cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL shunt_install_)
