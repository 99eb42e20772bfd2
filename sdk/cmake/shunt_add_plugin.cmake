# shunt_add_plugin(name SOURCES file...)
# Builds a plugin: a shared object that exports its entry and nothing else. The same in this tree and after find_package(shunt).
function(shunt_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  message(FATAL_ERROR "not there yet")
endfunction()
