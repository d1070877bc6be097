//! NumPy arrays: `.npy` files of one array and `.npz` archives of named ones.

use std::io::{Cursor, Write};

use indexmap::IndexMap;

use super::Problem;
use super::bytes::{Endian, decode, element_count, encode, reversed_axes};
use super::whole::{read_within, unpacked_limit};
use tautomer_tensor::{DType, Nd, Tensor};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// NumPy itself rejects longer headers by default.
const MAX_HEADER: usize = 10_000;

struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads a `.npy` file; complex numbers become pairs of real ones along a new last axis.
///
/// # Errors
/// The file is truncated, of another format, or has an element type that tensors do not support.
pub fn read_npy(bytes: &[u8]) -> Result<Tensor, Problem> {
    let Some((magic, rest)) = bytes.split_first_chunk::<6>() else {
        return Err(Problem::malformed("the file is too short for a header"));
    };
    if magic != MAGIC {
        return Err(Problem::malformed("the file does not start with \\x93NUMPY"));
    }
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [major, minor, ..] if !(1..=3).contains(major) => {
            return Err(Problem::malformed(format!("unknown version {major}.{minor}")));
        }
        _ => return Err(Problem::malformed("the header is truncated")),
    };
    if length > MAX_HEADER {
        return Err(Problem::malformed(format!("a header of {length} bytes")));
    }
    let Some((header, data)) = rest.split_at_checked(length) else {
        return Err(Problem::malformed("the header is truncated"));
    };
    let header = std::str::from_utf8(header)
        .ok()
        .and_then(|text| HeaderParser { rest: text }.header())
        .ok_or_else(|| Problem::malformed("the header is not a dictionary of descr, fortran_order and shape"))?;
    elements(&header, data)
}

fn elements(header: &Header, data: &[u8]) -> Result<Tensor, Problem> {
    let unsupported = || Problem::unsupported(format!("elements of type {:?} are not supported", header.descr));
    let (endian, kind) = match header.descr.split_at_checked(1) {
        Some(("<" | "|" | "=", kind)) => (Endian::Little, kind),
        Some((">", kind)) => (Endian::Big, kind),
        _ => return Err(unsupported()),
    };
    let shape: Vec<usize> = match header.fortran_order {
        true => header.shape.iter().rev().copied().collect(),
        false => header.shape.clone(),
    };
    // Complex numbers become pairs of real ones along a new last axis.
    if let Some(dtype) = complex_part(kind) {
        let shape = [&shape[..], &[2]].concat();
        let tensor = element_count(&shape, dtype.size())
            .and_then(|count| data.get(..count.checked_mul(dtype.size())?))
            .and_then(|data| decode(dtype, &shape, data, endian))
            .ok_or_else(|| cut_short(&header.shape, data.len()))?;
        return Ok(if header.fortran_order {
            reversed_axes(tensor, 1)
        } else {
            tensor
        });
    }
    let dtype = match kind {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        _ => {
            let (letter, width) = kind.split_at_checked(1).ok_or_else(unsupported)?;
            let width: usize = width.parse().map_err(|_| unsupported())?;
            let tensor = match letter {
                "U" => text(&shape, width.checked_mul(4), data, |chars| code_points(chars, endian))?,
                "S" => text(&shape, Some(width), data, |chars| {
                    let end = chars.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
                    String::from_utf8(chars[..end].to_vec()).ok()
                })?,
                _ => return Err(unsupported()),
            };
            return Ok(if header.fortran_order {
                reversed_axes(tensor, 0)
            } else {
                tensor
            });
        }
    };
    let tensor = element_count(&shape, dtype.size())
        .and_then(|count| data.get(..count.checked_mul(dtype.size())?))
        .and_then(|data| decode(dtype, &shape, data, endian))
        .ok_or_else(|| cut_short(&header.shape, data.len()))?;
    Ok(if header.fortran_order {
        reversed_axes(tensor, 0)
    } else {
        tensor
    })
}

/// The type of the real and imaginary parts of complex numbers.
fn complex_part(kind: &str) -> Option<DType> {
    match kind {
        "c8" => Some(DType::F32),
        "c16" => Some(DType::F64),
        _ => None,
    }
}

fn cut_short(shape: &[usize], found: usize) -> Problem {
    Problem::malformed(format!("{found} bytes of data do not fill the shape {shape:?}"))
}

fn text(
    shape: &[usize],
    width: Option<usize>,
    data: &[u8],
    one: impl Fn(&[u8]) -> Option<String>,
) -> Result<Tensor, Problem> {
    let width = width.ok_or_else(|| cut_short(shape, data.len()))?;
    // Zero-width elements would need no data at all, for any shape.
    let count = element_count(shape, width.max(DType::Utf8.size()))
        .filter(|&count| width > 0 && count.checked_mul(width).is_some_and(|n| n <= data.len()))
        .ok_or_else(|| cut_short(shape, data.len()))?;
    let strings: Option<Vec<String>> = data.chunks_exact(width).take(count).map(one).collect();
    strings
        .and_then(|strings| Tensor::new(shape, strings))
        .ok_or_else(|| Problem::malformed("an element is not a valid string"))
}

fn code_points(bytes: &[u8], endian: Endian) -> Option<String> {
    let (chars, _) = bytes.as_chunks();
    let points: Vec<u32> = match endian {
        Endian::Little => chars.iter().map(|&c| u32::from_le_bytes(c)).collect(),
        Endian::Big => chars.iter().map(|&c| u32::from_be_bytes(c)).collect(),
    };
    let end = points.iter().rposition(|&p| p != 0).map_or(0, |i| i + 1);
    points[..end].iter().map(|&p| char::from_u32(p)).collect()
}

/// Parses the Python dictionary of a header; the only nested value is the shape tuple.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl<'a> HeaderParser<'a> {
    fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (string, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(string)
    }

    fn extents(&mut self) -> Option<Vec<usize>> {
        self.eat("(")?;
        let mut shape = Vec::new();
        while self.eat(")").is_none() {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            shape.push(self.rest[..end].parse().ok()?);
            self.rest = self.rest[end..].trim_start_matches('L');
            if self.eat(",").is_none() {
                self.eat(")")?;
                break;
            }
        }
        Some(shape)
    }

    fn header(&mut self) -> Option<Header> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.eat("{")?;
        while self.eat("}").is_none() {
            let key = self.string()?;
            self.eat(":")?;
            match key {
                "descr" => match self.string() {
                    Some(one) => descr = Some(one.to_string()),
                    // A list of fields is kept only for the error message.
                    None if self.rest.starts_with('[') => {
                        descr = Some(self.rest.split(']').next().unwrap_or_default().to_string());
                        fortran_order.get_or_insert(false);
                        shape.get_or_insert_with(Vec::new);
                        break;
                    }
                    None => return None,
                },
                "fortran_order" if self.eat("True").is_some() => fortran_order = Some(true),
                "fortran_order" if self.eat("False").is_some() => fortran_order = Some(false),
                "shape" => shape = Some(self.extents()?),
                _ => return None,
            }
            if self.eat(",").is_none() {
                self.eat("}")?;
                break;
            }
        }
        Some(Header {
            descr: descr?,
            fortran_order: fortran_order?,
            shape: shape?,
        })
    }
}

/// Writes a `.npy` file.
///
/// # Errors
/// NumPy has no bfloat16, and strips trailing NUL characters from strings.
pub fn write_npy(tensor: &Tensor) -> Result<Vec<u8>, Problem> {
    let (descr, data) = match tensor {
        Tensor::Utf8(array) => encode_text(array)?,
        _ => {
            let descr = match tensor.dtype() {
                DType::Bool => "|b1",
                DType::I8 => "|i1",
                DType::U8 => "|u1",
                DType::I16 => "<i2",
                DType::I32 => "<i4",
                DType::I64 => "<i8",
                DType::U16 => "<u2",
                DType::U32 => "<u4",
                DType::U64 => "<u8",
                DType::F16 => "<f2",
                DType::F32 => "<f4",
                DType::F64 => "<f8",
                other => return Err(Problem::unsupported(format!("NumPy files cannot hold {other}"))),
            };
            (descr.to_string(), encode(tensor).unwrap_or_default())
        }
    };
    let extents: String = tensor.shape().iter().map(|d| format!("{d}, ")).collect();
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}",
        extents.trim_end()
    );
    // Magic, version, length and header together are a multiple of 64 bytes; the last byte is a newline.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| Problem::unsupported("too many axes for a NumPy file"))?;
    let mut out = Vec::with_capacity(10 + header.len() + data.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&data);
    Ok(out)
}

fn encode_text(array: &Nd<String>) -> Result<(String, Vec<u8>), Problem> {
    if array.iter().any(|s| s.ends_with('\0')) {
        return Err(Problem::unsupported("NumPy files cannot hold strings that end in NUL"));
    }
    let width = array.iter().map(|s| s.chars().count()).max().unwrap_or(0).max(1);
    let mut data = Vec::new();
    for string in array {
        let padding = std::iter::repeat('\0');
        data.extend(
            string
                .chars()
                .chain(padding)
                .take(width)
                .flat_map(|c| u32::from(c).to_le_bytes()),
        );
    }
    Ok((format!("<U{width}"), data))
}

/// Reads a `.npz` archive; the names are those that NumPy shows.
///
/// # Errors
/// The archive or one of its members is damaged or not supported.
pub fn read_npz(bytes: &[u8]) -> Result<IndexMap<String, Tensor>, Problem> {
    let damaged = |e: &dyn std::fmt::Display| Problem::malformed(e.to_string());
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let mut out = IndexMap::new();
    let limit = unpacked_limit(bytes.len());
    let mut left = limit;
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(|e| damaged(&e))?;
        let name = member.name().map_err(|e| damaged(&e))?.into_owned();
        let Some(name) = name.strip_suffix(".npy").map(String::from) else {
            continue;
        };
        // A size stated in the archive can rule a member out, but a small one is not trusted.
        let size = member.size();
        let contents = match size {
            _ if size > left => Err(std::io::ErrorKind::FileTooLarge.into()),
            _ => read_within(&mut member, left),
        };
        let contents = contents.map_err(|e| match e.kind() {
            std::io::ErrorKind::FileTooLarge => Problem::unsupported(format!(
                "the archive has {} bytes and unpacks to more than {limit}, the limit; unpack it, and read its \
                 arrays from `.npy` files",
                bytes.len()
            )),
            _ => damaged(&e),
        })?;
        left -= contents.len() as u64;
        let tensor = read_npy(&contents).map_err(|e| match e {
            Problem::Malformed(reason) => Problem::Malformed(format!("array {name:?}: {reason}")),
            Problem::Unsupported(reason) => Problem::Unsupported(format!("array {name:?}: {reason}")),
        })?;
        if out.contains_key(&name) {
            return Err(Problem::malformed(format!("two arrays are named {name:?}")));
        }
        out.insert(name, tensor);
    }
    Ok(out)
}

/// Writes a `.npz` archive.
///
/// # Errors
/// A NumPy file cannot hold one of the tensors.
pub fn write_npz(tensors: &IndexMap<String, Tensor>) -> Result<Vec<u8>, Problem> {
    let failed = |e: &dyn std::fmt::Display| Problem::unsupported(e.to_string());
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in tensors {
        let contents = write_npy(tensor)?;
        // A fixed time stamp, so that equal tensors give equal files.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .large_file(contents.len() >= u32::MAX as usize);
        archive
            .start_file(format!("{name}.npy"), options)
            .map_err(|e| failed(&e))?;
        archive.write_all(&contents).map_err(|e| failed(&e))?;
    }
    Ok(archive.finish().map_err(|e| failed(&e))?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use proptest::prelude::*;

    fn header(text: &str) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([1, 0]);
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.bytes());
        out
    }

    fn examples() -> Vec<Tensor> {
        vec![
            Tensor::new(&[2, 3], vec![1.5f32, -0.0, f32::NAN, 3.0, 4.0, 5.0]).unwrap(),
            Tensor::scalar(7u64),
            Tensor::vector(Vec::<i8>::new()),
            Tensor::vector(vec![f16::from_f32(0.1), f16::MAX]),
            Tensor::vector(vec![true, false]),
            Tensor::vector(vec!["a".to_string(), "größer".to_string(), String::new()]),
        ]
    }

    #[test]
    fn round_trip() {
        for tensor in examples() {
            let bytes = write_npy(&tensor).unwrap();
            assert!(read_npy(&bytes).unwrap().same_bits(&tensor), "{tensor:?}");
            for cut in [0, 5, 9, 60, bytes.len().saturating_sub(1)] {
                if cut < bytes.len() && !tensor.is_empty() {
                    assert!(read_npy(&bytes[..cut]).is_err(), "{tensor:?} cut to {cut} bytes");
                }
            }
        }
    }

    #[test]
    fn archives_round_trip_and_are_reproducible() {
        let tensors: IndexMap<String, Tensor> = examples()
            .into_iter()
            .enumerate()
            .map(|(i, t)| (format!("layer/{i}"), t))
            .collect();
        let bytes = write_npz(&tensors).unwrap();
        assert_eq!(bytes, write_npz(&tensors).unwrap());
        let back = read_npz(&bytes).unwrap();
        assert!(back.keys().eq(tensors.keys()));
        assert!(back.values().zip(tensors.values()).all(|(a, b)| a.same_bits(b)));
    }

    #[test]
    fn archives_that_unpack_to_too_much_are_refused() {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        let zeros = vec![0u8; 1 << 20];
        for name in ["a.npy", "b.npy"] {
            archive.start_file(name, options).unwrap();
            let mut head = header("{'descr': '|u1', 'fortran_order': False, 'shape': (157286400,), }\n");
            let end = head.len();
            head.resize(1 << 20, 0);
            archive.write_all(&head).unwrap();
            (1..150).for_each(|_| archive.write_all(&zeros).unwrap());
            archive.write_all(&zeros[..end]).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let refused = read_npz(&bytes).unwrap_err().to_string();
        assert!(refused.contains("unpacks to more than 268435456"), "{refused}");
    }

    #[test]
    fn fortran_order_and_big_endian() {
        let mut bytes = header("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n");
        bytes.extend([1i16, 4, 2, 5, 3, 6].iter().flat_map(|x| x.to_be_bytes()));
        let expected = Tensor::new(&[2, 3], vec![1i16, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(read_npy(&bytes), Ok(expected));
    }

    #[test]
    fn complex_numbers_are_pairs() {
        let mut bytes = header("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 2), }\n");
        bytes.extend(
            [1.0f32, -1.0, 3.0, -3.0, 2.0, -2.0, 4.0, -4.0]
                .iter()
                .flat_map(|x| x.to_le_bytes()),
        );
        let expected = Tensor::new(&[2, 2, 2], vec![1.0f32, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]).unwrap();
        assert_eq!(read_npy(&bytes), Ok(expected));
    }

    #[test]
    fn refusals_say_why() {
        let refused = |text: &str| read_npy(&header(text)).unwrap_err().to_string();
        let long = refused("{'descr': '<f16', 'fortran_order': False, 'shape': ()}");
        assert!(long.contains("<f16"), "{long}");
        let record = refused("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}");
        assert!(record.contains("not supported"), "{record}");
        let huge = refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000, 4000000000)}");
        assert!(huge.contains("do not fill"), "{huge}");
        let nested = format!("{{'descr': {}", "(".repeat(9000));
        assert!(refused(&nested).contains("dictionary"));
        assert!(write_npy(&Tensor::scalar(half::bf16::ONE)).is_err());
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn damaged_files_never_panic(at in 0usize..400, byte: u8, cut in 0usize..400) {
            let mut bytes = write_npy(&examples()[0]).unwrap();
            let (at, cut) = (at % bytes.len(), cut % bytes.len());
            bytes[at] = byte;
            let _ = read_npy(&bytes);
            let _ = read_npy(&bytes[..cut]);
        }

        #[test]
        fn damaged_archives_never_panic(changes in proptest::collection::vec((0usize..600, any::<u8>()), 1..4)) {
            let tensors = IndexMap::from([("x".to_string(), examples()[0].clone())]);
            let mut bytes = write_npz(&tensors).unwrap();
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = read_npz(&bytes);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_npy(&bytes);
            let _ = read_npz(&bytes);
            let mut with_magic = MAGIC.to_vec();
            with_magic.extend(&bytes);
            let _ = read_npy(&with_magic);
        }

        #[test]
        fn random_headers_never_panic(text in "[{}(),:'\" a-zA-Z0-9<>|]{0,80}") {
            let _ = read_npy(&header(&text));
        }
    }
}
