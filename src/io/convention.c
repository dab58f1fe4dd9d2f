#include "convention.h"

#include <string.h>
#include "h5.h"

const char *ks_layout_name(int layout)
{
    return layout == KS_LAYOUT_C ? "c" : layout == KS_LAYOUT_FORTRAN ? "fortran" : NULL;
}

int ks_convention_read(const ks_convention *c, hid_t object, bool *stated, ks_problems *problems)
{
    char text[64];
    *stated = true;
    if (c->override >= 0) return c->override;
    const ks_attribute_state state = ks_h5_read_string(object, c->attribute, text, sizeof text);
    if (state == KS_ATTRIBUTE_READ) {
        for (int value = 0; c->name(value); ++value)
            if (strcmp(text, c->name(value)) == 0) return value;
        ks_problem_add(problems, "%s: attribute %s of %s is \"%s\", expected \"%s\" or \"%s\"",
                       c->file, c->attribute, c->path, text, c->name(0), c->name(1));
    } else if (state == KS_ATTRIBUTE_WRONG) {
        ks_problem_add(problems,
                       "%s: attribute %s of %s is not a short string, expected \"%s\" or \"%s\"",
                       c->file, c->attribute, c->path, c->name(0), c->name(1));
    }
    *stated = false;
    return 0;
}
