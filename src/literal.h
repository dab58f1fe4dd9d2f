/* literal.h -- calls with a size as a literal, for which the compiler unrolls the loops over it. */
#ifndef KS_LITERAL_H
#define KS_LITERAL_H

/* Of a switch over a size the cases CALL(n) with n as a literal, for one to eight of them: KS_CASES(CALL, 1, 2, 4). */
#define KS_CASES(CALL, ...) KS_CASES_NAMED(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(CALL, __VA_ARGS__)
#define KS_CASES_NAMED(a, b, c, d, e, f, g, h, count, ...) KS_CASES_##count
#define KS_CASES_1(CALL, n) case n: CALL(n); break;
#define KS_CASES_2(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_1(CALL, __VA_ARGS__)
#define KS_CASES_3(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_2(CALL, __VA_ARGS__)
#define KS_CASES_4(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_3(CALL, __VA_ARGS__)
#define KS_CASES_5(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_4(CALL, __VA_ARGS__)
#define KS_CASES_6(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_5(CALL, __VA_ARGS__)
#define KS_CASES_7(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_6(CALL, __VA_ARGS__)
#define KS_CASES_8(CALL, n, ...) KS_CASES_1(CALL, n) KS_CASES_7(CALL, __VA_ARGS__)

#endif
