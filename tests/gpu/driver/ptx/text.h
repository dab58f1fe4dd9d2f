/* text.h -- the text of PTX as functions and their statements (PTX ISA, "Syntax"), in so far as nvcc writes it. */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include <map>
#include <stddef.h>
#include <string>
#include <vector>

/** A variable in memory: `.shared .align 8 .b8 name[256]`. A count of 0 stands for memory that the launch gives. */
struct ptx_variable {
    std::string space, name;
    size_t align, bytes;
};

struct ptx_statement {
    enum what { LABEL, VARIABLE, OPERATION } kind;
    int line;
    std::string guard; /**< the predicate in front, "" where there is none */
    bool unless;       /**< it runs where the predicate is false */
    std::string name;  /**< of the label, or all of the operation: "ld.global.v2.f64" */
    std::vector<std::string> words;    /**< the operation at its points */
    std::vector<std::string> operands; /**< without blanks; vectors, addresses and lists with their brackets */
    ptx_variable variable;
};

struct ptx_function_text {
    std::string name;
    bool entry;
    std::vector<ptx_variable> parameters, results;
    std::vector<ptx_statement> body;
};

/** A module; functions are read when they are asked for. */
class ptx_text
{
  public:
    explicit ptx_text(std::string text);
    /** NULL where there is none of that name. Throws std::string, what is not understood. */
    const ptx_function_text *function(const std::string &name);
    const std::vector<ptx_variable> &variables() const { return variables_; } /**< of all functions */

  private:
    struct place {
        size_t at;
        int line;
        bool entry;
    };
    std::string text_;
    std::map<std::string, place> places_;
    std::map<std::string, ptx_function_text> read_;
    std::vector<ptx_variable> variables_;
};

/** "a,b,{c,d}" at its outer commas. */
std::vector<std::string> ptx_list(const std::string &text);

#endif
