// SPDX-License-Identifier: BSD-3-Clause
#include "core/matching.h"

#include "core/introspection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <unordered_set>
#include <vector>

namespace volley {
namespace {

constexpr std::uint32_t context = 4711;

bool fits(int source, int tag, int message_source, int message_tag) {
    return (source == MPI_ANY_SOURCE || source == message_source) && (tag == MPI_ANY_TAG || tag == message_tag);
}

/// The queues as the standard tells of them.
struct Model {
    std::list<Receive *> receives;
    std::list<Unexpected *> messages;

    std::list<Receive *>::iterator receive_for(int source, int tag) {
        return std::ranges::find_if(receives, [&](auto *one) { return fits(one->source, one->tag, source, tag); });
    }
    Unexpected *message_for(int source, int tag) {
        auto found =
            std::ranges::find_if(messages, [&](auto *one) { return fits(source, tag, one->source, one->tag); });
        return found == messages.end() ? nullptr : *found;
    }
};

/// What a random program does.
struct Habits {
    int sources, tags;
    double wildcards; ///< how probable each of the two is in a receive
    int longest;      ///< the queues grow to this length and shrink to nothing, in turn
};

class Comparison {
  public:
    Comparison(unsigned seed, const Habits &habits) : random_(seed), habits_(habits) {}
    Comparison(const Comparison &) = delete;
    ~Comparison() {
        for (Receive *receive : model_.receives) delete receive;
        for (Unexpected *message : model_.messages) delete message;
    }

    void run(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFatalFailure(); i++) {
            if (model_.receives.size() + model_.messages.size() >= static_cast<std::size_t>(habits_.longest))
                grows_ = false;
            if (model_.receives.empty() && model_.messages.empty()) {
                grows_ = true;
                EXPECT_EQ(queues_.index_capacity(), 0u);
            }
            one_operation();
        }
    }

  private:
    void one_operation() {
        switch (const bool adds = chance(grows_ ? 0.7 : 0.3); below(4)) {
        case 0:
            return adds ? post() : take();
        case 1:
            return adds ? arrive() : receive();
        case 2:
            return chance(0.2) ? unpost() : adds ? post() : take();
        default:
            return chance(0.2) ? remove() : adds ? arrive() : receive();
        }
    }

    void post() {
        auto *receive = new Receive;
        receive->source = chance(habits_.wildcards) ? MPI_ANY_SOURCE : below(habits_.sources);
        receive->tag = chance(habits_.wildcards) ? MPI_ANY_TAG : below(habits_.tags);
        queues_.post(*receive);
        model_.receives.push_back(receive);
    }

    /// A message comes: for a receive, which gets it unless it turns out to be cancelled.
    void take() {
        const int source = below(habits_.sources), tag = below(habits_.tags);
        auto expected = model_.receive_for(source, tag);
        Receive *taken = queues_.take_posted(source, tag);
        ASSERT_EQ(taken, expected == model_.receives.end() ? nullptr : *expected);
        if (!taken) return;
        ASSERT_FALSE(taken->posted);
        if (chance(0.2)) {
            queues_.post_again(*taken);
            ASSERT_TRUE(taken->posted);
            return;
        }
        model_.receives.erase(expected);
        delete taken;
    }

    void unpost() {
        if (model_.receives.empty()) return;
        auto victim = std::next(model_.receives.begin(), below(static_cast<int>(model_.receives.size())));
        queues_.unpost(**victim);
        delete *victim;
        model_.receives.erase(victim);
    }

    void arrive() {
        auto *message = new Unexpected;
        message->source = below(habits_.sources);
        message->tag = below(habits_.tags);
        queues_.add(*message);
        model_.messages.push_back(message);
    }

    /// A receive, or a probe, which leaves the message where it is.
    void receive() {
        const int source = chance(habits_.wildcards) ? MPI_ANY_SOURCE : below(habits_.sources);
        const int tag = chance(habits_.wildcards) ? MPI_ANY_TAG : below(habits_.tags);
        Unexpected *found = queues_.find(source, tag);
        ASSERT_EQ(found, model_.message_for(source, tag));
        if (found && !chance(0.2)) drop(std::ranges::find(model_.messages, found));
    }

    /// A message is found to be cancelled: any of them.
    void remove() {
        if (model_.messages.empty()) return;
        drop(std::next(model_.messages.begin(), below(static_cast<int>(model_.messages.size()))));
    }

    void drop(std::list<Unexpected *>::iterator message) {
        queues_.remove(**message);
        delete *message;
        model_.messages.erase(message);
        Unexpected *walked = queues_.arrivals.first();
        for (Unexpected *one : model_.messages) {
            ASSERT_EQ(walked, one);
            walked = walked->all.next;
            if (chance(0.1)) return; // the others another time
        }
    }

    int below(int end) {
        return std::uniform_int_distribution(0, end - 1)(random_);
    }
    bool chance(double probability) {
        return std::bernoulli_distribution(probability)(random_);
    }

    std::mt19937 random_;
    Habits habits_;
    Model model_;
    MatchQueues queues_{context};
    bool grows_ = true;
};

class MatchingComparison : public testing::TestWithParam<Habits> {};

TEST_P(MatchingComparison, IsWhatTheStandardSays) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Comparison(seed, GetParam()).run(100000);
}

INSTANTIATE_TEST_SUITE_P(Programs, MatchingComparison,
                         testing::Values(Habits{3, 4, 0.3, 12},          // about as long as a walk
                                         Habits{3, 4, 0.3, 40},          // short and long in turn
                                         Habits{30, 40, 0, 500},         // without wildcards
                                         Habits{30, 40, 0.1, 500},       //
                                         Habits{100000, 3, 0.5, 500},    // sources beyond any vector
                                         Habits{2, 2000000000, 0.2, 300} // tags that never match
                                         ),
                         [](const auto &program) { return "Program" + std::to_string(program.index); });

// Cost, in steps.

/// Steps of the searches in both queues since it was made.
class Steps {
  public:
    std::uint64_t all() const {
        return read() - before_;
    }
    std::uint64_t searches() const {
        return introspection.page().posted.searches + introspection.page().unexpected.searches - searches_before_;
    }

  private:
    static std::uint64_t read() {
        return introspection.page().posted.steps + introspection.page().unexpected.steps;
    }
    std::uint64_t before_ = read();
    std::uint64_t searches_before_ = introspection.page().posted.searches + introspection.page().unexpected.searches;
};

/// Keys in patterns that programs have, and how they are found again.
struct Pattern {
    const char *name;
    int sources, tags;
    int source_stride, tag_stride;
};

constexpr Pattern patterns[] = {{"OneSource", 1, 1000, 1, 1},
                                {"OneTag", 1000, 1, 1, 1},
                                {"Grid", 100, 100, 1, 1},
                                {"PowersOfTwo", 128, 128, 1 << 8, 1 << 16},
                                {"ManySources", 10000, 10, 1, 1}};

constexpr std::size_t entries = 20000;

class MatchingCost : public testing::TestWithParam<Pattern> {
  protected:
    static int source_of(std::size_t entry) {
        return static_cast<int>(entry) % GetParam().sources * GetParam().source_stride;
    }
    static int tag_of(std::size_t entry) {
        return static_cast<int>(entry) / GetParam().sources % GetParam().tags * GetParam().tag_stride;
    }

    MatchQueues queues{context};
};

INSTANTIATE_TEST_SUITE_P(Keys, MatchingCost, testing::ValuesIn(patterns),
                         [](const auto &pattern) { return pattern.param.name; });

/// Of hash tables half full at most, on average; a bad hash needs hundreds.
constexpr std::uint64_t most_steps_a_key = 4;

TEST_P(MatchingCost, OfMessagesInReverseIsConstant) {
    std::vector<Unexpected> messages(entries);
    for (std::size_t i = 0; i < entries; i++) {
        messages[i].source = source_of(i);
        messages[i].tag = tag_of(i);
        queues.add(messages[i]);
    }
    const Steps steps;
    for (std::size_t i = entries; i-- > 0;) {
        const int source = i % 3 == 1 ? MPI_ANY_SOURCE : source_of(i), tag = i % 3 == 2 ? MPI_ANY_TAG : tag_of(i);
        Unexpected *found = queues.find(source, tag);
        if (found) queues.remove(*found); // one with wildcards may have taken it
    }
    EXPECT_LE(steps.all(), most_steps_a_key * entries);
    EXPECT_LE(steps.searches(), entries);
}

TEST_P(MatchingCost, OfReceivesInReverseIsConstant) {
    std::vector<Receive> receives(entries);
    for (std::size_t i = 0; i < entries; i++) {
        receives[i].source = i % 7 == 1 ? MPI_ANY_SOURCE : source_of(i);
        receives[i].tag = i % 7 == 2 ? MPI_ANY_TAG : tag_of(i);
        queues.post(receives[i]);
    }
    const Steps steps;
    for (std::size_t i = entries; i-- > 0;) {
        Receive *taken = queues.take_posted(source_of(i), tag_of(i));
        if (!taken || i % 2 == 0) continue;
        queues.post_again(*taken);
        ASSERT_EQ(queues.take_posted(source_of(i), tag_of(i)), taken);
    }
    constexpr std::uint64_t kinds = 4, takes = entries + entries / 2;
    EXPECT_LE(steps.all(), kinds * most_steps_a_key * takes);
    EXPECT_LE(steps.searches(), takes);
}

TEST(Matching, InOrderNothingIsSearchedAndNothingIsBuilt) {
    MatchQueues queues(context);
    std::vector<Unexpected> messages(1000);
    std::vector<Receive> receives(1000);
    const Steps steps;
    for (int i = 0; i < 1000; i++) {
        auto at = static_cast<std::size_t>(i);
        messages[at].source = receives[at].source = i % 7;
        messages[at].tag = receives[at].tag = i;
        queues.add(messages[at]);
        queues.post(receives[at]);
    }
    for (int i = 0; i < 1000; i++) {
        queues.remove(*queues.find(i % 7, i));
        EXPECT_EQ(queues.take_posted(i % 7, i), &receives[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(steps.searches(), 0u);
    EXPECT_EQ(queues.index_capacity(), 0u);
}

/// A receive that is never matched, and others that come and go behind it: the index must go with them.
TEST(Matching, MemoryGoesWithTheQueue) {
    MatchQueues queues(context);
    Receive rest;
    rest.source = MPI_ANY_SOURCE;
    rest.tag = 1000000;
    queues.post(rest);
    std::vector<Receive> receives(entries);
    for (std::size_t i = 0; i < entries; i++) {
        receives[i].source = static_cast<int>(i);
        receives[i].tag = 0;
        queues.post(receives[i]);
    }
    for (int i = static_cast<int>(entries); i-- > 0;) {
        ASSERT_NE(queues.take_posted(i, 0), nullptr);
        auto waiting = static_cast<std::size_t>(i) + 1;
        ASSERT_LE(queues.index_capacity(), std::max<std::size_t>(64, 8 * waiting)) << waiting;
    }
    EXPECT_EQ(queues.index_capacity(), 0u);
    queues.unpost(rest);
}

TEST(Matching, LengthsAndTheirHighWaterMarksAreTold) {
    MatchQueues queues(context), others(context + 2);
    const QueueStatistics &posted = introspection.page().posted;
    const std::uint32_t length = posted.length, high_watermark = posted.high_watermark;
    std::vector<Receive> receives(high_watermark + 2);
    for (std::size_t i = 0; i < receives.size(); i++) {
        receives[i].source = receives[i].tag = 1;
        (i % 2 ? queues : others).post(receives[i]);
    }
    EXPECT_EQ(posted.length, length + receives.size());
    for (std::size_t i = 0; i < receives.size(); i++) (i % 2 ? queues : others).unpost(receives[i]);
    EXPECT_EQ(posted.length, length);
    EXPECT_EQ(posted.high_watermark, length + receives.size());
}

} // namespace
} // namespace volley
