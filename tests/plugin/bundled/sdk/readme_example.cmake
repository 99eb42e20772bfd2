# Writes the plugin of sdk/README.md, the first C++ block, to a file.
file(READ ${readme} text)
string(REGEX MATCH "```cpp\n([^`]*)```" block "${text}")
if(NOT CMAKE_MATCH_1)
  message(FATAL_ERROR "${readme} has no C++ block")
endif()
file(WRITE ${output} "${CMAKE_MATCH_1}")
