# shunt_add_plugin(name SOURCES file...)
# Builds the plugin lib<name>.so: a shared object that exports its entry and nothing else. `name` is the strategy's, with
# underscores. The same in this tree and after find_package(shunt).
#
#   SHUNT_PLUGIN_OUTPUT_DIRECTORY  where the file goes, if set
#   SHUNT_STATIC_PLUGINS           also makes <name>_static, objects with the entry shunt_plugin_entry_<name>, and appends <name>
#                                  to the global property SHUNT_STATIC_PLUGIN_NAMES
#   SHUNT_SANITIZER                if set, symbols may stay open until load: a sanitizer's run time lives in the program

function(shunt_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "shunt_add_plugin(${ARGV}): the form is shunt_add_plugin(name SOURCES file...)")
  endif()

  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/shunt_plugin.map)
  add_library(${name} MODULE ${arg_SOURCES})
  shunt_configure_plugin_(${name})
  string(REPLACE "-" "_" file_name ${name})
  set_target_properties(${name} PROPERTIES PREFIX lib OUTPUT_NAME ${file_name} SUFFIX .so DEBUG_POSTFIX ""
    SKIP_BUILD_RPATH ON INSTALL_RPATH "" LINK_DEPENDS ${map})
  if(SHUNT_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${SHUNT_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  target_link_options(${name} PRIVATE LINKER:--version-script=${map} LINKER:-z,now,-z,relro,-z,noexecstack
    LINKER:--build-id)
  if(NOT SHUNT_SANITIZER)
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
  # Hosts refuse what others may write to, and some systems let the group write by default.
  add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod go-w $<TARGET_FILE:${name}> $<TARGET_FILE_DIR:${name}> VERBATIM)
  set_property(GLOBAL APPEND PROPERTY SHUNT_PLUGIN_NAMES ${name})

  if(SHUNT_STATIC_PLUGINS)
    add_library(${name}_static OBJECT ${arg_SOURCES})
    shunt_configure_plugin_(${name}_static)
    target_compile_definitions(${name}_static PRIVATE SHUNT_STATIC_PLUGIN=${file_name})
    set_property(GLOBAL APPEND PROPERTY SHUNT_STATIC_PLUGIN_NAMES ${name})
  endif()
endfunction()

function(shunt_configure_plugin_ target)
  target_link_libraries(${target} PRIVATE shunt::sdk)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
