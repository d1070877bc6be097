//! What the programs that run models with other runtimes share: reading inputs, measuring, and printing lines of JSON.
//!
//!     peer MODEL --threads N --runs N [--outputs DIRECTORY] NAME=FILE.npy …
//!
//! One line says how long loading and the first run took, one each further run took (`wall_ms`, `cpu_ms`), and the last
//! how much memory was resident before the model was loaded, and at most. Results of the first run are written as
//! `out0.npy` and so on.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The elements of an array, in the types that models have as inputs and results.
#[derive(Debug, Clone)]
pub enum Elements {
    F32(Vec<f32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
}

/// An array with the name of the input that it is for.
#[derive(Debug, Clone)]
pub struct Array {
    pub name: String,
    pub shape: Vec<usize>,
    pub elements: Elements,
}

/// What a program was asked to do.
pub struct Request {
    pub model: PathBuf,
    pub threads: usize,
    pub inputs: Vec<Array>,
    runs: usize,
    outputs: Option<PathBuf>,
}

impl Request {
    /// The request of the command line.
    pub fn read() -> Result<Request> {
        let mut arguments = std::env::args().skip(1);
        let mut request = Request {
            model: PathBuf::new(),
            threads: 1,
            inputs: Vec::new(),
            runs: 1,
            outputs: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` has no value"));
            match argument.as_str() {
                "--threads" => request.threads = value()?.parse()?,
                "--runs" => request.runs = value()?.parse()?,
                "--outputs" => request.outputs = Some(value()?.into()),
                text => match text.split_once('=') {
                    Some((name, file)) => request.inputs.push(read_npy(name, Path::new(file))?),
                    None => request.model = text.into(),
                },
            }
        }
        Ok(request)
    }

    /// Loads a model, runs it, and prints what that took; `arrays` converts the results of a run, which is not measured.
    pub fn measure<M, O>(
        &self,
        load: impl FnOnce(&Request) -> Result<M>,
        mut run: impl FnMut(&mut M) -> Result<O>,
        arrays: impl Fn(&O) -> Result<Vec<Array>>,
    ) -> Result<()> {
        let resident = status("VmRSS:")?;
        let begun = Instant::now();
        let mut model = load(self)?;
        let loaded = begun.elapsed();
        let mut results = run(&mut model)?;
        let first = begun.elapsed() - loaded;
        println!("{{\"load_ms\": {}, \"first_ms\": {}}}", ms(loaded), ms(first));
        if let Some(directory) = &self.outputs {
            std::fs::create_dir_all(directory)?;
            for (i, array) in arrays(&results)?.iter().enumerate() {
                write_npy(array, &directory.join(format!("out{i}.npy")))?;
            }
        }
        // Printing between runs would disturb them.
        let mut lines = String::new();
        for _ in 0..self.runs {
            let (begun, used) = (Instant::now(), processor_time()?);
            results = run(&mut model)?;
            let (wall, cpu) = (begun.elapsed(), processor_time()?.saturating_sub(used));
            writeln!(lines, "{{\"wall_ms\": {}, \"cpu_ms\": {}}}", ms(wall), ms(cpu))?;
        }
        drop(results);
        print!("{lines}");
        println!("{{\"before_kb\": {resident}, \"peak_kb\": {}}}", status("VmHWM:")?);
        Ok(())
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn processor_time() -> Result<Duration> {
    Ok(nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// A number of kilobytes in the status of this process.
fn status(what: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(what));
    Ok(line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no memory in the status")?
        .parse()?)
}

/// Where the header of an `.npy` file ends, and its text.
fn header(bytes: &[u8]) -> Option<(usize, &str)> {
    let (start, length) = match bytes.get(6)? {
        1 => (10, usize::from(u16::from_le_bytes(*bytes.get(8..10)?.first_chunk()?))),
        _ => (12, u32::from_le_bytes(*bytes.get(8..12)?.first_chunk()?) as usize),
    };
    let text = std::str::from_utf8(bytes.get(start..start + length)?).ok()?;
    Some((start + length, text))
}

/// What comes after a key in the header of an `.npy` file.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}': "))?;
    Some(rest)
}

/// Numbers of `N` bytes.
fn numbers<T, const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect()
}

fn read_npy(name: &str, file: &Path) -> Result<Array> {
    let bytes = std::fs::read(file)?;
    let (end, header) = header(&bytes).ok_or("the header is not that of an .npy file")?;
    let shape = field(header, "shape")
        .and_then(|rest| rest.strip_prefix('(')?.split(')').next())
        .ok_or("the header has no shape")?;
    let shape = shape.split(',').map(str::trim).filter(|n| !n.is_empty());
    let shape = shape.map(str::parse).collect::<std::result::Result<Vec<usize>, _>>()?;
    let ty = field(header, "descr").ok_or("the header has no type")?;
    let bytes = &bytes[end..];
    let elements = match ty.get(1..4).ok_or("the header has no type")? {
        "<f4" => Elements::F32(numbers(bytes, f32::from_le_bytes)),
        "<i4" => Elements::I32(numbers(bytes, i32::from_le_bytes)),
        "<i8" => Elements::I64(numbers(bytes, i64::from_le_bytes)),
        "|i1" => Elements::I8(numbers(bytes, i8::from_le_bytes)),
        "|u1" => Elements::U8(bytes.to_vec()),
        "|b1" => Elements::Bool(bytes.iter().map(|&x| x != 0).collect()),
        other => return Err(format!("elements of type {other} are not read").into()),
    };
    Ok(Array {
        name: name.to_owned(),
        shape,
        elements,
    })
}

fn write_npy(array: &Array, file: &Path) -> Result<()> {
    let (ty, bytes): (&str, Vec<u8>) = match &array.elements {
        Elements::F32(list) => ("<f4", list.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::I32(list) => ("<i4", list.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::I64(list) => ("<i8", list.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::I8(list) => ("|i1", list.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Elements::U8(list) => ("|u1", list.clone()),
        Elements::Bool(list) => ("|b1", list.iter().map(|&x| u8::from(x)).collect()),
    };
    let shape: String = array.shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '{ty}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(header.len())?.to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(bytes);
    Ok(std::fs::write(file, out)?)
}
