// SPDX-License-Identifier: BSD-3-Clause
#include "core/attribute.h"

#include "core/test_job.h"

#include <climits>
#include <string>

namespace volley {
namespace {

std::string log; ///< what callbacks saw

char *message(void *value) {
    return static_cast<char *>(value);
}

int log_deletion(MPI_Comm, int, void *value, void *extra_state) {
    log += *message(value);
    if (extra_state != nullptr) log += *message(extra_state);
    return MPI_SUCCESS;
}

int log_type_deletion(MPI_Datatype, int, void *value, void *) {
    log += *message(value);
    return MPI_SUCCESS;
}

int copy_next(MPI_Comm, int, void *, void *value, void *copied, int *flag) {
    *static_cast<void **>(copied) = message(value) + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

class AttributeTest : public TestJob {
  protected:
    void SetUp() override {
        TestJob::SetUp();
        log.clear();
        communicator = Communicator::make_unsettled(Group::self(), nullptr);
        communicator->errhandler = &Errhandler::errors_return();
        handle = communicator->handle();
    }
    void TearDown() override {
        Communicator::release(*communicator);
    }

    static int key(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove = log_deletion) {
        int keyval;
        MPI_Comm_create_keyval(copy, remove, &keyval, nullptr);
        return keyval;
    }

    char letters[8] = "abcdefg";
    Communicator *communicator = nullptr;
    MPI_Comm handle = MPI_COMM_NULL;
};

TEST_F(AttributeTest, PredefinedOnes) {
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    ASSERT_TRUE(flag);
    EXPECT_EQ(*value, INT_MAX);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    ASSERT_TRUE(flag);
    EXPECT_EQ(*value, ranks);
    EXPECT_EQ(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, letters)), MPI_ERR_KEYVAL);
    EXPECT_EQ(class_of(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB)), MPI_ERR_KEYVAL);
}

TEST_F(AttributeTest, SetGetDelete) {
    int keyval = key(MPI_COMM_NULL_COPY_FN), flag = 1;
    char *value = letters + 6;
    EXPECT_EQ(MPI_Comm_get_attr(handle, keyval, &value, &flag), MPI_SUCCESS);
    EXPECT_FALSE(flag);
    EXPECT_EQ(value, letters + 6);
    MPI_Comm_set_attr(handle, keyval, letters);
    MPI_Comm_get_attr(handle, keyval, &value, &flag);
    EXPECT_TRUE(flag);
    EXPECT_EQ(value, letters);
    MPI_Comm_set_attr(handle, keyval, letters + 1); // deletes the old one first
    EXPECT_EQ(log, "a");
    EXPECT_EQ(MPI_Comm_delete_attr(handle, keyval), MPI_SUCCESS);
    EXPECT_EQ(log, "ab");
    EXPECT_EQ(class_of(MPI_Comm_delete_attr(handle, keyval)), MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&keyval);
    EXPECT_EQ(keyval, MPI_KEYVAL_INVALID);
    EXPECT_EQ(class_of(MPI_Comm_get_attr(handle, keyval, &value, &flag)), MPI_ERR_KEYVAL);
}

TEST_F(AttributeTest, DeletedInReverseOrder) {
    int first = key(MPI_COMM_NULL_COPY_FN), second = key(MPI_COMM_NULL_COPY_FN);
    MPI_Comm_set_attr(handle, first, letters);
    MPI_Comm_set_attr(handle, second, letters + 1);
    // A freed key lives on for the attributes under it.
    MPI_Comm_free_keyval(&first);
    MPI_Comm_free_keyval(&second);
    EXPECT_EQ(log, "");
    EXPECT_EQ(delete_attributes(*communicator), MPI_SUCCESS);
    EXPECT_EQ(log, "ba");
}

/// MPI 5.0, section 7.7.2: a key goes when the last attribute under it has gone, whoever still has its number.
TEST_F(AttributeTest, FreedKeyServesTheAttributesThereAre) {
    int keyval = key(MPI_COMM_DUP_FN), handle_of_key = keyval, flag = 0;
    char *value = nullptr;
    MPI_Comm_set_attr(handle, keyval, letters);
    MPI_Comm_free_keyval(&handle_of_key);
    EXPECT_EQ(MPI_Comm_get_attr(handle, keyval, &value, &flag), MPI_SUCCESS);
    EXPECT_TRUE(flag && value == letters);
    EXPECT_EQ(class_of(MPI_Comm_set_attr(handle, keyval, letters + 1)), MPI_ERR_KEYVAL);
    handle_of_key = keyval;
    EXPECT_EQ(class_of(MPI_Comm_free_keyval(&handle_of_key)), MPI_ERR_KEYVAL);
    Communicator *copy = Communicator::make_unsettled(Group::self(), nullptr);
    ASSERT_EQ(copy_attributes(*communicator, *copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_delete_attr(handle, keyval), MPI_SUCCESS);
    EXPECT_EQ(log, "a");
    EXPECT_EQ(MPI_Comm_get_attr(handle, keyval, &value, &flag), MPI_SUCCESS);
    EXPECT_FALSE(flag);
    EXPECT_EQ(MPI_Comm_delete_attr(copy->handle(), keyval), MPI_SUCCESS);
    EXPECT_EQ(log, "aa");
    EXPECT_EQ(class_of(MPI_Comm_get_attr(handle, keyval, &value, &flag)), MPI_ERR_KEYVAL);
    Communicator::release(*copy);
}

TEST_F(AttributeTest, FreedKeyServesDatatypes) {
    int keyval, handle_of_key, flag = 0;
    char *value = nullptr;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, log_type_deletion, &keyval, nullptr);
    handle_of_key = keyval;
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, keyval, letters);
    MPI_Type_free_keyval(&handle_of_key);
    EXPECT_EQ(MPI_Type_get_attr(type, keyval, &value, &flag), MPI_SUCCESS);
    EXPECT_TRUE(flag && value == letters);
    EXPECT_EQ(MPI_Type_delete_attr(type, keyval), MPI_SUCCESS);
    EXPECT_EQ(log, "a");
    EXPECT_EQ(class_of(MPI_Type_get_attr(type, keyval, &value, &flag)), MPI_ERR_KEYVAL);
    MPI_Type_free(&type);
}

TEST_F(AttributeTest, CopyingAsksEachKey) {
    int null = key(MPI_COMM_NULL_COPY_FN), dup = key(MPI_COMM_DUP_FN), next = key(copy_next);
    MPI_Comm_set_attr(handle, null, letters);
    MPI_Comm_set_attr(handle, dup, letters + 1);
    MPI_Comm_set_attr(handle, next, letters + 2);
    Communicator *copy = Communicator::make_unsettled(Group::self(), nullptr);
    ASSERT_EQ(copy_attributes(*communicator, *copy), MPI_SUCCESS);
    char *value;
    int flag;
    MPI_Comm_get_attr(copy->handle(), null, &value, &flag);
    EXPECT_FALSE(flag);
    MPI_Comm_get_attr(copy->handle(), dup, &value, &flag);
    EXPECT_TRUE(flag && value == letters + 1);
    MPI_Comm_get_attr(copy->handle(), next, &value, &flag);
    EXPECT_TRUE(flag && value == letters + 3);
    // One that goes without having been freed, as its making failed, has its attributes deleted too.
    Communicator::release(*copy);
    EXPECT_EQ(log, "db");
    delete_attributes(*communicator);
}

TEST_F(AttributeTest, CallbacksMayFail) {
    int fails = key([](MPI_Comm, int, void *, void *, void *, int *) -> int { return MPI_ERR_OTHER; },
                    [](MPI_Comm, int, void *, void *) -> int { return MPI_ERR_OTHER; });
    int fine = key(MPI_COMM_DUP_FN);
    MPI_Comm_set_attr(handle, fine, letters);
    MPI_Comm_set_attr(handle, fails, letters + 1);
    Communicator *copy = Communicator::make_unsettled(Group::self(), nullptr);
    EXPECT_EQ(copy_attributes(*communicator, *copy), MPI_ERR_OTHER);
    Communicator::release(*copy);
    log.clear();
    EXPECT_EQ(class_of(MPI_Comm_delete_attr(handle, fails)), MPI_ERR_OTHER);
    int flag;
    char *value;
    MPI_Comm_get_attr(handle, fails, &value, &flag);
    EXPECT_TRUE(flag);
    EXPECT_EQ(delete_attributes(*communicator), MPI_ERR_OTHER);
    EXPECT_EQ(log, "a");
    EXPECT_EQ(delete_attributes(*communicator), MPI_SUCCESS);
}

TEST_F(AttributeTest, DatatypesHaveTheirOwnKeys) {
    int keyval, other = key(MPI_COMM_NULL_COPY_FN), flag;
    char *value;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, log_type_deletion, &keyval, nullptr);
    EXPECT_EQ(class_of(MPI_Type_get_attr(MPI_INT, other, &value, &flag)), MPI_ERR_KEYVAL);
    MPI_Datatype type, copy;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, keyval, letters);
    MPI_Type_dup(type, &copy);
    MPI_Type_get_attr(copy, keyval, &value, &flag);
    EXPECT_TRUE(flag && value == letters);
    MPI_Type_free(&copy);
    EXPECT_EQ(log, "a");
    MPI_Type_free(&type);
    EXPECT_EQ(log, "aa");
}

} // namespace
} // namespace volley
