//! `.pnnx.bin` files: archives of tensors, named by operator and attribute.
//!
//! Members are stored uncompressed, one after the other, and found through their own headers, as PNNX does; the
//! directory at the end of the file is for other programs.

use indexmap::IndexMap;

use tautomer_files::Problem;

const MEMBER: u32 = 0x0403_4b50;
const LISTED: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Marks a number that is stored in the extra field.
const ELSEWHERE: u32 = u32::MAX;
/// Bytes of the last entry, without its trailing comment.
const LAST: usize = 22;
/// The beginning of the comment that identifies the text of the model.
const PARTNER: &str = "tautomer: written with the text ";
/// Bytes of the extra field that PNNX writes.
const EXTRA: u16 = 32;

/// The members of an archive by name; their bytes are borrowed from the input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Archive<'a> {
    members: IndexMap<String, &'a [u8]>,
    comment: &'a [u8],
}

impl<'a> Archive<'a> {
    /// Reads an archive with 32-bit or 64-bit sizes.
    ///
    /// # Errors
    /// The file is truncated, a member is compressed or damaged, or two members have the same name.
    pub fn read(bytes: &'a [u8]) -> Result<Archive<'a>, Problem> {
        let mut cursor = Cursor { bytes, at: 0 };
        let mut members = IndexMap::new();
        while cursor.u32() == Some(MEMBER) {
            let (name, data) = cursor.member()?;
            if members.insert(name.clone(), data).is_some() {
                return Err(Problem::malformed(format!("two members are named {name:?}")));
            }
        }
        let ends = [LISTED, END, END_64];
        let next = bytes
            .get(cursor.at.saturating_sub(4)..)
            .and_then(|rest| rest.first_chunk::<4>());
        if !next.is_some_and(|word| ends.contains(&u32::from_le_bytes(*word))) {
            return Err(Problem::malformed("the archive is truncated"));
        }
        Ok(Archive {
            members,
            comment: comment(bytes).unwrap_or_default(),
        })
    }

    /// True if the archive was written for a different text, according to its comment. An archive without such a
    /// comment was written by another program.
    pub fn belongs_elsewhere(&self, text: &[u8]) -> bool {
        self.comment.starts_with(PARTNER.as_bytes()) && self.comment != partner(text).as_bytes()
    }

    /// The bytes of a member.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.members.get(name).copied()
    }

    /// The members, in the order of the file.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        self.members.iter().map(|(name, bytes)| (name.as_str(), *bytes))
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|b| u16::from_le_bytes(*b))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|b| u32::from_le_bytes(*b))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|b| u64::from_le_bytes(*b))
    }

    /// A member whose signature has been read.
    fn member(&mut self) -> Result<(String, &'a [u8]), Problem> {
        let short = || Problem::malformed("the archive is truncated");
        let header = |cursor: &mut Cursor<'a>| {
            let (_version, flags, method) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
            let (_time, _date) = (cursor.u16()?, cursor.u16()?);
            let (crc, stored, size) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            let (name, extra) = (cursor.u16()?, cursor.u16()?);
            let name = cursor.take(name.into())?;
            Some((flags, method, crc, stored, size, name, cursor.take(extra.into())?))
        };
        let (flags, method, crc, stored, size, name, extra) = header(self).ok_or_else(short)?;
        let name = String::from_utf8(name.to_vec())
            .map_err(|_| Problem::malformed("the name of a member is not UTF-8 text"))?;
        if method != 0 || flags & 1 != 0 {
            return Err(Problem::unsupported(format!(
                "member {name:?} is compressed or encrypted"
            )));
        }
        if flags & 8 != 0 {
            return Err(Problem::unsupported(format!(
                "the size of member {name:?} follows its data, which is unsupported"
            )));
        }
        let size = match (size, stored) {
            (ELSEWHERE, _) | (_, ELSEWHERE) => size_64(extra).ok_or_else(short)?,
            _ => u64::from(stored),
        };
        let data = usize::try_from(size)
            .ok()
            .and_then(|size| self.take(size))
            .ok_or_else(short)?;
        if crc32(data) != crc {
            return Err(Problem::malformed(format!("member {name:?} is damaged")));
        }
        Ok((name, data))
    }
}

/// The comment at the end of an archive.
fn comment(bytes: &[u8]) -> Option<&[u8]> {
    let first = bytes.len().saturating_sub(LAST + usize::from(u16::MAX));
    let starts = (first..bytes.len().checked_sub(LAST)? + 1).rev();
    let mut found = starts.filter(|&at| bytes[at..].starts_with(&END.to_le_bytes()));
    found.find_map(|at| {
        let comment = bytes.get(at + LAST..)?;
        let length = bytes.get(at + LAST - 2..at + LAST)?.first_chunk()?;
        (usize::from(u16::from_le_bytes(*length)) == comment.len()).then_some(comment)
    })
}

/// The comment of an archive that was written for this text.
fn partner(text: &[u8]) -> String {
    format!("{PARTNER}{:08x} {}", crc32(text), text.len())
}

/// The 64-bit size in an extra field.
fn size_64(extra: &[u8]) -> Option<u64> {
    let mut cursor = Cursor { bytes: extra, at: 0 };
    loop {
        let (id, length) = (cursor.u16()?, cursor.u16()?);
        if id == 1 {
            return cursor.u64();
        }
        cursor.take(length.into())?;
    }
}

/// The checksum of ZIP archives.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    (value >> 1) ^ 0xedb8_8320
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let step = |crc: u32, byte: &u8| TABLE[usize::from((crc as u8) ^ byte)] ^ (crc >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

/// Writes an archive, byte for byte as PNNX does.
///
/// # Errors
/// A name is longer than 65535 bytes.
pub fn write_archive(members: &IndexMap<String, Vec<u8>>) -> Result<Vec<u8>, Problem> {
    archive(members, "")
}

/// Writes an archive to accompany this text of a model. A comment at its end, which other programs ignore, identifies
/// the text: if either file is from another model, [`Archive::belongs_elsewhere`] detects it.
///
/// # Errors
/// A name is longer than 65535 bytes.
pub fn write_archive_for(text: &[u8], members: &IndexMap<String, Vec<u8>>) -> Result<Vec<u8>, Problem> {
    archive(members, &partner(text))
}

fn archive(members: &IndexMap<String, Vec<u8>>, comment: &str) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    let mut listed = Vec::new();
    for (name, data) in members {
        let length = u16::try_from(name.len()).map_err(|_| Problem::unsupported("a name of more than 65535 bytes"))?;
        let (offset, size, crc) = (out.len() as u64, data.len() as u64, crc32(data));
        let sizes = |to: &mut Vec<u8>| {
            to.extend([0; 4]); // time and date
            to.extend(crc.to_le_bytes());
            to.extend([0xff; 8]);
            to.extend(length.to_le_bytes());
            to.extend(EXTRA.to_le_bytes());
        };
        let extra = |to: &mut Vec<u8>, offset: u64| {
            to.extend(name.as_bytes());
            to.extend([1, 0, 28, 0]);
            for number in [size, size, offset] {
                to.extend(number.to_le_bytes());
            }
            to.extend([0; 4]); // disk
        };
        out.extend(MEMBER.to_le_bytes());
        out.extend([0; 6]);
        sizes(&mut out);
        extra(&mut out, 0);
        out.extend(data);
        listed.extend(LISTED.to_le_bytes());
        listed.extend([0; 8]);
        sizes(&mut listed);
        listed.extend([0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0]);
        listed.extend([0xff; 4]);
        extra(&mut listed, offset);
    }
    let (offset, count) = (out.len() as u64, members.len() as u64);
    let end = offset + listed.len() as u64;
    out.extend(&listed);
    out.extend(END_64.to_le_bytes());
    out.extend(44u64.to_le_bytes());
    out.extend([0; 12]);
    for number in [count, count, listed.len() as u64, offset] {
        out.extend(number.to_le_bytes());
    }
    out.extend(LOCATOR_64.to_le_bytes());
    out.extend([0; 4]);
    out.extend(end.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend(END.to_le_bytes());
    out.extend([0xff; 16]);
    out.extend((comment.len() as u16).to_le_bytes());
    out.extend(comment.as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor as Bytes, Read as _, Write as _};

    fn members() -> IndexMap<String, Vec<u8>> {
        IndexMap::from([
            ("a.weight".to_owned(), vec![1, 2, 3, 4]),
            ("b.data".to_owned(), Vec::new()),
            ("c.data".to_owned(), (0..=255).collect()),
        ])
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = write_archive(&members()).unwrap();
        let archive = Archive::read(&bytes).unwrap();
        let read: Vec<(&str, &[u8])> = archive.members().collect();
        assert_eq!(read.len(), 3);
        for (name, data) in members() {
            assert_eq!(archive.get(&name), Some(&data[..]));
        }
        assert_eq!(write_archive(&IndexMap::new()).unwrap().len(), 98);
    }

    #[test]
    fn an_archive_knows_its_text() {
        let bytes = write_archive_for(b"7767517\n", &members()).unwrap();
        let archive = Archive::read(&bytes).unwrap();
        assert!(!archive.belongs_elsewhere(b"7767517\n"));
        assert!(archive.belongs_elsewhere(b"7767517") && archive.belongs_elsewhere(b"7767518\n"));
        // An archive of another program does not identify its text.
        let plain = write_archive(&members()).unwrap();
        assert!(!Archive::read(&plain).unwrap().belongs_elsewhere(b"other"));
        let read = zip::ZipArchive::new(Bytes::new(bytes.as_slice())).unwrap();
        assert_eq!((read.len(), read.comment()), (3, archive.comment));
    }

    #[test]
    fn other_programs_read_what_is_written() {
        let bytes = write_archive(&members()).unwrap();
        let mut archive = zip::ZipArchive::new(Bytes::new(bytes)).unwrap();
        let mut data = Vec::new();
        archive.by_name("c.data").unwrap().read_to_end(&mut data).unwrap();
        assert_eq!(data, members()["c.data"]);
    }

    #[test]
    fn archives_with_short_numbers_are_read() {
        let mut writer = zip::ZipWriter::new(Bytes::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for (name, data) in members() {
            writer.start_file(name, options).unwrap();
            writer.write_all(&data).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        let archive = Archive::read(&bytes).unwrap();
        assert_eq!(archive.get("a.weight"), Some(&[1u8, 2, 3, 4][..]));
        assert_eq!(archive.members().count(), 3);
    }

    #[test]
    fn damage_is_found_and_never_panics() {
        let bytes = write_archive(&members()).unwrap();
        let mut damaged = bytes.clone();
        let data = bytes.windows(4).position(|w| w == [1, 2, 3, 4]).unwrap();
        damaged[data] = 9;
        assert!(Archive::read(&damaged).unwrap_err().to_string().contains("a.weight"));
        for end in 0..bytes.len() {
            let _ = Archive::read(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            let mut odd = bytes.clone();
            odd[at] ^= 0xff;
            let _ = Archive::read(&odd);
        }
        assert!(Archive::read(b"").is_err());
        assert!(Archive::read(b"\x93NUMPY").is_err());
    }
}
