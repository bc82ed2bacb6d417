// SPDX-License-Identifier: BSD-3-Clause
#include "core/info.h"

#include "core/test_job.h"

#include <cstring>
#include <string>

namespace volley {
namespace {

class InfoTest : public TestJob {
  protected:
    void SetUp() override {
        TestJob::SetUp();
        MPI_Info_create(&info);
    }
    void TearDown() override {
        if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    }

    MPI_Info info = MPI_INFO_NULL;
};

TEST_F(InfoTest, KeysKeepTheirOrder) {
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "2");
    MPI_Info_set(info, "one", "uno");
    int keys;
    MPI_Info_get_nkeys(info, &keys);
    EXPECT_EQ(keys, 2);
    char key[MPI_MAX_INFO_KEY];
    MPI_Info_get_nthkey(info, 0, key);
    EXPECT_STREQ(key, "one");
    MPI_Info_get_nthkey(info, 1, key);
    EXPECT_STREQ(key, "two");
    EXPECT_EQ(class_of(MPI_Info_get_nthkey(info, 2, key)), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Info_delete(info, "one"), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Info_delete(info, "one")), MPI_ERR_INFO_NOKEY);
}

TEST_F(InfoTest, ValuesAreCutToTheRoomThereIs) {
    MPI_Info_set(info, "key", "value");
    char value[16];
    int flag, length;
    std::memset(value, '#', sizeof value);
    MPI_Info_get(info, "key", 3, value, &flag);
    EXPECT_TRUE(flag);
    EXPECT_STREQ(value, "val");
    EXPECT_EQ(value[4], '#');

    length = 3; // counts the terminating zero
    MPI_Info_get_string(info, "key", &length, value, &flag);
    EXPECT_TRUE(flag);
    EXPECT_STREQ(value, "va");
    EXPECT_EQ(length, 6);
    length = 0;
    MPI_Info_get_string(info, "key", &length, nullptr, &flag);
    EXPECT_EQ(length, 6);
    MPI_Info_get_string(info, "key", &length, value, &flag);
    EXPECT_STREQ(value, "value");
    MPI_Info_get_valuelen(info, "key", &length, &flag);
    EXPECT_EQ(length, 5);
}

TEST_F(InfoTest, MissingKeysLeaveResultsAlone) {
    char value[8] = "before";
    int flag = 1, length = 8;
    MPI_Info_get_string(info, "nothing", &length, value, &flag);
    EXPECT_FALSE(flag);
    EXPECT_EQ(length, 8);
    EXPECT_STREQ(value, "before");
    flag = 1;
    MPI_Info_get_valuelen(info, "nothing", &length, &flag);
    EXPECT_FALSE(flag);
    EXPECT_EQ(length, 8);
}

TEST_F(InfoTest, LengthsAreLimited) {
    std::string longest_key(MPI_MAX_INFO_KEY - 1, 'k'), longest_value(MPI_MAX_INFO_VAL - 1, 'v');
    EXPECT_EQ(MPI_Info_set(info, longest_key.c_str(), longest_value.c_str()), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Info_set(info, (longest_key + "k").c_str(), "")), MPI_ERR_INFO_KEY);
    EXPECT_EQ(class_of(MPI_Info_set(info, "key", (longest_value + "v").c_str())), MPI_ERR_INFO_VALUE);
    EXPECT_EQ(class_of(MPI_Info_set(info, "", "value")), MPI_ERR_INFO_KEY);
    EXPECT_EQ(class_of(MPI_Info_set(info, nullptr, "value")), MPI_ERR_INFO_KEY);
}

TEST_F(InfoTest, CopiesAreSeparate) {
    MPI_Info_set(info, "key", "value");
    MPI_Info copy;
    MPI_Info_dup(info, &copy);
    MPI_Info_set(info, "other", "");
    int keys;
    MPI_Info_get_nkeys(copy, &keys);
    EXPECT_EQ(keys, 1);
    MPI_Info_free(&copy);
    EXPECT_EQ(copy, MPI_INFO_NULL);
}

TEST_F(InfoTest, WhatIsNoInfoIsTold) {
    int keys;
    MPI_Info stale = info, null = MPI_INFO_NULL, environment = MPI_INFO_ENV;
    MPI_Info_free(&info);
    EXPECT_EQ(class_of(MPI_Info_get_nkeys(stale, &keys)), MPI_ERR_INFO);
    EXPECT_EQ(class_of(MPI_Info_get_nkeys(MPI_INFO_NULL, &keys)), MPI_ERR_INFO);
    EXPECT_EQ(class_of(MPI_Info_free(&null)), MPI_ERR_INFO);
    EXPECT_EQ(class_of(MPI_Info_free(&environment)), MPI_ERR_INFO);
}

TEST_F(InfoTest, EnvironmentDescribesTheProgram) {
    char value[MPI_MAX_INFO_VAL];
    int flag;
    MPI_Info_get(MPI_INFO_ENV, "command", MPI_MAX_INFO_VAL - 1, value, &flag);
    ASSERT_TRUE(flag);
    EXPECT_NE(std::strstr(value, "library_tests"), nullptr) << value;
    MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL - 1, value, &flag);
    ASSERT_TRUE(flag);
    EXPECT_STREQ(value, "8");

    char program[] = "program", first[] = "-a", second[] = "b";
    char *arguments[] = {program, first, second, nullptr};
    MPI_Info made;
    MPI_Info_create_env(3, arguments, &made);
    MPI_Info_get(made, "argv", MPI_MAX_INFO_VAL - 1, value, &flag);
    EXPECT_STREQ(value, "-a b");
    MPI_Info_free(&made);
    MPI_Info_create_env(0, nullptr, &made);
    MPI_Info_get(made, "argv", MPI_MAX_INFO_VAL - 1, value, &flag);
    EXPECT_FALSE(flag);
    MPI_Info_free(&made);
}

TEST_F(InfoTest, CommunicatorsKeepHintsTheyKnow) {
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "mpi_assert_no_any_source", "perhaps");
    MPI_Info_set(info, "colour", "blue");
    MPI_Comm_set_info(MPI_COMM_WORLD, info);
    MPI_Info used;
    ASSERT_EQ(MPI_Comm_get_info(MPI_COMM_WORLD, &used), MPI_SUCCESS);
    const Info &object = *Info::from_handle(used);
    ASSERT_NE(object.find("mpi_assert_no_any_tag"), nullptr);
    EXPECT_EQ(*object.find("mpi_assert_no_any_tag"), "true");
    EXPECT_NE(object.find("mpi_memory_alloc_kinds"), nullptr);
    EXPECT_EQ(object.entries().size(), 2U);
    MPI_Info_free(&used);
}

} // namespace
} // namespace volley
