// CPUID words and HWCAPs as JSON, and what /proc/cpuinfo says of each core.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/json.h"
#include "probe/cpu/cpu.h"

namespace felloe {

// {"arch": "x86", "vendor", "brand", "signature", "osxsave", "xcr0", "hypervisor_id"?, "words":
// {...}} or {"arch": "aarch64", "midr", "sve_vl_bytes", "words": {"hwcap", ...}}; numbers are "0x"
// strings.
Json cpu_to_json(const cpu::Raw& raw);
// Throws Error{input} naming `where`.
cpu::Raw cpu_from_json(const Json& json, const std::string& where);

// One map of fields for each processor in /proc/cpuinfo.
std::vector<std::map<std::string, std::string>> parse_cpuinfo(std::string_view text);

// Whose /proc/cpuinfo this is: "x86", "arm" or "" (empty, or another architecture's).
std::string cpuinfo_dialect(const std::vector<std::map<std::string, std::string>>& cores);

// "0-3,8" of /sys/devices/system/cpu/online -> 5; 0 if it isn't such a list.
int count_cpu_list(std::string_view text);

}  // namespace felloe
