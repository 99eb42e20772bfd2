// A list of sends that wait for one thing. A send is in one such list at most; leaving it is O(1).

#pragma once

#include <cstddef>

namespace shunt::client {

class operation;

class op_list {
public:
    op_list() = default;
    op_list(const op_list&) = delete;
    op_list& operator=(const op_list&) = delete;

    inline void push_back(operation& op) noexcept;
    inline void remove(operation& op) noexcept;
    [[nodiscard]] operation* front() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    operation* first_ = nullptr;
    operation* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace shunt::client
