//! Every byte of generated code is decoded by another program.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use super::assembler::*;
use super::table;
use crate::program::{Binary, Shift, Type};

/// The text of one instruction, of which there must be exactly one.
fn text(bytes: &[u8]) -> String {
    let mut decoder = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid() && !decoder.can_decode(), "{bytes:02x?}");
    let mut out = String::new();
    IntelFormatter::new().format(&instruction, &mut out);
    out
}

fn evex(code: Code, length: Length, reg: u8, other: u8, last: Last, under: Under) -> String {
    let mut asm = Assembler::new(Set::Avx512);
    asm.vector(code, length, reg, other, last, under);
    text(&asm.bytes)
}

#[test]
fn registers_and_places_are_encoded() {
    let add = table::binary(Binary::Add, Type::F64);
    let vector = |register| Last::Vector(Vector(register));
    assert_eq!(
        evex(add, Length::Z, 1, 2, vector(3), Under::Every),
        "vaddpd zmm1,zmm2,zmm3"
    );
    assert_eq!(
        evex(add, Length::Z, 17, 26, vector(31), Under::Every),
        "vaddpd zmm17,zmm26,zmm31"
    );
    assert_eq!(
        evex(add, Length::Y, 8, 15, vector(16), Under::Zero(Mask(3))),
        "vaddpd ymm8{k3}{z},ymm15,ymm16"
    );
    let rows = Memory {
        base: General(13),
        index: Some((RCX, 3)),
        displacement: 0,
    };
    let name = "vaddpd zmm1,zmm2,[r13+rcx*8]";
    assert_eq!(evex(add, Length::Z, 1, 2, Last::Memory(rows), Under::Every), name);
    let rows = Memory {
        base: General(12),
        index: Some((RCX, 2)),
        displacement: 256,
    };
    let name = "vaddpd zmm1,zmm2,[r12+rcx*4+100h]";
    assert_eq!(evex(add, Length::Z, 1, 2, Last::Memory(rows), Under::Every), name);
    let constant = Last::Broadcast(Memory::at(RDX, 24));
    assert_eq!(
        evex(add, Length::Z, 1, 2, constant, Under::Every),
        "vaddpd zmm1,zmm2,[rdx+18h]{1to8}"
    );
    let stack = Last::Memory(Memory::at(RSP, 64));
    assert_eq!(
        evex(table::store(8), Length::Z, 9, 0, stack, Under::Every),
        "vmovdqu64 [rsp+40h],zmm9"
    );
    let stack = Last::Memory(Memory::at(General(12), 0));
    assert_eq!(
        evex(table::load(1), Length::X, 9, 0, stack, Under::Zero(Mask(7))),
        "vmovdqu8 xmm9{k7}{z},[r12]"
    );
}

fn plain(code: Code, length: Length) -> String {
    let out = evex(code, length, 1, 2, Last::Vector(Vector(3)), Under::Every);
    out.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn the_table_names_the_instructions() {
    use Type::*;
    let binary = [
        (
            Binary::Add,
            "vaddps vaddpd vpaddb vpaddw vpaddd vpaddq vpaddb vpaddw vpaddd vpaddq",
        ),
        (
            Binary::Sub,
            "vsubps vsubpd vpsubb vpsubw vpsubd vpsubq vpsubb vpsubw vpsubd vpsubq",
        ),
        (
            Binary::Mul,
            "vmulps vmulpd - vpmullw vpmulld vpmullq - vpmullw vpmulld vpmullq",
        ),
        (Binary::Div, "vdivps vdivpd - - - - - - - -"),
        (
            Binary::Min,
            "vminps vminpd vpminsb vpminsw vpminsd vpminsq vpminub vpminuw vpminud vpminuq",
        ),
        (
            Binary::Max,
            "vmaxps vmaxpd vpmaxsb vpmaxsw vpmaxsd vpmaxsq vpmaxub vpmaxuw vpmaxud vpmaxuq",
        ),
        (Binary::Scale, "vscalefps vscalefpd - - - - - - - -"),
        (
            Binary::And,
            "vpandd vpandq vpandd vpandd vpandd vpandq vpandd vpandd vpandd vpandq",
        ),
        (
            Binary::Or,
            "vpord vporq vpord vpord vpord vporq vpord vpord vpord vporq",
        ),
        (
            Binary::Xor,
            "vpxord vpxorq vpxord vpxord vpxord vpxorq vpxord vpxord vpxord vpxorq",
        ),
    ];
    for (op, names) in binary {
        for (&ty, name) in Type::NUMBERS
            .iter()
            .zip(names.split(' '))
            .filter(|(_, name)| *name != "-")
        {
            for length in [Length::X, Length::Y, Length::Z] {
                assert_eq!(plain(table::binary(op, ty), length), name, "{op:?} {ty:?}");
            }
        }
    }
    let of = |codes: Vec<Code>| {
        codes
            .iter()
            .map(|&code| plain(code, Length::Z))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let types = [F32, F64];
    assert_eq!(of(types.map(table::fma_last_added).to_vec()), "vfmadd213ps vfmadd213pd");
    assert_eq!(of(types.map(table::fma_reg_added).to_vec()), "vfmadd231ps vfmadd231pd");
    let blends: Vec<Code> = Type::NUMBERS.iter().map(|&ty| table::blend(ty)).collect();
    let names = "vblendmps vblendmpd vpblendmb vpblendmw vpblendmd vpblendmq vpblendmb vpblendmw vpblendmd vpblendmq";
    assert_eq!(of(blends), names);
}

/// The names of instructions that have a constant, or no second operand.
#[test]
fn other_forms_name_the_instructions() {
    use Type::*;
    let name = |code: Code, other: u8, constant: Option<u8>| {
        let mut asm = Assembler::new(Set::Avx512);
        asm.vector(code, Length::Z, 1, other, Last::Vector(Vector(3)), Under::Every);
        constant.into_iter().for_each(|value| asm.immediate(value));
        text(&asm.bytes)
    };
    assert_eq!(name(table::sqrt(F64), 0, None), "vsqrtpd zmm1,zmm3");
    assert_eq!(name(table::sqrt(F32), 0, None), "vsqrtps zmm1,zmm3");
    assert_eq!(name(table::round(F64), 0, Some(8)), "vrndscalepd zmm1,zmm3,8");
    assert_eq!(name(table::round(F32), 0, Some(9)), "vrndscaleps zmm1,zmm3,9");
    for (ty, text) in [(I8, "b"), (I16, "w"), (I32, "d"), (I64, "q")] {
        assert_eq!(name(table::abs(ty), 0, None), format!("vpabs{text} zmm1,zmm3"));
        assert_eq!(
            name(table::compare(ty), 2, Some(1)),
            format!("vpcmplt{text} k1,zmm2,zmm3")
        );
    }
    for (ty, text) in [(U8, "b"), (U16, "w"), (U32, "d"), (U64, "q")] {
        assert_eq!(
            name(table::compare(ty), 2, Some(2)),
            format!("vpcmpleu{text} k1,zmm2,zmm3")
        );
    }
    assert_eq!(name(table::compare(F64), 2, Some(0x11)), "vcmplt_oqpd k1,zmm2,zmm3");
    assert_eq!(name(table::compare(F32), 2, Some(0x12)), "vcmple_oqps k1,zmm2,zmm3");
    for (how, text) in [
        (Shift::Left, "vpsll"),
        (Shift::Right, "vpsrl"),
        (Shift::Arithmetic, "vpsra"),
    ] {
        for (ty, width) in [(I16, "w"), (U32, "d"), (I64, "q")] {
            let (code, field) = table::shift(how, ty);
            let found = evex_immediate(code, field, 5, 5);
            assert_eq!(found, format!("{text}{width} zmm5,zmm3,5"));
        }
    }
    assert_eq!(name(table::FROM_HALF, 0, None), "vcvtph2ps zmm1,ymm3");
    assert_eq!(name(table::TO_HALF, 0, Some(0)), "vcvtps2ph ymm3,zmm1,0");
    assert_eq!(name(table::MOVE, 0, None), "vmovdqa64 zmm1,zmm3");
}

fn evex_immediate(code: Code, reg: u8, other: u8, constant: u8) -> String {
    let mut asm = Assembler::new(Set::Avx512);
    asm.vector(code, Length::Z, reg, other, Last::Vector(Vector(3)), Under::Every);
    asm.immediate(constant);
    text(&asm.bytes)
}

#[test]
fn conversions_name_the_instructions() {
    use Type::*;
    let rows = [
        (F32, F64, "vcvtps2pd"),
        (F64, F32, "vcvtpd2ps"),
        (I32, F32, "vcvtdq2ps"),
        (I32, F64, "vcvtdq2pd"),
        (U32, F32, "vcvtudq2ps"),
        (U32, F64, "vcvtudq2pd"),
        (I64, F32, "vcvtqq2ps"),
        (I64, F64, "vcvtqq2pd"),
        (U64, F32, "vcvtuqq2ps"),
        (U64, F64, "vcvtuqq2pd"),
        (F32, I32, "vcvttps2dq"),
        (F32, U32, "vcvttps2udq"),
        (F32, I64, "vcvttps2qq"),
        (F32, U64, "vcvttps2uqq"),
        (F64, I32, "vcvttpd2dq"),
        (F64, U32, "vcvttpd2udq"),
        (F64, I64, "vcvttpd2qq"),
        (F64, U64, "vcvttpd2uqq"),
        (I8, I16, "vpmovsxbw"),
        (U8, I32, "vpmovzxbd"),
        (I8, U64, "vpmovsxbq"),
        (I16, I32, "vpmovsxwd"),
        (U16, U64, "vpmovzxwq"),
        (I32, I64, "vpmovsxdq"),
        (U32, I64, "vpmovzxdq"),
        (I16, I8, "vpmovwb"),
        (I32, U8, "vpmovdb"),
        (I64, I8, "vpmovqb"),
        (U32, I16, "vpmovdw"),
        (I64, I16, "vpmovqw"),
        (U64, U32, "vpmovqd"),
    ];
    for (from, to, name) in rows {
        let (code, reverse) = table::convert(from, to).unwrap();
        let found = evex(code, Length::Z, 1, 0, Last::Vector(Vector(3)), Under::Every);
        assert!(found.starts_with(&format!("{name} ")), "{found} is not {name}");
        // Narrow results are last.
        assert_eq!(
            reverse,
            found.ends_with("mm1") && to.is_integer() && from.is_integer(),
            "{found}"
        );
    }
}

#[test]
fn masks_and_moves_name_the_instructions() {
    let mask = |code: Code, long: bool, reg: u8, other: u8, last: u8| {
        let mut asm = Assembler::new(Set::Avx512);
        asm.mask(code, long, reg, other, last);
        text(&asm.bytes)
    };
    assert_eq!(mask(table::MASK_AND, true, 1, 2, 3), "kandq k1,k2,k3");
    assert_eq!(mask(table::MASK_OR, true, 1, 2, 3), "korq k1,k2,k3");
    assert_eq!(mask(table::MASK_XOR, true, 1, 2, 3), "kxorq k1,k2,k3");
    assert_eq!(mask(table::MASK_EQUAL, true, 1, 2, 3), "kxnorq k1,k2,k3");
    assert_eq!(mask(table::MASK_NOT, false, 1, 0, 3), "knotq k1,k3");
    assert_eq!(mask(table::MASK_FROM_GENERAL, false, 7, 0, 0), "kmovq k7,rax");
    assert_eq!(mask(table::GENERAL_FROM_MASK, false, 1, 0, 5), "kmovq rcx,k5");
    for (rows, name) in [(8, "b"), (16, "w"), (32, "d"), (64, "q")] {
        assert_eq!(
            mask(table::mask_test(rows), false, 2, 0, 3),
            format!("kortest{name} k2,k3")
        );
        for (code, text_) in [
            (table::mask_load(rows), format!("kmov{name} k2,[rax+8]")),
            (table::mask_store(rows), format!("kmov{name} [rax+8],k2")),
        ] {
            let mut asm = Assembler::new(Set::Avx512);
            asm.mask_memory(code, Mask(2), Memory::at(RAX, 8));
            assert_eq!(text(&asm.bytes), text_);
        }
    }
    let mut asm = Assembler::new(Set::Avx512);
    let index = Some((General(15), 0));
    asm.mask_memory(
        table::mask_load(8),
        Mask(3),
        Memory {
            base: General(9),
            index,
            displacement: 2,
        },
    );
    assert_eq!(text(&asm.bytes), "kmovb k3,[r9+r15+2]");
    for (size, name) in [(1, "b"), (2, "w"), (4, "d"), (8, "q")] {
        let place = Last::Memory(Memory::at(RDX, 8));
        let found = evex(table::broadcast(size), Length::Z, 1, 0, place, Under::Every);
        assert_eq!(found, format!("vpbroadcast{name} zmm1,[rdx+8]"));
    }
    let place = Last::Memory(Memory::at(RDX, 8));
    assert_eq!(
        evex(table::LOAD_8, Length::X, 1, 0, place, Under::Every),
        "vmovq xmm1,[rdx+8]"
    );
    assert_eq!(
        evex(table::STORE_8, Length::X, 1, 0, place, Under::Every),
        "vmovq [rdx+8],xmm1"
    );
}

#[test]
fn general_instructions_are_encoded() {
    type Write = fn(&mut Assembler);
    let rows: [(Write, &str); 13] = [
        (|asm| asm.load(General(9), Memory::at(RDI, 16)), "mov r9,[rdi+10h]"),
        (|asm| asm.store(Memory::at(RSP, 16), General(10)), "mov [rsp+10h],r10"),
        (|asm| asm.address(RAX, Memory::at(RCX, 32)), "lea rax,[rcx+20h]"),
        (|asm| asm.copy(General(11), RAX), "mov r11,rax"),
        (|asm| asm.constant(General(8), 0x12), "mov r8,12h"),
        (|asm| asm.add(RCX, 32), "add rcx,20h"),
        (|asm| asm.subtract(RAX, RCX), "sub rax,rcx"),
        (|asm| asm.shift_right(RAX, 3), "shr rax,3"),
        (|asm| asm.compare(RCX, RSI), "cmp rcx,rsi"),
        (|asm| asm.push_register(General(12)), "push r12"),
        (|asm| asm.pop_register(RBX), "pop rbx"),
        (|asm| asm.call(RAX), "call rax"),
        (|asm| asm.align_stack(), "and rsp,0FFFFFFFFFFFFFFC0h"),
    ];
    for (write, expected) in rows {
        let mut asm = Assembler::new(Set::Avx512);
        write(&mut asm);
        assert_eq!(text(&asm.bytes), expected);
    }
    let mut asm = Assembler::new(Set::Avx512);
    let start = asm.here();
    asm.jump_to(When::BelowOrEqual, start);
    assert_eq!(text(&asm.bytes), "jbe 0000000000001000h");
}

fn vex(code: Code, length: Length, reg: u8, other: u8, last: Last, constant: Option<u8>) -> String {
    let mut asm = Assembler::new(Set::Avx2);
    asm.vector(code, length, reg, other, last, Under::Every);
    constant.into_iter().for_each(|value| asm.immediate(value));
    text(&asm.bytes)
}

#[test]
fn avx2_has_other_encodings() {
    use Type::*;
    let three = Last::Vector(Vector(3));
    let of = |code, other, constant| vex(code, Length::Y, 1, other, three, constant);
    let rows = Memory {
        base: General(12),
        index: Some((RCX, 2)),
        displacement: 64,
    };
    let add = table::binary(Binary::Add, F64);
    assert_eq!(
        vex(add, Length::Y, 9, 10, Last::Memory(rows), None),
        "vaddpd ymm9,ymm10,[r12+rcx*4+40h]"
    );
    assert_eq!(
        vex(add, Length::X, 9, 10, Last::Vector(Vector(15)), None),
        "vaddpd xmm9,xmm10,xmm15"
    );
    for (code, name) in [
        (table::binary(Binary::Mul, F32), "vmulps"),
        (table::binary(Binary::Xor, F64), "vpxor"),
        (table::binary(Binary::Max, U16), "vpmaxuw"),
        (table::fma_last_added(F32), "vfmadd213ps"),
        (table::fma_reg_added(F64), "vfmadd231pd"),
        (table::equal(I8), "vpcmpeqb"),
        (table::equal(U64), "vpcmpeqq"),
        (table::greater(I16), "vpcmpgtw"),
        (table::greater(I64), "vpcmpgtq"),
        (table::pack(2), "vpackuswb"),
        (table::pack(4), "vpackusdw"),
        (table::LOW_PRODUCT, "vpmuludq"),
        (table::SHUFFLE_BYTES, "vpshufb"),
    ] {
        assert_eq!(of(code, 2, None), format!("{name} ymm1,ymm2,ymm3"));
    }
    for (code, name) in [
        (table::sqrt(F64), "vsqrtpd ymm1,ymm3"),
        (table::abs(I32), "vpabsd ymm1,ymm3"),
        (table::MOVE, "vmovdqa ymm1,ymm3"),
        (table::TO_INTEGER, "vcvtps2dq ymm1,ymm3"),
        (table::WIDEN_32, "vpmovzxdq ymm1,xmm3"),
        (table::widen(2, 8), "vpmovsxwq ymm1,xmm3"),
        (table::FROM_HALF, "vcvtph2ps ymm1,xmm3"),
        (table::signs(1), "vpmovmskb ecx,ymm3"),
        (table::signs(4), "vmovmskps ecx,ymm3"),
        (table::signs(8), "vmovmskpd ecx,ymm3"),
    ] {
        assert_eq!(of(code, 0, None), name);
    }
    for (code, other, constant, name) in [
        (table::round(F64), 0, 9, "vroundpd ymm1,ymm3,9"),
        (table::TO_HALF, 0, 0, "vcvtps2ph xmm3,ymm1,0"),
        (table::compare(F64), 2, 0x11, "vcmplt_oqpd ymm1,ymm2,ymm3"),
        (table::pack(8), 2, 0x88, "vshufps ymm1,ymm2,ymm3,88h"),
        (table::HIGH_HALF, 0, 1, "vextracti128 xmm3,ymm1,1"),
        (table::SHUFFLE, 0, 0xb1, "vpshufd ymm1,ymm3,0B1h"),
        (table::BLEND_32, 2, 0xaa, "vpblendd ymm1,ymm2,ymm3,0AAh"),
        (table::blend_by_vector(F32), 2, 0x40, "vblendvps ymm1,ymm2,ymm3,ymm4"),
        (table::blend_by_vector(F64), 2, 0x40, "vblendvpd ymm1,ymm2,ymm3,ymm4"),
        (table::blend_by_vector(I8), 2, 0x40, "vpblendvb ymm1,ymm2,ymm3,ymm4"),
    ] {
        assert_eq!(of(code, other, Some(constant)), name);
    }
    let (code, field) = table::shift(Shift::Left, U64);
    assert_eq!(vex(code, Length::Y, field, 5, three, Some(7)), "vpsllq ymm5,ymm3,7");
    let place = Last::Memory(Memory::at(RDX, 8));
    for (code, length, name) in [
        (table::load(4), Length::Y, "vmovdqu ymm1,[rdx+8]"),
        (table::store(4), Length::X, "vmovdqu [rdx+8],xmm1"),
        (table::LOAD_4, Length::X, "vmovd xmm1,[rdx+8]"),
        (table::STORE_4, Length::X, "vmovd [rdx+8],xmm1"),
        (table::LOAD_8, Length::X, "vmovq xmm1,[rdx+8]"),
        (table::STORE_8, Length::X, "vmovq [rdx+8],xmm1"),
        (table::broadcast(1), Length::Y, "vpbroadcastb ymm1,[rdx+8]"),
        (table::broadcast(8), Length::Y, "vpbroadcastq ymm1,[rdx+8]"),
    ] {
        assert_eq!(vex(code, length, 1, 0, place, None), name);
    }
    for (code, reg, name) in [
        (table::one_to_integer(F64), 0, "vcvttsd2si rax,[rdx+8]"),
        (table::one_to_integer(F32), 0, "vcvttss2si rax,[rdx+8]"),
    ] {
        let mut asm = Assembler::new(Set::Avx2);
        asm.one_number(code, reg, 0, Memory::at(RDX, 8));
        assert_eq!(text(&asm.bytes), name);
    }
    let mut asm = Assembler::new(Set::Avx2);
    asm.one_number(table::ONE_TO_SINGLE, 14, 14, Memory::at(RDX, 8));
    assert_eq!(text(&asm.bytes), "vcvtsi2ss xmm14,xmm14,qword ptr [rdx+8]");
}

#[test]
fn bits_of_truth_values_are_encoded() {
    type Write = fn(&mut Assembler);
    let rows: [(Write, &str); 7] = [
        (
            |asm| asm.store_low(Memory::at(General(8), 2), General(14), 1),
            "mov [r8+2],r14b",
        ),
        (
            |asm| asm.store_low(Memory::at(RBX, 2), General(14), 2),
            "mov [rbx+2],r14w",
        ),
        (
            |asm| asm.store_low(Memory::at(RBX, 2), General(14), 4),
            "mov [rbx+2],r14d",
        ),
        (|asm| asm.or_low(Memory::at(RBX, 2), General(14)), "or [rbx+2],r14b"),
        (|asm| asm.and(General(14), 15), "and r14,0Fh"),
        (|asm| asm.shift_left(General(14), 4), "shl r14,4"),
        (|asm| asm.test(RAX), "test rax,rax"),
    ];
    for (write, expected) in rows {
        let mut asm = Assembler::new(Set::Avx2);
        write(&mut asm);
        assert_eq!(text(&asm.bytes), expected);
    }
}
