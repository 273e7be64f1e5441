// Storage: its bytes come from the small-block pool or the system, or are someone else's.
#include "engine/core/storage.h"

#include "engine/core/error.h"
#include "engine/core/export.h"
#include "engine/core/pool.h"

namespace treadle {

Storage::Storage(std::size_t bytes, Device device)
    : data_(nullptr), bytes_(bytes), device_(device) {
  switch (device.kind) {
    case Device::Kind::cpu:
      data_ = bytes <= kInline && !TREADLE_ADDRESS_SANITIZER ? inline_ : pool_allocate(bytes);
      break;
    case Device::Kind::meta:
      break;  // shapes without memory
    case Device::Kind::cuda:
      fail(ErrorKind::runtime, "this build of treadle has no CUDA backend; use device 'cpu'");
  }
}

Storage::Storage(void* data, std::size_t bytes, Device device, Deleter deleter, void* context,
                 bool read_only)
    : data_(data),
      bytes_(bytes),
      device_(device),
      deleter_(deleter),
      context_(context),
      read_only_(read_only) {}

Storage::Storage(Ref<Storage> of, std::uint32_t version)
    : data_(of->data_),
      bytes_(of->bytes_),
      device_(of->device_),
      read_only_(of->read_only_),
      of_(of->of_ ? of->of_ : std::move(of)),
      version_(version) {}

Storage::Storage(Ref<Storage> of, Ref<Storage> counter) : Storage(std::move(of), 0u) {
  counter_ = counter->counter_ ? counter->counter_ : std::move(counter);
}

Storage::~Storage() {
  if (of_) return;
  if (deleter_) {
    deleter_(context_);
  } else if (data_ != inline_) {
    pool_free(data_, bytes_);
  }
}

}  // namespace treadle
