//! `tautomer calibrate`: measures what operators cost on this machine, and writes a target with these costs.

mod probes;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use tautomer::diag::Diagnostic;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::atomic;
use tautomer::graph::Graph;
use tautomer::op::{Cost, Priced};
use tautomer::rewrite::graph_cost_by;
use tautomer::{Target, random_values};

use self::probes::{Probe, Probes};
use super::progress::Progress;
use super::{Done, Failure, Shell, operators, output};

/// The name by which `--target` finds the costs of this machine.
const HERE: &str = "here";

/// How long each measurement goes on, at least.
const SHORTEST: Duration = Duration::from_millis(20);

/// The fewest runs of a measurement.
const RUNS: usize = 7;

/// Factors nearer to one than this are noise.
const NOISE: f64 = 1.1;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Write the target to this file (.target) instead of where `--target here` finds it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use N threads
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let path = match &args.output {
        Some(path) => {
            // `--target` takes what ends otherwise for a name.
            if path.extension().is_none_or(|suffix| suffix != "target") {
                let problem = Diagnostic::error("T0402", format!("{}: not a file of targets", path.display()));
                return Err(problem.help("give a file that ends in `.target`").into());
            }
            output::has_folder(path)?;
            path.clone()
        }
        None => usual_path().ok_or_else(no_place)?,
    };
    let begun = Instant::now();
    let probes = Probes::read()?;
    let found = Costs::measured(&probes, args.threads, &Progress::new(shell, "measuring"))?;
    let text = found.target(args.threads);
    // A target that this build writes, it also reads.
    Target::from_text("<calibrate>", &text)?;
    if args.output.is_none() {
        let folder = path.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).map_err(|e| unwritten(folder, &e))?;
    }
    atomic::write(&path, text.as_bytes()).map_err(|e| unwritten(&path, &e))?;
    if shell.json {
        return shell.json(json!({
            "file": path.display().to_string(),
            "launch_us": found.launch, "gflops": found.gflops, "gbytes_per_second": found.bandwidth,
            "factors": found.factors.iter().map(|(operators, factor)| {
                json!({ "operators": operators, "factor": factor })
            }).collect::<Vec<_>>(),
        }));
    }
    shell.say(&format!(
        "measured {} programs in {:.1} s: {} µs to start a call, {} GFLOP/s, {} GB/s",
        probes.count(),
        begun.elapsed().as_secs_f64(),
        rounded(found.launch),
        rounded(found.gflops),
        rounded(found.bandwidth)
    ));
    let used = match &args.output {
        Some(path) => path.display().to_string(),
        None => HERE.to_owned(),
    };
    shell.say(&format!("written to {}; use it by `--target {used}`", path.display()));
    Ok(())
}

/// The target that is meant on the command line: `here` is this machine as it was measured.
pub(super) fn find(written: &str) -> Result<Target, Failure> {
    if written != HERE {
        return Ok(Target::find(written, &operators::scope()?)?);
    }
    let path = usual_path().ok_or_else(no_place)?;
    match path.exists() {
        true => Ok(Target::open(&path)?),
        false => Err(Diagnostic::error(
            "T0331",
            format!("the target `{HERE}` is not known yet: there is no {}", path.display()),
        )
        .help("`tautomer calibrate` measures this machine; the target `tautomer` has costs of an ordinary core")
        .into()),
    }
}

/// The time in microseconds that a run of a graph is expected to take, and the target whose costs say so: this machine
/// if it was measured, else the built-in one.
pub(super) fn predicted(graph: &Graph) -> Result<(f64, Target), Failure> {
    let measured = usual_path().is_some_and(|path| path.exists());
    let target = find(if measured { HERE } else { "tautomer" })?;
    Ok((graph_cost_by(graph, &|call: &Priced<'_>| target.micros(call)), target))
}

/// The file for this kind of processor in the directory for program data.
fn usual_path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    let slug: Vec<String> = processor()
        .to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    Some(data.join("tautomer/targets").join(format!("{}.target", slug.join("-"))))
}

/// What the system calls the processor, else what it is compiled for.
fn processor() -> String {
    let found = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    found.unwrap_or_else(|| format!("{} on {}", std::env::consts::ARCH, std::env::consts::OS))
}

fn no_place() -> Failure {
    let problem = Diagnostic::error("T0401", "there is no directory for program data: HOME is not set");
    problem
        .help("give a file with `-o`, and name it with `--target`")
        .into()
}

fn unwritten(path: &Path, e: &std::io::Error) -> Failure {
    Failure::new("T0401", format!("{}: {e}", path.display()))
}

/// What was measured: a machine as targets describe it.
struct Costs<'p> {
    /// Microseconds to start a call.
    launch: f64,
    gflops: f64,
    /// Billions of bytes in a second.
    bandwidth: f64,
    /// Groups of operators, and how much longer they take than the three numbers above say.
    factors: Vec<(&'p [String], f64)>,
}

impl<'p> Costs<'p> {
    fn measured(probes: &'p Probes, threads: NonZeroUsize, progress: &Progress) -> Result<Costs<'p>, Failure> {
        let mut done = 0;
        let mut timed = |graph: &Graph| {
            progress.count(done, Some(probes.count()), "programs");
            done += 1;
            Measured::of(graph, threads)
        };
        let tiny = timed(&probes.launch)?;
        let sum = timed(&probes.bandwidth)?;
        let product = timed(&probes.speed)?;
        let mut costs = Costs {
            launch: tiny.micros / tiny.work.launches,
            gflops: product.work.flops / product.micros / 1e3,
            bandwidth: sum.work.bytes / sum.micros / 1e3,
            factors: Vec::new(),
        };
        let mut ratios: Vec<(&Probe, f64)> = Vec::with_capacity(probes.groups.len());
        for probe in &probes.groups {
            let found = timed(&probe.graph)?;
            ratios.push((probe, found.micros / costs.micros(&found.work)));
        }
        for group in ratios.chunk_by(|(a, _), (b, _)| a.operators == b.operators) {
            let logarithms: f64 = group.iter().map(|(_, ratio)| ratio.ln()).sum();
            let factor = (logarithms / group.len() as f64).exp();
            if !(1.0 / NOISE..NOISE).contains(&factor) {
                costs.factors.push((&group[0].0.operators, factor));
            }
        }
        Ok(costs)
    }

    /// The time of calls that are all alike, without factors.
    fn micros(&self, work: &Cost) -> f64 {
        self.launch * work.launches + (work.flops / (self.gflops * 1e3)).max(work.bytes / (self.bandwidth * 1e3))
    }

    /// The text of a target with these costs.
    fn target(&self, threads: NonZeroUsize) -> String {
        let threads = match threads.get() {
            1 => "one thread".to_owned(),
            n => format!("{n} threads"),
        };
        let mut text = format!(
            "/// This program on {}, {threads}: measured by `tautomer calibrate` {}.\ntarget {HERE} {{\n  extends tautomer\n  \
             machine launch = {}, gflops = {}, bandwidth = {}\n",
            processor(),
            env!("CARGO_PKG_VERSION"),
            rounded(self.launch),
            rounded(self.gflops),
            rounded(self.bandwidth),
        );
        for (operators, factor) in &self.factors {
            text.push_str(&format!("  cost {} * {}\n", operators.join(", "), rounded(*factor)));
        }
        text.push_str("}\n");
        text
    }
}

/// Three digits, which is more than times are repeated to.
fn rounded(value: f64) -> String {
    let digits = 2 - value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(digits.max(0)).unwrap_or(0))
}

/// How long a program takes, and its work as the operator table estimates it.
struct Measured {
    micros: f64,
    work: Cost,
}

impl Measured {
    fn of(graph: &Graph, threads: NonZeroUsize) -> Result<Measured, Failure> {
        let failed = |message: String| Failure::from(Diagnostic::error("T0406", message));
        let (inputs, params) = random_values(graph, 0).ok_or_else(|| failed("a probe has no inputs".to_owned()))?;
        let plan = Plan::compile(graph).map_err(|e| failed(e.to_string()))?;
        let executor = Executor::new(plan, Mode::Kernels).map_err(|e| failed(e.to_string()))?;
        let executor = executor.threads(threads.get());
        let mut outputs = executor.run(&inputs, &params).map_err(|e| failed(e.to_string()))?;
        let begun = Instant::now();
        let mut times = Vec::new();
        while times.len() < RUNS || begun.elapsed() < SHORTEST {
            let start = Instant::now();
            let done = executor.run_into(&inputs, &params, &mut outputs);
            times.push(start.elapsed());
            done.map_err(|e| failed(e.to_string()))?;
        }
        times.sort();
        let total = |part: fn(&Cost) -> f64| graph_cost_by(graph, &|call: &Priced<'_>| part(&call.cost));
        Ok(Measured {
            // Other work on the machine makes runs longer, never shorter.
            micros: times[times.len() / 4].as_secs_f64() * 1e6,
            work: Cost {
                flops: total(|cost| cost.flops),
                bytes: total(|cost| cost.bytes),
                launches: total(|cost| cost.launches),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer::Model;
    use tautomer::graph::{Node, VertexId};
    use tautomer::op::lookup;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(rounded(0.012345), "0.0123");
        assert_eq!(rounded(1.0), "1.00");
        assert_eq!(rounded(123.4), "123");
        assert_eq!(rounded(12345.6), "12346");
    }

    #[test]
    fn probes_call_an_operator_of_their_group() {
        let probes = Probes::read().unwrap_or_else(|problems| panic!("{problems}"));
        assert!(probes.groups.len() > 20);
        for probe in &probes.groups {
            for name in &probe.operators {
                assert!(lookup(name).is_some(), "there is no operator `{name}`");
            }
            let called: Vec<String> = probe
                .graph
                .rpo()
                .into_iter()
                .filter_map(|v| called(&probe.graph, v))
                .collect();
            assert_eq!(called.len(), 1, "{called:?}");
            assert!(
                probe.operators.contains(&called[0]),
                "{called:?} is not among {:?}",
                probe.operators
            );
        }
    }

    fn called(graph: &Graph, v: VertexId) -> Option<String> {
        match &graph.vertex(v).node {
            Node::Call { op, .. } => Some(op.name().as_str().to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_target_of_measured_costs_prices_calls_by_them() {
        let softmax = ["softmax".to_owned(), "log_softmax".to_owned()];
        let costs = Costs {
            launch: 0.5,
            gflops: 100.0,
            bandwidth: 20.0,
            factors: vec![(&softmax, 3.0)],
        };
        let target = Target::from_text("here.target", &costs.target(NonZeroUsize::MIN)).unwrap();
        let model = Model::from_text("a", "fn main(x: f32[1000, 500]) { softmax(x) }").unwrap();
        let graph = &model.workload.graph;
        let work = graph_cost_by(graph, &|call: &Priced<'_>| costs.micros(&call.cost));
        let priced = graph_cost_by(graph, &|call: &Priced<'_>| target.micros(call));
        assert!((priced / work - 3.0).abs() < 1e-6, "{priced} {work}");
    }
}
