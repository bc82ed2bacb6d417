// SPDX-License-Identifier: BSD-3-Clause
#include "core/error.h"

#include "core/test_job.h"

#include <set>
#include <string>

namespace volley {
namespace {

using ErrorTest = TestJob;

TEST_F(ErrorTest, CodesCarryClassAndSentence) {
    int code = fail(MPI_ERR_TAG, "tag is %d", -5);
    EXPECT_GT(code, MPI_ERR_ABI);
    EXPECT_LT(code, MPI_ERR_LASTCODE);
    EXPECT_EQ(error_class_of(code), MPI_ERR_TAG);
    EXPECT_STREQ(sentence_of(code), "tag is -5");
    EXPECT_EQ(class_of(code), MPI_ERR_TAG);
    EXPECT_EQ(text_of(code), "MPI_ERR_TAG: tag is -5");
}

TEST_F(ErrorTest, SentencesAreForgottenInTurn) {
    int first = fail(MPI_ERR_TAG, "first");
    std::set<int> codes = {first};
    for (int i = 1; i < 127; ++i) codes.insert(fail(MPI_ERR_TAG, "number %d", i));
    EXPECT_EQ(codes.size(), 127U);
    EXPECT_STREQ(sentence_of(first), "first");
    int later = fail(MPI_ERR_COUNT, "later");
    EXPECT_STREQ(sentence_of(later), "later");
    EXPECT_STREQ(sentence_of(first), "");
    EXPECT_EQ(text_of(first), "MPI_ERR_TAG: invalid tag");
}

TEST_F(ErrorTest, LongSentencesFit) {
    int code = fail(MPI_ERR_OTHER, "%s", std::string(2 * MPI_MAX_ERROR_STRING, 'x').c_str());
    EXPECT_EQ(text_of(code).size(), MPI_MAX_ERROR_STRING - 1U);
}

TEST_F(ErrorTest, EveryClassHasAText) {
    for (int error_class = MPI_SUCCESS; error_class <= MPI_ERR_ABI; ++error_class) {
        EXPECT_EQ(class_of(error_class), error_class);
        EXPECT_FALSE(text_of(error_class).empty());
    }
    for (int error_class = MPI_T_ERR_CANNOT_INIT; error_class <= MPI_T_ERR_PVAR_NO_ATOMIC; ++error_class) {
        EXPECT_EQ(class_of(error_class), error_class);
        EXPECT_FALSE(text_of(error_class).empty());
    }
    EXPECT_EQ(text_of(MPI_ERR_TRUNCATE).find("MPI_ERR_TRUNCATE"), 0U);
    EXPECT_EQ(text_of(MPI_ERR_ABI).find("MPI_ERR_ABI"), 0U);
    EXPECT_EQ(text_of(MPI_T_ERR_PVAR_NO_ATOMIC).find("MPI_T_ERR_PVAR_NO_ATOMIC"), 0U);
}

TEST_F(ErrorTest, UnknownCodes) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    EXPECT_EQ(class_of(-1), MPI_ERR_UNKNOWN);
    EXPECT_EQ(class_of(MPI_ERR_LASTCODE + 1000), MPI_ERR_UNKNOWN);
    EXPECT_EQ(class_of(MPI_Error_string(-1, text, &length)), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Error_string(MPI_ERR_UNKNOWN, text, &length), MPI_SUCCESS);
}

TEST_F(ErrorTest, OutcomesAreReported) {
    EXPECT_EQ(report({}), MPI_SUCCESS);
    int code = report(failure(MPI_ERR_COUNT, "count is %d%%", 100));
    EXPECT_EQ(text_of(code), "MPI_ERR_COUNT: count is 100%");
}

TEST_F(ErrorTest, ProgramsAddErrors) {
    int error_class, code, *last = nullptr, flag = 0;
    ASSERT_EQ(MPI_Add_error_class(&error_class), MPI_SUCCESS);
    EXPECT_GT(error_class, MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    ASSERT_TRUE(flag);
    EXPECT_EQ(*last, error_class);
    ASSERT_EQ(MPI_Add_error_code(error_class, &code), MPI_SUCCESS);
    EXPECT_EQ(*last, code);
    EXPECT_EQ(class_of(code), error_class);
    EXPECT_EQ(class_of(error_class), error_class);
    EXPECT_EQ(text_of(code), "");
    MPI_Add_error_string(code, "a code of mine");
    EXPECT_EQ(text_of(code), "a code of mine");
    // What depends on something goes before it.
    EXPECT_EQ(class_of(MPI_Remove_error_code(code)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(MPI_Remove_error_class(error_class)), MPI_ERR_OTHER);
    EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Remove_error_class(code)), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
    EXPECT_EQ(MPI_Remove_error_class(error_class), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Remove_error_class(error_class)), MPI_ERR_ARG);
}

TEST_F(ErrorTest, PredefinedErrorsStay) {
    int code;
    EXPECT_EQ(class_of(MPI_Add_error_string(MPI_ERR_TAG, "other")), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Remove_error_class(MPI_ERR_TAG)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Add_error_code(-1, &code)), MPI_ERR_ARG);
    ASSERT_EQ(MPI_Add_error_code(MPI_ERR_TAG, &code), MPI_SUCCESS);
    EXPECT_EQ(class_of(code), MPI_ERR_TAG);
    EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
}

} // namespace
} // namespace volley
