// SPDX-License-Identifier: BSD-3-Clause
#include "typemap_model.h"

namespace volley {
namespace {

Held pair_of_ints() {
    return made(make_contiguous, CountForm::classic, 2, predefined(MPI_INT));
}

TEST(Datatype, HandleIsTheAddress) {
    Held type = pair_of_ints();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(type->handle()), reinterpret_cast<std::uintptr_t>(type.get()));
    EXPECT_EQ(Datatype::from_handle(type->handle()), type.get());
    EXPECT_FALSE(type->is_predefined());
}

TEST(Datatype, WrongHandlesAreNoDatatypes) {
    EXPECT_EQ(Datatype::from_handle(MPI_DATATYPE_NULL), nullptr);
    EXPECT_EQ(Datatype::from_handle(nullptr), nullptr);
    for (std::uintptr_t value : {0x101u, 0x204u, 0x400u, 0x608u, 0xfffu, 0x1000u, 0x12345678u})
        EXPECT_EQ(Datatype::from_handle(reinterpret_cast<MPI_Datatype>(value)), nullptr) << std::hex << value;
    Held type = pair_of_ints();
    EXPECT_EQ(Datatype::from_handle(reinterpret_cast<MPI_Datatype>(reinterpret_cast<char *>(type.get()) + 8)), nullptr);
    MPI_Datatype stale = type->handle();
    type = Held();
    EXPECT_EQ(Datatype::from_handle(stale), nullptr);
}

TEST(Datatype, PartsLiveAsLongAsTheWhole) {
    Held inner = pair_of_ints();
    MPI_Datatype handle = inner->handle();
    Held outer = made(make_vector, CountForm::classic, 2, 1, 2, *inner);
    inner = Held();
    EXPECT_NE(Datatype::from_handle(handle), nullptr);
    ASSERT_TRUE(outer->commit().ok());
    outer = Held();
    EXPECT_EQ(Datatype::from_handle(handle), nullptr);
}

TEST(Datatype, ManyAtOnce) {
    std::vector<Held> types;
    for (int i = 0; i < 5000; ++i) types.push_back(made(make_contiguous, CountForm::classic, i, predefined(MPI_INT)));
    for (int i = 0; i < 5000; ++i) {
        Datatype *found = Datatype::from_handle(types[static_cast<std::size_t>(i)]->handle());
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->size(), 4 * i);
    }
}

TEST(Datatype, Names) {
    EXPECT_EQ(predefined(MPI_DOUBLE).name(), "MPI_DOUBLE");
    Held type = pair_of_ints();
    EXPECT_EQ(type->name(), "");
    type->set_name("pair");
    EXPECT_EQ(type->name(), "pair");
    type->set_name(std::string(300, 'x'));
    EXPECT_EQ(type->name(), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));
    type->set_name("");
    EXPECT_EQ(type->name(), "");
}

int released = 0;

TEST(Datatype, AttributesAreReleasedWithTheType) {
    Datatype::set_attribute_release([](Datatype &type) {
        ++released;
        EXPECT_EQ(type.attributes.load(), &released);
    });
    Held with = pair_of_ints(), without = pair_of_ints();
    with->attributes = &released;
    without = Held();
    EXPECT_EQ(released, 0);
    with->retain();
    with->release();
    EXPECT_EQ(released, 0);
    with = Held();
    EXPECT_EQ(released, 1);
    Datatype::set_attribute_release(nullptr);
}

} // namespace
} // namespace volley
