// SPDX-License-Identifier: BSD-3-Clause
#include "elements.h"

namespace volley {
namespace {

/// One unit (all pieces once) of a type that is not basic.
Extents unit_of(const Datatype &datatype) {
    Extents unit = datatype.extents();
    Count repetitions = datatype.repetitions();
    if (repetitions > 1) {
        unit.size /= repetitions;
        unit.elements /= repetitions;
    }
    return unit;
}

/// Walks down to where `measure` (bytes or elements) of the first elements of one type end, and calls
/// `pass(type, how_many)` for all whole types passed on the way. What remains at a basic type is returned.
template <class Pass> Count descend(const Datatype &datatype, Count left, Count Extents::*measure, const Pass &pass) {
    const Datatype *type = &datatype;
    while (left > 0 && type->pieces() != 0) {
        if (left == type->extents().*measure) {
            pass(*type, 1);
            return 0;
        }
        // Whole units before the end: their pieces, passed as often.
        Count unit = unit_of(*type).*measure;
        Count units = left / unit;
        left %= unit;
        if (units > 0) pass.units(*type, units);
        const Datatype *next = nullptr;
        for (Count i = 0, pieces = type->pieces(); i < pieces && left > 0; ++i) {
            Piece piece = type->piece(i);
            Count one = piece.type->extents().*measure;
            if (one == 0 || piece.length == 0) continue;
            Count whole = left / one < piece.length ? left / one : piece.length;
            if (whole > 0) pass(*piece.type, whole);
            left -= whole * one;
            if (whole < piece.length) {
                next = piece.type;
                break;
            }
        }
        if (next == nullptr) return left;
        type = next;
    }
    if (left > 0 && left == type->extents().*measure) {
        pass(*type, 1);
        left = 0;
    }
    return left;
}

/// Adds up another measure of all that is passed.
struct SumOf {
    Count Extents::*measure;
    Count *sum;

    void operator()(const Datatype &type, Count how_many) const {
        *sum += how_many * (type.extents().*measure);
    }

    void units(const Datatype &type, Count how_many) const {
        *sum += how_many * (unit_of(type).*measure);
    }
};

struct SignatureOf {
    Signature *signature;

    void operator()(const Datatype &type, Count how_many) const {
        *signature = signature::concatenate(*signature, signature::repeat(type.extents().signature, how_many));
    }

    void units(const Datatype &type, Count how_many) const {
        Signature unit;
        for (Count i = 0, pieces = type.pieces(); i < pieces; ++i) {
            Piece piece = type.piece(i);
            unit = signature::concatenate(unit, signature::repeat(piece.type->extents().signature, piece.length));
        }
        *signature = signature::concatenate(*signature, signature::repeat(unit, how_many));
    }
};

} // namespace

Count count_in_bytes(Count bytes, const Datatype &datatype) {
    if (datatype.size() == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
    return bytes % datatype.size() == 0 ? bytes / datatype.size() : MPI_UNDEFINED;
}

Count elements_in_bytes(Count bytes, const Datatype &datatype) {
    if (datatype.size() == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
    Count elements = bytes / datatype.size() * datatype.extents().elements;
    Count left = descend(datatype, bytes % datatype.size(), &Extents::size, SumOf{&Extents::elements, &elements});
    return left == 0 ? elements : MPI_UNDEFINED;
}

Outcome bytes_of_elements(Count elements, const Datatype &datatype, Count &bytes) {
    if (elements < 0)
        return failure(MPI_ERR_COUNT, "the number of elements is %lld, but must not be negative",
                       static_cast<long long>(elements));
    Count per_type = datatype.extents().elements;
    if (per_type == 0) {
        if (elements > 0)
            return failure(MPI_ERR_ARG, "the number of elements is %lld, but the datatype is empty",
                           static_cast<long long>(elements));
        bytes = 0;
        return {};
    }
    Count rest = 0;
    descend(datatype, elements % per_type, &Extents::elements, SumOf{&Extents::size, &rest});
    Checked sum = Checked(elements / per_type) * datatype.size() + rest;
    if (sum.overflow())
        return failure(MPI_ERR_COUNT, "%lld elements are more than 2^63 - 1 bytes", static_cast<long long>(elements));
    bytes = sum.value();
    return {};
}

Outcome signature_of(Count count, const Datatype &datatype, Signature &signature) {
    if ((Checked(count) * datatype.extents().elements).overflow())
        return failure(MPI_ERR_COUNT, "a message of %lld datatypes has more than 2^63 - 1 elements",
                       static_cast<long long>(count));
    signature = signature::repeat(datatype.extents().signature, count);
    return {};
}

Signature signature_of_elements(Count elements, const Datatype &datatype) {
    Count per_type = datatype.extents().elements;
    if (per_type == 0) return {};
    Signature result = signature::repeat(datatype.extents().signature, elements / per_type);
    descend(datatype, elements % per_type, &Extents::elements, SignatureOf{&result});
    return result;
}

bool is_packed(const Signature &signature) {
    constexpr Signature packed = signature::element(BasicType{BasicKind::packed, 1, 1, 1}.signature_code());
    return signature.elements > 0 && signature == signature::repeat(packed, signature.elements);
}

bool signature_fits(const Signature &sent, const Datatype &datatype) {
    if (sent.elements == 0 || is_packed(sent) || is_packed(datatype.extents().signature)) return true;
    return sent == signature_of_elements(sent.elements, datatype);
}

void for_each_element(const Datatype &datatype, std::uintptr_t buffer, Count count, ElementVisitor visit) {
    Count extent = datatype.extent();
    Count pieces = datatype.pieces();
    if (pieces == 0) {
        if (count > 0) visit(datatype.basic(), buffer, count, extent);
        return;
    }
    if (datatype.extents().elements == 0) return;
    for (Count element = 0; element < count; ++element) {
        std::uintptr_t unit = buffer + static_cast<std::uintptr_t>(element * extent);
        for (Count repetition = 0, last = datatype.repetitions(); repetition < last; ++repetition) {
            for (Count i = 0; i < pieces; ++i) {
                Piece piece = datatype.piece(i);
                for_each_element(*piece.type, unit + static_cast<std::uintptr_t>(piece.displacement), piece.length,
                                 visit);
            }
            unit += static_cast<std::uintptr_t>(datatype.repetition_stride());
        }
    }
}

} // namespace volley
