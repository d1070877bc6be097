//! `tautomer run --bench` and `--profile`: how long a model takes, and where.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::exec::{Executor, Mode, Precision};
use tautomer::graph::Workload;
use tautomer::rule::Class;
use tautomer::tensor::Tensor;

use super::optimize::parse_class;
use super::{Done, Failure, Shell, calibrate};

#[derive(clap::Args)]
pub(super) struct BenchArgs {
    /// Use N threads; results do not depend on their number [default: one for each processor]
    #[arg(long, value_name = "N", conflicts_with = "reference")]
    threads: Option<std::num::NonZeroUsize>,
    /// How exact results have to be: `approx(e)` with e of 0.0079 or more lets products round their operands to
    /// bfloat16 where that is faster, and `bitwise` keeps products of quantized numbers from being summed as integers
    #[arg(long, value_parser = parse_class, default_value = "real", conflicts_with = "reference")]
    class: Class,
    /// Print how long N runs take, after a first one, instead of the results
    #[arg(long, value_name = "N", conflicts_with = "reference")]
    bench: Option<std::num::NonZeroUsize>,
    /// Print how long each operator takes instead of the results, or each step of the plan
    #[arg(long, value_name = "ROWS", num_args = 0..=1, require_equals = true, default_missing_value = "operators")]
    #[arg(conflicts_with = "reference")]
    profile: Option<Rows>,
}

/// The rows of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Rows {
    /// One for each operator
    Operators,
    /// One for each step, with the type of its result, the slowest first
    Steps,
}

impl BenchArgs {
    /// True if any of the options is given.
    pub(super) fn is_given(&self) -> bool {
        self.threads.is_some() || self.class != Class::Real || self.is_timed()
    }

    /// True if times are asked for instead of results.
    pub(super) fn is_timed(&self) -> bool {
        self.bench.is_some() || self.profile.is_some()
    }

    /// The executor of a workload with the chosen number of threads.
    pub(super) fn executor(&self, workload: &Workload) -> Result<Executor, Failure> {
        let failed = |message: String| Failure::from(Diagnostic::error("T0406", message));
        let plan = tautomer::plan_within(&workload.graph, self.class)?;
        let executor = Executor::new(plan, Mode::Kernels).map_err(|e| failed(e.to_string()))?;
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
        Ok(executor.threads(self.threads.map_or_else(processors, |n| n.get())))
    }
}

/// Runs once.
pub(super) fn run(executor: &Executor, workload: &Workload, inputs: &[Tensor]) -> Result<Vec<Tensor>, Failure> {
    executor
        .run(inputs, &workload.params)
        .map_err(|e| Diagnostic::error("T0406", e.to_string()).into())
}

/// Measures what is asked for, and prints it.
pub(super) fn measure(args: &BenchArgs, workload: &Workload, inputs: &[Tensor], shell: &Shell) -> Done {
    let begun = Instant::now();
    let executor = args.executor(workload)?;
    let plan = begun.elapsed();
    let begun = Instant::now();
    let mut outputs = run(&executor, workload, inputs)?;
    let first = begun.elapsed();
    let mut text = String::new();
    let mut shown = serde_json::Map::new();
    if let Some(count) = args.bench {
        let mut times = Vec::with_capacity(count.get());
        let mut busy = Vec::with_capacity(count.get());
        for _ in 0..count.get() {
            let (begun, used) = (Instant::now(), processor_time());
            let done = executor.run_into(inputs, &workload.params, &mut outputs);
            done.map_err(|e| Diagnostic::error("T0406", e.to_string()))?;
            times.push(begun.elapsed());
            busy.extend(used.zip(processor_time()).map(|(from, to)| to.saturating_sub(from)));
        }
        times.sort();
        busy.sort();
        let (median, minimum) = (times[times.len() / 2], times[0]);
        let (predicted, by) = calibrate::predicted(&tautomer::lower_within(&workload.graph, args.class)?)?;
        text.push_str(&format!(
            "plan {}, first run {}; {count} more: median {}, minimum {}; predicted {} by the costs of `{}`\n",
            milliseconds(plan),
            milliseconds(first),
            milliseconds(median),
            milliseconds(minimum),
            milliseconds(Duration::from_secs_f64(predicted / 1e6)),
            by.name
        ));
        let number = |time: Duration| json!(time.as_secs_f64() * 1e3);
        shown.insert(
            "bench".to_owned(),
            json!({
                "runs": count.get(),
                "plan_ms": number(plan),
                "first_ms": number(first),
                "median_ms": number(median),
                "minimum_ms": number(minimum),
                "predicted_ms": predicted / 1e3,
                "predicted_by": *by.name,
                "processor_ms": busy.get(busy.len() / 2).map(|&time| number(time)),
            }),
        );
    }
    if let Some(by) = args.profile {
        let rows = profile(&executor, workload, inputs, by)?;
        text.push_str(&table(&rows));
        shown.insert("profile".to_owned(), rows.iter().map(Row::json).collect());
    }
    if shell.json {
        return shell.json(Value::Object(shown));
    }
    shell.result(&text)
}

/// The processor time of this process, if the system tells.
fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    return nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .ok()
        .map(Duration::from);
    #[cfg(not(unix))]
    None
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// The steps of one operator, or one step.
struct Row {
    /// The operator, with the number of the step and the type of its result if it is one step.
    op: String,
    steps: usize,
    /// How many of them were computed by the reference definition.
    slow: usize,
    /// How many of them rounded the operands of products to bfloat16.
    in_bf16: usize,
    time: Duration,
    share: f64,
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "operator": self.op,
            "steps": self.steps,
            "by_reference": self.slow,
            "in_bf16": self.in_bf16,
            "ms": self.time.as_secs_f64() * 1e3,
            "share": self.share,
        })
    }
}

/// How often a step is timed.
const ROUNDS: usize = 5;

/// The time of each operator or step, the largest first; a step counts with its fastest run.
fn profile(executor: &Executor, workload: &Workload, inputs: &[Tensor], by: Rows) -> Result<Vec<Row>, Failure> {
    let plan = executor.plan();
    let steps = &plan.steps;
    let mut times = vec![Duration::MAX; steps.len()];
    for _ in 0..ROUNDS {
        let mut last = Instant::now();
        let done = executor.run_timed(inputs, &workload.params, &mut |i| {
            let now = Instant::now();
            times[i] = times[i].min(now - last);
            last = now;
        });
        done.map_err(|e| Diagnostic::error("T0406", e.to_string()))?;
    }
    let mut rows: Vec<Row> = Vec::new();
    for (i, (step, &time)) in steps.iter().zip(&times).enumerate() {
        // Steps that another one has done, or that only say where their result is.
        let time = if time == Duration::MAX { Duration::ZERO } else { time };
        let name = match (by, step.results.first()) {
            (Rows::Steps, Some(out)) => format!("{i}: {} {}", step.op, plan.slots[*out].ty),
            (Rows::Steps, None) => format!("{i}: {}", step.op),
            (Rows::Operators, _) => step.op.clone(),
        };
        let place = rows.iter().position(|row| row.op == name);
        let place = place.unwrap_or_else(|| {
            rows.push(Row {
                op: name,
                steps: 0,
                slow: 0,
                in_bf16: 0,
                time: Duration::ZERO,
                share: 0.0,
            });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.steps += 1;
        row.slow += usize::from(executor.is_by_reference(i));
        row.in_bf16 += usize::from(executor.precision(i) == Precision::Bf16);
        row.time += time;
    }
    let total: f64 = rows.iter().map(|row| row.time.as_secs_f64()).sum();
    for row in &mut rows {
        row.share = row.time.as_secs_f64() / total.max(f64::MIN_POSITIVE);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    Ok(rows)
}

fn table(rows: &[Row]) -> String {
    let width = rows
        .iter()
        .map(|row| row.op.len())
        .max()
        .unwrap_or(0)
        .max("operator".len());
    let mut text = format!("{:width$}  steps         ms  share\n", "operator");
    for row in rows {
        let some = |n: usize, what: &str| match n {
            0 => String::new(),
            n if n == row.steps => format!("  {what}"),
            n => format!("  {n} {what}"),
        };
        let slow = some(row.slow, "by the reference definition") + &some(row.in_bf16, "in bf16");
        let (ms, share) = (row.time.as_secs_f64() * 1e3, row.share * 100.0);
        text.push_str(&format!(
            "{:width$}  {:5}  {ms:9.3}  {share:4.1}%{slow}\n",
            row.op, row.steps
        ));
    }
    text
}
