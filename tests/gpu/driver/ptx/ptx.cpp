/* ptx.cpp -- see ptx.h. Modules and kernels that have been read stay until the program ends. */
#include "ptx.h"

#include <fstream>
#include <sstream>
#include <stdlib.h>

#include "program.h"

const ks_emu_kernel *ptx_kernel(const ks_emu_kernel &host, std::string *error)
{
    static const char *const folder = getenv("KS_DRIVER_PTX");
    static std::map<std::string, std::unique_ptr<ptx_text>> texts;
    static std::map<std::string, std::unique_ptr<ptx_program>> programs;
    if (!folder) return nullptr;
    std::unique_ptr<ptx_program> &program = programs[host.name];
    if (program) return program.get();
    const std::string path = std::string(folder) + "/" + host.module + ".ptx";
    try {
        std::unique_ptr<ptx_text> &text = texts[host.module];
        if (!text) {
            std::ifstream file(path);
            std::stringstream all;
            if (!(all << file.rdbuf())) throw std::string("it cannot be read");
            text.reset(new ptx_text(all.str()));
        }
        program.reset(new ptx_program(host, *text));
    } catch (const std::string &what) {
        *error = path + ": " + what;
    }
    return program.get();
}
