// One instance of a strategy, made through its C table over a host of its own: what selectors and fault strategies share.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/testing/fake_host.hpp>
#include <shunt/sdk/testing/plugin.hpp>
#include <shunt/sdk/testing/settings.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::sdk::testing::detail {

/// `Class`: the C table of its kind; `Handle`: what that calls an instance.
template <typename Class, typename Handle>
class instance_of {
public:
    instance_of(const instance_of&) = delete;
    instance_of& operator=(const instance_of&) = delete;

    /// Why it could not be made; empty: it could.
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }
    [[nodiscard]] shunt_status status() const noexcept { return status_; }

    [[nodiscard]] const Class& table() const noexcept { return table_; }
    [[nodiscard]] Handle* instance() noexcept { return instance_; }
    [[nodiscard]] fake_host& host() noexcept { return host_; }

protected:
    /// `kind`: for messages, "selector".
    instance_of(const Class& table, std::string_view kind, const settings& given, start_at at, bool checked) : table_(table), kind_(kind)
    {
        const config c{given, table_.params, table_.n_params, table_.param_stride, checked};
        if (!c.problems().empty()) {
            status_ = SHUNT_E_CONFIG;
            refusal_ = c.problems();
            return;
        }
        const shunt_instance i{sizeof i, at.start};
        status_ = table_.create(host_.table(), c.table(), &i, &instance_);
        if (status_ != SHUNT_OK)
            refusal_ = host_.error.empty() ? "create answered status " + std::to_string(status_) + " and no text" : host_.error;
        else if (instance_ == nullptr)
            refusal_ = "create answered SHUNT_OK without an instance";
    }
    ~instance_of()
    {
        if (instance_ != nullptr)
            table_.destroy(instance_);
    }

    void must_be_made() const
    {
        if (instance_ == nullptr)
            misuse("the " + std::string{kind_} + " " + std::string{text(table_.name)} + " was not made: " + refusal_);
    }

    /// Its state goes to `bytes`. It offers one.
    shunt_status write_state(std::string& bytes)
    {
        const shunt_writer w{&bytes, [](void* c, const void* p, std::uint64_t n) -> shunt_status {
                                 static_cast<std::string*>(c)->append(static_cast<const char*>(p), n);
                                 return SHUNT_OK;
                             }};
        return table_.export_state(instance_, &w);
    }
    shunt_status read_state(std::uint32_t schema, std::string_view bytes)
    {
        must_be_made();
        return table_.import_state == nullptr ? SHUNT_UNSUPPORTED : table_.import_state(instance_, schema, bytes.data(), bytes.size());
    }

    const Class& table_;
    fake_host host_;
    Handle* instance_ = nullptr;

private:
    std::string_view kind_;
    shunt_status status_ = SHUNT_OK;
    std::string refusal_;
};

}  // namespace shunt::sdk::testing::detail
