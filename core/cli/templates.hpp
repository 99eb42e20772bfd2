// The files of templates/, as they are.

#pragma once

#include <string_view>
#include <vector>

namespace shunt::cli {

struct template_file {
    std::string_view part;  ///< the folder of templates/ it stands in: "all", "selector", "rust", "fault-c", ...
    std::string_view path;  ///< below that folder
    std::string_view text;
};

[[nodiscard]] std::vector<template_file> templates();

}  // namespace shunt::cli
