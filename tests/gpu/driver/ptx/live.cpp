/* live.cpp -- which registers of a function need places of their own. nvcc writes a new one for each result, ten
 * thousand in a kernel; as many words for each thread of a block would not stay in the processor's cache. */
#include "program.h"

#include <set>

namespace
{
/* Operations whose first operand is written, and not read. */
bool writes(const ptx_statement &s)
{
    static const std::set<std::string> all = {
        "mov",  "add", "sub", "mul", "mad", "fma", "div", "rem", "min",   "max",  "neg",  "abs", "sqrt", "rcp",  "rsqrt", "cvt",
        "setp", "selp", "and", "or", "xor", "not", "shl", "shr", "shf", "bfi", "bfind", "brev", "popc", "ld", "cvta", "shfl",
        "mma"};
    return s.guard.empty() && all.count(s.words[0]) && s.operands[0][0] != '[';
}

/* Whether another way may come in behind a statement. */
bool ends_stretch(const ptx_statement &s)
{
    if (s.kind == ptx_statement::LABEL) return true;
    return s.kind == ptx_statement::OPERATION && !s.guard.empty() && s.words[0] != "bra";
}

void note(ptx_spans &spans, const std::string &name, size_t at, size_t stretch, bool written)
{
    const auto made = spans.emplace(name, ptx_span{at, at, stretch, 0, written, 0});
    ptx_span &s = made.first->second;
    s.last = at;
    ++s.times;
    if (s.stretch != stretch) s.local = false;
}

void find(ptx_spans &spans, const std::vector<ptx_statement> &body)
{
    size_t stretch = 0;
    for (size_t i = 0; i < body.size(); ++i) {
        const ptx_statement &s = body[i];
        const bool first_is_written = s.kind == ptx_statement::OPERATION && !s.operands.empty() && writes(s);
        ptx_names(s.guard, [&](const std::string &name) { note(spans, name, i, stretch, false); });
        for (size_t o = first_is_written ? 1 : 0; o < s.operands.size(); ++o)
            ptx_names(s.operands[o], [&](const std::string &name) { note(spans, name, i, stretch, false); });
        if (first_is_written)
            ptx_names(s.operands[0], [&](const std::string &name) { note(spans, name, i, stretch, true); });
        stretch += ends_stretch(s);
    }
}

void lengthen(ptx_spans &spans, const ptx_statement &product)
{
    const auto made = spans.find(product.operands[0]);
    if (made == spans.end() || !made->second.local) return;
    for (size_t o = 1; o < product.operands.size(); ++o) {
        const auto factor = spans.find(product.operands[o]);
        if (factor == spans.end() || !factor->second.local) continue;
        if (factor->second.last < made->second.last) factor->second.last = made->second.last;
    }
}
} // namespace

ptx_spans ptx_live(const std::vector<ptx_statement> &body, uint32_t *places)
{
    ptx_spans spans;
    find(spans, body);
    for (const ptx_statement &s : body)
        if (s.kind == ptx_statement::OPERATION && s.words[0] == "mul") lengthen(spans, s);
    std::vector<std::vector<ptx_span *>> begin(body.size()), end(body.size());
    for (auto &one : spans)
        if (one.second.local) {
            begin[one.second.first].push_back(&one.second);
            end[one.second.last].push_back(&one.second);
        }
    std::vector<uint32_t> free_places;
    *places = 0;
    for (size_t i = 0; i < body.size(); ++i) {
        for (ptx_span *s : begin[i]) {
            if (free_places.empty()) free_places.push_back((*places)++);
            s->place = free_places.back();
            free_places.pop_back();
        }
        for (const ptx_span *s : end[i]) free_places.push_back(s->place);
    }
    return spans;
}
