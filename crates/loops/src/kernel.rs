//! Programs that are ready to run.

use std::sync::{Mutex, PoisonError};

use crate::data::{Sink, Source};
use crate::interpret::{self, Scratch};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use crate::native::Machine;
use crate::program::Program;

/// Stands for machine code where there is none.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[derive(Debug)]
enum Machine {}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
impl Machine {
    fn new(_: &Program) -> Option<Machine> {
        None
    }

    fn avx2(_: &Program) -> Option<Machine> {
        None
    }

    fn size(&self) -> usize {
        match *self {}
    }

    fn run(&self, _: usize, _: &[Source<'_>], _: &mut [Sink<'_>]) {
        match *self {}
    }
}

/// How programs are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Means {
    /// By machine code if this processor has the instructions, else by the interpreter.
    #[default]
    Fastest,
    /// By machine code of AVX2 instructions if this processor has them and they suffice, else by the interpreter.
    Avx2,
    /// By the interpreter.
    Interpreter,
}

/// A program that is ready to run. It may be shared by threads.
#[derive(Debug)]
pub struct Kernel {
    program: Program,
    machine: Option<Machine>,
    /// What runs of the interpreter have left for the next ones; threads run at once.
    scratch: Mutex<Vec<Scratch>>,
}

impl Kernel {
    /// Compiles a program.
    pub fn new(program: Program) -> Self {
        Kernel::by(program, Means::Fastest)
    }

    /// Compiles a program for certain means.
    ///
    /// ```
    /// use tautomer_loops::{Builder, Kernel, Means, Sink, Source, Type};
    ///
    /// let mut b = Builder::new();
    /// let x = b.input(Type::I32);
    /// let twice = b.add(x, x);
    /// b.output(twice);
    /// let kernel = Kernel::by(b.finish(), Means::Interpreter);
    /// let mut out = [0; 2];
    /// kernel.run(2, &[Source::I32(&[3, i32::MAX])], &mut [Sink::I32(&mut out)]);
    /// assert_eq!(out, [6, -2]);
    /// ```
    pub fn by(program: Program, means: Means) -> Self {
        let machine = match means {
            Means::Fastest => Machine::new(&program),
            Means::Avx2 => Machine::avx2(&program),
            Means::Interpreter => None,
        };
        let scratch = Mutex::default();
        Kernel {
            program,
            machine,
            scratch,
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The bytes of machine code; zero if the program is interpreted.
    pub fn code_size(&self) -> usize {
        self.machine.as_ref().map_or(0, Machine::size)
    }

    /// Computes rows, which results have at least as many of as inputs; a uniform input has one.
    ///
    /// # Panics
    ///
    /// If inputs and results are not those of the program, or are too short.
    pub fn run(&self, rows: usize, inputs: &[Source<'_>], outputs: &mut [Sink<'_>]) {
        let program = &self.program;
        assert!(
            inputs.len() == program.inputs.len() && outputs.len() == program.outputs.len(),
            "every input and result"
        );
        for (at, input) in inputs.iter().enumerate() {
            let needed = if program.is_uniform(at) { 1 } else { rows };
            assert!(
                input.ty() == program.inputs[at] && input.rows() >= needed,
                "input {at} has its type and {needed} rows"
            );
        }
        for (at, (output, &value)) in outputs.iter().zip(&program.outputs).enumerate() {
            assert!(
                output.ty() == program.ty(value) && output.rows() >= rows,
                "result {at} has its type and {rows} rows"
            );
        }
        match &self.machine {
            Some(machine) => machine.run(rows, inputs, outputs),
            None => self.interpret(rows, inputs, outputs),
        }
    }

    fn interpret(&self, rows: usize, inputs: &[Source<'_>], outputs: &mut [Sink<'_>]) {
        let left = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let own = left().pop();
        let mut scratch = own.unwrap_or_else(|| interpret::scratch(&self.program));
        interpret::run(&self.program, &mut scratch, rows, inputs, outputs);
        left().push(scratch);
    }
}
