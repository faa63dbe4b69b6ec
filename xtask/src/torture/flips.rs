//! Single bits flipped in every kind of file of an operator's data folder, while it is down and while it
//! runs. What it and the network answer then is what they answered before, or an error: never something
//! else. The other nodes go on, with their writers, readers and agents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    Run,
    ask::{self, Answer, Of, Refusal},
    crowd::{HEALING, whole},
    dice::Dice,
    member::{Start, copy_folder, restore_folder},
    model::{self, Books},
    scene::{Scene, until},
    score::{Fault, Score, shortened},
};

/// How long compaction gets to come upon what is damaged. Nothing depends on whether it does.
const COMPACTION: Duration = Duration::from_millis(700);

/// What is asked of each table.
fn statements(table: &str) -> [String; 4] {
    [
        format!("select * from {table} order by id"),
        format!("select count(*) as n from {table}"),
        format!(
            "select min(id) as a, max(id) as b, min(v) as c, max(v) as d, min(s) as e, max(s) as f from {table}"
        ),
        format!("select id, v, s from {table} where id = {}", 2 * model::BATCH + 3),
    ]
}

/// A network whose second operator has tables, that operator's folder as it was when all was well, and what
/// was answered then.
struct Victim {
    scene: Scene,
    pristine: PathBuf,
    tables: Vec<String>,
    answers: BTreeMap<String, Vec<Vec<Value>>>,
    policies: String,
    /// The kinds of files, other than Parquet, in which a bit was flipped.
    kinds: BTreeSet<String>,
}

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut dice = Dice::of(run.seed, "flips");
    let mut victim = prepare(run, score)?;
    let crowd = victim.scene.crowd_of_first(score, run.seed);
    crowd.around(|| {
        for round in 0..run.count(9, 2) {
            rows(&mut victim, &mut dice, score, round)?;
        }
        for index in 0..run.count(300, 24) {
            other(&mut victim, &mut dice, score, index)?;
        }
        jobs(&mut victim, &mut dice, score, run.count(120, 12))
    })?;
    crowd.settle()?;
    let kinds: Vec<&str> = victim.kinds.iter().map(String::as_str).collect();
    score.note(format!("bits were flipped in Parquet files, kept rows, {}", kinds.join(", ")));
    victim.scene.end(score);
    Ok(())
}

fn prepare(run: &Run, score: &Score) -> Result<Victim> {
    let mut scene = Scene::start(&run.setting)?;
    let node = scene.two.http();
    let tables: Vec<String> = (0..run.count(42, 14)).map(|index| format!("f{index}")).collect();
    for table in &tables {
        let mut books = Books::default();
        for batch in 0..6 {
            ask::put(node, table, &model::csv(batch), &format!("{table}-{batch}"))
                .map_err(failed)?;
            books.sent.insert(batch);
            if batch == 3 || batch == 4 {
                let flush = format!("flush buffers where dbms = {} and table = {table}", ask::DBMS);
                ask::command(node, &flush).map_err(failed)?;
            }
        }
        books.acknowledged = books.sent.clone();
        whole(score, node, Of::Node, table, &books, Duration::from_secs(60))?;
    }
    let mut answers = BTreeMap::new();
    for statement in tables.iter().flat_map(|table| statements(table)) {
        let answer = ask::sql(node, Of::Node, &statement).map_err(failed)?;
        answers.insert(statement, answer.rows);
    }
    let policies = push(&scene)?;
    scene.two.stop()?;
    let pristine = scene.root().join("pristine");
    copy_folder(&scene.two.data, &pristine)?;
    Ok(Victim { scene, pristine, tables, answers, policies, kinds: BTreeSet::new() })
}

const POLICIES: &str = "blockchain get device";

/// Has the master take policies, and gives them as the operator tells them once it has all.
fn push(scene: &Scene) -> Result<String> {
    for index in 0..POLICIES_COUNT {
        let policy = json!({ "device": { "name": format!("pump{index}."), "serial": index * 7 } });
        ask::command(scene.master.http(), &format!("blockchain push {policy}")).map_err(failed)?;
    }
    let mut policies = String::new();
    let has_all = until(HEALING, || {
        policies = ask::command(scene.two.http(), POLICIES).map_err(failed)?;
        Ok((0..POLICIES_COUNT).all(|index| policies.contains(&format!("\"pump{index}.\""))))
    })?;
    anyhow::ensure!(has_all, "an operator does not get the master's policies");
    Ok(policies)
}

const POLICIES_COUNT: u64 = 20;

/// Where bits were flipped, by table.
type Flips = BTreeMap<String, String>;

fn failed(refusal: Refusal) -> anyhow::Error {
    anyhow::anyhow!("a node that is well refused: {refusal}")
}

impl Victim {
    /// Ends the operator and puts its folder back to what it was, as a restored backup does, which the network
    /// takes only on request.
    fn restore(&mut self) -> Result<()> {
        let two = &mut self.scene.two;
        two.end_now();
        restore_folder(&self.pristine, &two.data)?;
        let accept = format!("accept operator {}", two.spec.name);
        ask::command(self.scene.master.http(), &accept).map_err(failed).map(drop)
    }

    /// Asks everything about some tables, of the operator and one thing of the network, and counts the answers.
    fn ask(&mut self, tables: &[String], score: &Score, flips: &Flips, after: &str) -> Result<()> {
        let (node, query) = (self.scene.two.http(), self.scene.query.http());
        for (table, statement) in
            tables.iter().flat_map(|table| statements(table).map(|statement| (table, statement)))
        {
            let answer = ask::sql(node, Of::Node, &statement);
            let expected = self.answers.get(&statement).context("nobody asked that before")?;
            let told = flips.get(table).map(String::as_str).unwrap_or_default();
            judge(score, answer, expected, &format!("{statement}, after {after} {told}"));
            if statement.contains("count(*)") {
                let answer = ask::sql(query, Of::Network, &statement);
                let asked = format!("{statement}, of the network, after {after} {told}");
                judge(score, answer, expected, &asked);
            }
        }
        if let Some(told) = self.scene.two.died()? {
            score.violation(Fault::Died, format!("{told}, after {after}"));
            self.restore()?;
            self.scene.two.must_start()?;
        }
        Ok(())
    }
}

fn judge(score: &Score, answer: Result<Answer, Refusal>, expected: &[Vec<Value>], asked: &str) {
    match answer {
        Ok(answer) if answer.rows == expected => score.right(),
        Ok(answer) if answer.is_partial => score.refused(),
        Ok(answer) => {
            let rows = shortened(&format!("{:?}", differing(&answer.rows, expected)), 200);
            score.violation(Fault::Wrong, format!("{asked}: {rows}"));
        }
        Err(_) => score.refused(),
    }
}

/// The first row that is not what it was.
fn differing<'a>(
    rows: &'a [Vec<Value>],
    expected: &'a [Vec<Value>],
) -> (usize, Option<&'a Vec<Value>>) {
    let pairs = rows.iter().zip(expected).position(|(row, expected)| row != expected);
    (rows.len(), pairs.and_then(|index| rows.get(index)))
}

/// One flip in a Parquet file of every table while the node is down, and one while it runs.
fn rows(victim: &mut Victim, dice: &mut Dice, score: &Score, round: u64) -> Result<()> {
    victim.restore()?;
    let tables = victim.tables.clone();
    let mut told = flip_each(victim, &tables, dice, score)?;
    match victim.scene.two.start()? {
        Start::Ready => {}
        Start::Refused(log) => {
            // One damaged file must not keep all the others from being asked.
            let what =
                format!("round {round}: the node does not start with damaged Parquet files: {log}");
            score.violation(Fault::Died, what);
            return Ok(());
        }
        Start::Died(log) => {
            score.violation(Fault::Died, format!("round {round}: {log}"));
            return Ok(());
        }
    }
    victim.ask(&tables, score, &told, &format!("round {round}:"))?;
    if round % 3 == 2 {
        // Compaction must not make damage permanent.
        let _ = ask::command(
            victim.scene.two.http(),
            &format!("flush buffers where dbms = {}", ask::DBMS),
        );
        thread::sleep(COMPACTION);
        victim.ask(&tables, score, &told, &format!("round {round}, and compaction:"))?;
    } else {
        told = flip_each(victim, &tables, dice, score)?;
        victim.ask(&tables, score, &told, &format!("round {round}, while it ran:"))?;
    }
    Ok(())
}

/// Flips one bit in a file of each table, and says where.
fn flip_each(victim: &Victim, tables: &[String], dice: &mut Dice, score: &Score) -> Result<Flips> {
    let mut told = Flips::new();
    let files = files(&victim.scene.two.data)?;
    for table in tables {
        let of_table = |file: &&PathBuf| {
            file.components().any(|part| part.as_os_str() == table.as_str()) && is_parquet(file)
        };
        let own: Vec<&PathBuf> = files.iter().filter(of_table).collect();
        let Some(file) = dice.pick(&own) else { continue };
        let bit = flip(file, dice)?;
        score.tried();
        told.insert(table.clone(), format!("bit {bit} of {}", name_of(file)));
    }
    Ok(told)
}

/// One flip in any other file, and a start.
fn other(victim: &mut Victim, dice: &mut Dice, score: &Score, index: u64) -> Result<()> {
    victim.restore()?;
    let mut kinds: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files(&victim.scene.two.data)?.into_iter().filter(|file| !is_parquet(file)) {
        if fs::metadata(&file)?.len() > 0 {
            kinds.entry(name_of(&file)).or_default().push(file);
        }
    }
    let kinds: Vec<(String, Vec<PathBuf>)> = kinds.into_iter().collect();
    let Some((kind, files)) = dice.pick(&kinds) else { return Ok(()) };
    let Some(file) = dice.pick(files) else { return Ok(()) };
    let bit = flip(file, dice)?;
    score.tried();
    victim.kinds.insert(kind.clone());
    let what = format!("flip {index}, of bit {bit} of {kind}");
    match victim.scene.two.start()? {
        Start::Ready => {
            let tables: Vec<String> = dice.pick(&victim.tables).into_iter().cloned().collect();
            victim.ask(&tables, score, &Flips::new(), &what)?;
            policies(victim, score, kind, &what);
        }
        Start::Refused(log) if names(&log, kind) => score.refused(),
        Start::Refused(log) => {
            let what = format!("{what}: a refusal to start that does not name the file: {log}");
            score.violation(Fault::Wrong, what);
        }
        Start::Died(log) => score.violation(Fault::Died, format!("{what}: {log}")),
    }
    Ok(())
}

/// The policies are what they were, or the log names the damaged file.
fn policies(victim: &Victim, score: &Score, kind: &str, what: &str) {
    match ask::command(victim.scene.two.http(), POLICIES) {
        Ok(text) if text == victim.policies => score.right(),
        Ok(_) if names(&victim.scene.two.log_text(), kind) => score.refused(),
        Ok(text) => {
            let what = format!(
                "{what}: other policies, and nothing in the log: {}",
                shortened(&text, 200)
            );
            score.violation(Fault::Wrong, what);
        }
        Err(_) => score.refused(),
    }
}

/// Whether a log tells of a file.
fn names(log: &str, file: &str) -> bool {
    log.contains(file)
}

/// Flips in the kept rows of a job, while the node runs.
fn jobs(victim: &mut Victim, dice: &mut Dice, score: &Score, flips: u64) -> Result<()> {
    victim.restore()?;
    victim.scene.two.must_start()?;
    let node = victim.scene.two.http();
    let before = files(&victim.scene.two.data)?;
    let table = victim.tables.first().context("there is no table")?.clone();
    let [statement, ..] = statements(&table);
    let job = json!({ "dbms": ask::DBMS, "sql": statement }).to_string();
    let started =
        ask::post(node, "/api/v1/jobs", "application/json", &[], job.as_bytes()).map_err(failed)?;
    let id: Value = serde_json::from_slice(&started.body)?;
    let id = id.get("id").and_then(Value::as_str).context("a job has no id")?.to_owned();
    let is_done = until(Duration::from_secs(60), || {
        let told = ask::get(node, &format!("/api/v1/jobs/{id}")).map_err(failed)?.text();
        Ok(told.contains("\"completed\""))
    })?;
    anyhow::ensure!(is_done, "a job did not end in a minute");
    let path = format!("/api/v1/jobs/{id}/rows?mode=batch");
    let expected = ask::get(node, &path).map_err(failed)?.text();
    let own: Vec<PathBuf> =
        files(&victim.scene.two.data)?.into_iter().filter(|file| !before.contains(file)).collect();
    for index in 0..flips {
        let Some(file) = dice.pick(&own) else { break };
        let bytes = fs::read(file)?;
        let bit = flip(file, dice)?;
        score.tried();
        match ask::get(node, &path) {
            Ok(reply) if reply.text() == expected => score.right(),
            Ok(reply) => {
                let text = shortened(&reply.text(), 120);
                let what = format!(
                    "flip {index}, of bit {bit} of {}: a job's rows are {text}",
                    name_of(file)
                );
                score.violation(Fault::Wrong, what);
            }
            Err(_) => score.refused(),
        }
        if let Some(told) = victim.scene.two.died()? {
            score.violation(Fault::Died, format!("{told}, after flip {index} in a job's rows"));
            return Ok(());
        }
        fs::write(file, bytes)?;
    }
    Ok(())
}

/// All files in a folder and in those in it, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => found.extend(files(&entry.path())?),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    Ok(found)
}

fn is_parquet(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "parquet")
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Flips one bit of a file, in place, and says which.
fn flip(file: &Path, dice: &mut Dice) -> Result<u64> {
    use std::os::unix::fs::FileExt;
    let open = fs::OpenOptions::new().read(true).write(true).open(file)?;
    let bit = dice.below(open.metadata()?.len() * 8);
    let mut byte = [0];
    open.read_exact_at(&mut byte, bit / 8)?;
    let [value] = byte;
    open.write_all_at(&[value ^ (1 << (bit % 8))], bit / 8)?;
    Ok(bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_is_flipped_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/a.parquet");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, [0_u8; 64]).unwrap();
        assert_eq!(files(folder.path()).unwrap(), std::slice::from_ref(&file));
        let bit = flip(&file, &mut Dice::new(3)).unwrap();
        let bytes = fs::read(&file).unwrap();
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
        assert_ne!(bytes.get(usize::try_from(bit / 8).unwrap()), Some(&0));
        assert!(is_parquet(&file) && !is_parquet(folder.path()));
    }
}
