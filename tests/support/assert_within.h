/* assert_within.h -- assert_within(value, least, most) of integers, ends included. What cmocka 1 calls assert_in_range()
 * is deprecated in cmocka 2. Include it after <cmocka.h>. */
#ifndef ASSERT_WITHIN_H
#define ASSERT_WITHIN_H

#ifdef assert_int_in_range
#    define assert_within assert_int_in_range
#else
#    define assert_within assert_in_range
#endif
#endif
