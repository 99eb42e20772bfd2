// A list of sends that wait for one thing. A send is in one such list at most; leaving it is O(1).

#pragma once

#include <client/operation.hpp>

#include <cstddef>

namespace shunt::client {

class op_list {
public:
    op_list() = default;
    op_list(const op_list&) = delete;
    op_list& operator=(const op_list&) = delete;

    void push_back(operation& op) noexcept
    {
        op.list = this;
        op.list_next = nullptr;
        op.list_prev = last_;
        (last_ != nullptr ? last_->list_next : first_) = &op;
        last_ = &op;
        ++size_;
    }
    void remove(operation& op) noexcept
    {
        (op.list_prev != nullptr ? op.list_prev->list_next : first_) = op.list_next;
        (op.list_next != nullptr ? op.list_next->list_prev : last_) = op.list_prev;
        op.list = nullptr;
        op.list_prev = op.list_next = nullptr;
        --size_;
    }
    [[nodiscard]] operation* front() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    operation* first_ = nullptr;
    operation* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace shunt::client
