#include <wire/batch.hpp>
#include <wire/bytes.hpp>

namespace shunt::wire {

void put_batch_item(buffer& out, const batch_item& item)
{
    (void)out.grab(batch_item_size(item));
    out.put_u32(static_cast<std::uint32_t>(batch_item_size(item)));
    out.put_u32(0);  // magic and crc: the broker fills in its own
    out.put_u32(0);
    out.put_u32(static_cast<std::uint32_t>(item.flag));
    out.put_u32(static_cast<std::uint32_t>(item.body.size()));
    out.put(item.body);
    out.put_u16(static_cast<std::uint16_t>(item.properties.size()));
    out.put(item.properties);
}

bool read_batch_item(std::string_view& bytes, batch_item& out, std::string& what)
{
    what.clear();
    if (bytes.empty())
        return false;
    byte_reader in{bytes};
    const std::int32_t size = in.i32();
    (void)in.u32();
    (void)in.u32();
    batch_item item;
    item.flag = in.i32();
    item.body = in.take(in.i32());
    item.properties = in.take(in.i16());
    if (!in.ok()) {
        what = "batch item: its parts are longer than the " + std::to_string(bytes.size()) + " bytes that are left";
        return false;
    }
    if (size < 0 || static_cast<std::size_t>(size) != batch_item_size(item)) {
        what = "batch item: it claims " + std::to_string(size) + " bytes, but its parts take " +
               std::to_string(batch_item_size(item));
        return false;
    }
    bytes.remove_prefix(batch_item_size(item));
    out = item;
    return true;
}

}  // namespace shunt::wire
