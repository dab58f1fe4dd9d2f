/* image.cpp -- see image.h. Fat binaries are entries of PTX and machine code one after another; machine code is
 * an ELF file for each architecture, with sections for each kernel: .text.NAME, .nv.shared.NAME, and .nv.info.NAME,
 * which is a list of attributes as the one of all kernels, .nv.info, is. */
#include "image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <string>

namespace
{
struct fat_head {
    uint32_t magic;
    uint16_t version, bytes;
    uint64_t size;
};
struct fat_entry {
    uint16_t kind, version;
    uint32_t bytes;
    uint64_t size;
    uint32_t packed, name, name_size, arch;
};
enum : uint32_t { FAT_MAGIC = 0xba55ed50 };
enum { FAT_MACHINE_CODE = 2 };

/* Since compute capability 9.0 the run time keeps the first kilobyte of a block's memory, and its section has it. */
enum { RESERVED = 1024 };

/* Attributes, by the letters of their format and their numbers. */
enum { HALF_VALUE = 3, SIZED = 4 };
enum { MAX_THREADS = 0x05, FRAME_SIZE = 0x11, ARGUMENT_BYTES = 0x19, REGISTERS = 0x2f };

template <class T> T at(const unsigned char *p)
{
    T value;
    memcpy(&value, p, sizeof value);
    return value;
}

struct elf {
    const unsigned char *base;
    Elf64_Ehdr head;
    explicit elf(const unsigned char *code) : base(code), head(at<Elf64_Ehdr>(code)) {}
    Elf64_Shdr section(size_t i) const { return at<Elf64_Shdr>(base + head.e_shoff + i * head.e_shentsize); }
    const char *name_of(const Elf64_Shdr &s) const
    {
        return reinterpret_cast<const char *>(base + section(head.e_shstrndx).sh_offset + s.sh_name);
    }
    bool find(const std::string &name, Elf64_Shdr *out, size_t *number = nullptr) const
    {
        for (size_t i = 0; i < head.e_shnum; ++i) {
            *out = section(i);
            if (name != name_of(*out)) continue;
            if (number) *number = i;
            return true;
        }
        return false;
    }
    /* The number of the symbol that is a function of this name, or 0. */
    uint32_t function(const char *name) const
    {
        Elf64_Shdr symbols;
        if (!find(".symtab", &symbols)) return 0;
        const Elf64_Shdr strings = section(symbols.sh_link);
        for (uint32_t i = 0; i < symbols.sh_size / symbols.sh_entsize; ++i) {
            const Elf64_Sym s = at<Elf64_Sym>(base + symbols.sh_offset + i * symbols.sh_entsize);
            const char *const own = reinterpret_cast<const char *>(base + strings.sh_offset + s.st_name);
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && !strcmp(own, name)) return i;
        }
        return 0;
    }
    /* Calls use(number of the attribute, its value or its bytes) for each of a section. */
    template <class F> void attributes(const Elf64_Shdr &s, F use) const
    {
        const unsigned char *p = base + s.sh_offset, *const end = p + s.sh_size;
        while (p + 4 <= end) {
            const int format = p[0], number = p[1], half = at<uint16_t>(p + 2);
            use(format, number, half, p + 4);
            p += 4 + (format == SIZED ? (half + 3) / 4 * 4 : 0);
        }
    }
};
} // namespace

const unsigned char *image_code(const void *fatbin, int major, int minor)
{
    const unsigned char *const all = static_cast<const unsigned char *>(fatbin);
    const fat_head head = at<fat_head>(all);
    if (head.magic != FAT_MAGIC) return nullptr;
    const unsigned char *best = nullptr;
    uint32_t best_arch = 0;
    for (const unsigned char *p = all + head.bytes; p < all + head.bytes + head.size;) {
        const fat_entry entry = at<fat_entry>(p);
        const bool runs = entry.kind == FAT_MACHINE_CODE && entry.arch / 10 == (uint32_t)major &&
                          entry.arch % 10 <= (uint32_t)minor;
        if (runs && entry.arch > best_arch && !memcmp(p + entry.bytes, ELFMAG, SELFMAG)) {
            best = p + entry.bytes;
            best_arch = entry.arch;
        }
        p += entry.bytes + entry.size;
    }
    return best;
}

bool image_find(const unsigned char *code, const char *name, image_kernel *out)
{
    const elf file(code);
    Elf64_Shdr section;
    const uint32_t symbol = file.function(name);
    *out = image_kernel();
    if (!symbol || !file.find(std::string(".text.") + name, &section)) return false;
    if (file.find(std::string(".nv.shared.") + name, &section) && section.sh_size > RESERVED)
        out->shared = section.sh_size - RESERVED;
    if (file.find(std::string(".nv.info.") + name, &section))
        file.attributes(section, [out](int format, int number, int half, const unsigned char *bytes) {
            if (format == HALF_VALUE && number == ARGUMENT_BYTES) out->arguments = (size_t)half;
            if (format == SIZED && number == MAX_THREADS) out->most_threads = (int)at<uint32_t>(bytes);
        });
    if (file.find(".nv.info", &section))
        file.attributes(section, [out, symbol](int format, int number, int half, const unsigned char *bytes) {
            if (format != SIZED || half != 8 || at<uint32_t>(bytes) != symbol) return;
            if (number == REGISTERS) out->registers = (int)at<uint32_t>(bytes + 4);
            if (number == FRAME_SIZE) out->local = at<uint32_t>(bytes + 4);
        });
    return out->registers > 0;
}
