//! Serialization of tensors: element type, shape, and the elements in row-major order.
//!
//! Numbers are written as hexadecimal digits of their little-endian bytes, so that every bit survives formats without
//! NaN, infinities or 64-bit integers.

use half::{bf16, f16};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DType, Element, Tensor};

#[derive(Serialize, Deserialize)]
struct Plain {
    dtype: DType,
    shape: Vec<usize>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    bytes: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    texts: Vec<String>,
}

/// Evaluates `$body` with `$ty` bound to the Rust type of a numeric element type.
macro_rules! with_number {
    ($dtype:expr, $ty:ident => $body:expr, $other:expr) => {
        match $dtype {
            DType::I8 => {
                type $ty = i8;
                $body
            }
            DType::I16 => {
                type $ty = i16;
                $body
            }
            DType::I32 => {
                type $ty = i32;
                $body
            }
            DType::I64 => {
                type $ty = i64;
                $body
            }
            DType::U8 => {
                type $ty = u8;
                $body
            }
            DType::U16 => {
                type $ty = u16;
                $body
            }
            DType::U32 => {
                type $ty = u32;
                $body
            }
            DType::U64 => {
                type $ty = u64;
                $body
            }
            DType::F16 => {
                type $ty = f16;
                $body
            }
            DType::BF16 => {
                type $ty = bf16;
                $body
            }
            DType::F32 => {
                type $ty = f32;
                $body
            }
            DType::F64 => {
                type $ty = f64;
                $body
            }
            _ => $other,
        }
    };
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plain = Plain {
            dtype: self.dtype(),
            shape: self.shape().to_vec(),
            bytes: String::with_capacity(2 * self.bytes()),
            texts: Vec::new(),
        };
        with_number!(
            self.dtype(), T => {
                for x in T::array(self).into_iter().flatten() {
                    push_hex(&mut plain.bytes, &x.to_le_bytes());
                }
            },
            match self {
                Tensor::Bool(a) => a.iter().for_each(|&x| push_hex(&mut plain.bytes, &[u8::from(x)])),
                Tensor::I2(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::I4(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::U2(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::U4(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F4E2M1(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F8E4M3FN(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F8E4M3FNUZ(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F8E5M2(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F8E5M2FNUZ(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::F8E8M0(a) => a.iter().for_each(|x| push_hex(&mut plain.bytes, &[x.to_bits()])),
                Tensor::Utf8(a) => plain.texts = a.iter().cloned().collect(),
                _ => {}
            }
        );
        plain.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
        let plain = Plain::deserialize(deserializer)?;
        let bytes =
            from_hex(&plain.bytes).ok_or_else(|| D::Error::custom("the bytes of a tensor are not hexadecimal"))?;
        let tensor = with_number!(
            plain.dtype, T => {
                let elements = bytes.chunks_exact(size_of::<T>());
                if !elements.remainder().is_empty() {
                    return Err(D::Error::custom("the bytes of a tensor end inside an element"));
                }
                let mut buffer = [0; size_of::<T>()];
                Tensor::new::<T>(&plain.shape, elements.map(|e| {
                    buffer.copy_from_slice(e);
                    T::from_le_bytes(buffer)
                }).collect())
            },
            match plain.dtype {
                DType::Bool => Tensor::new(&plain.shape, bytes.into_iter().map(|b| b != 0).collect()),
                DType::Utf8 => Tensor::new(&plain.shape, plain.texts),
                other => return Err(D::Error::custom(format!("tensors of {other} cannot have values"))),
            }
        );
        tensor.ok_or_else(|| D::Error::custom("the elements of a tensor do not fill its shape"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_survives() {
        let tensors = [
            Tensor::vector(vec![f32::NAN, -0.0, f32::INFINITY, 1.5e-42]),
            Tensor::scalar(i64::MIN),
            Tensor::vector(vec![true, false]),
            Tensor::vector(vec!["a\n".to_owned(), String::new()]),
            Tensor::new::<f16>(&[0, 3], Vec::new()).unwrap(),
            Tensor::vector(vec![bf16::from_f32(3.0)]),
        ];
        for tensor in tensors {
            let text = serde_json::to_string(&tensor).unwrap();
            let back: Tensor = serde_json::from_str(&text).unwrap();
            assert!(tensor.same_bits(&back), "{text}");
        }
    }

    #[test]
    fn broken_data_is_refused() {
        for text in [
            r#"{"dtype": "f32", "shape": [2], "bytes": "00000000"}"#,
            r#"{"dtype": "f32", "shape": [1], "bytes": "000000"}"#,
            r#"{"dtype": "u8", "shape": [1], "bytes": "0g"}"#,
            r#"{"dtype": "binary", "shape": [0]}"#,
        ] {
            assert!(serde_json::from_str::<Tensor>(text).is_err(), "{text}");
        }
    }
}
