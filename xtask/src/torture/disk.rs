//! The disk of one operator fills up, on a small file system in memory: writes are refused, all else goes
//! on, and nothing that was acknowledged is lost.

use std::{
    fs::{self, File},
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{
    Run,
    ask::{self, DBMS, Of},
    crowd::{HEALING, whole},
    member::{Member, Start},
    model::{self, Books},
    scene::{Scene, until},
    score::{Fault, Score},
};

/// How large the disk is.
const DISK_MIB: u64 = 384;
/// How much is left of it, step by step, in KiB.
const LEFT_KIB: [u64; 12] =
    [200_000, 100_000, 50_000, 20_000, 8_000, 4_000, 2_000, 1_000, 500, 100, 20, 0];
/// What is dropped when the disk is nearly full.
const SPARE: &str = "spare";

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut scene = Scene::prepare(&run.setting, &[])?;
    let disk = match Disk::mount(&scene.root().join("disk")) {
        Ok(disk) => disk,
        Err(error) => {
            score.note(format!("no disk was filled: {error:#}"));
            return Ok(());
        }
    };
    scene.two.data = disk.path.join("data");
    scene.begin()?;
    let crowd = scene.crowd(score, run.seed);
    crowd.around(|| fill_up(run, &mut scene, &disk, score))?;
    crowd.settle()?;
    scene.members().into_iter().for_each(Member::end_now);
    drop(disk);
    scene.end(score);
    Ok(())
}

/// Takes the operator's disk away step by step, and gives it back.
fn fill_up(run: &Run, scene: &mut Scene, disk: &Disk, score: &Score) -> Result<()> {
    let (query, member) = (scene.query.http(), &mut scene.two);
    let mut writer = Writer { books: Books::default(), score, batch: 0, query };
    let spare = model::csv(0);
    let _ = ask::put(member.http(), SPARE, &spare, "spare");
    let _ = ask::command(member.http(), &format!("flush buffers where dbms = {DBMS}"));
    writer.write(member, run.count(20, 8));
    for (step, left) in LEFT_KIB.into_iter().enumerate() {
        crate::interrupt::check()?;
        disk.leave(left << 10)?;
        fill(member, &mut writer, run.count(25, 8), left)?;
        if run.is_short && step % 3 != 2 {
            continue;
        }
        restart(member, score, left)?;
    }
    if let Some(told) = member.died()? {
        score.violation(Fault::Died, format!("{told}, on a full disk"));
    }
    let dropped = ask::command(member.http(), &format!("drop table {SPARE} where dbms = {DBMS}"));
    if dropped.is_ok() {
        score.right()
    } else {
        score.refused()
    }
    disk.free()?;
    if !member.is_up() {
        member.must_start()?;
    }
    let is_open = until(HEALING, || Ok(writer.write(member, 1) > 0))?;
    if !is_open {
        score.violation(Fault::Died, "the disk has room again, and no row is taken");
    }
    whole(score, member.http(), Of::Node, TABLE, &writer.books, HEALING)?;
    whole(score, query, Of::Network, TABLE, &writer.books, HEALING)
}

const TABLE: &str = "t";

/// Writes, and remembers what was acknowledged.
struct Writer<'a> {
    books: Books,
    score: &'a Score,
    batch: u64,
    query: SocketAddr,
}

impl Writer<'_> {
    /// How many of so many batches were acknowledged.
    fn write(&mut self, member: &Member, batches: u64) -> u64 {
        let mut taken = 0;
        for _ in 0..batches {
            self.score.tried();
            self.batch += 1;
            self.books.sent.insert(self.batch);
            let key = format!("{TABLE}-{}", self.batch);
            match ask::put(member.http(), TABLE, &model::csv(self.batch), &key) {
                Ok(()) => {
                    self.books.acknowledged.insert(self.batch);
                    self.score.right();
                    taken += 1;
                }
                Err(_) => self.score.refused(),
            }
        }
        taken
    }
}

/// Writes with so much room, has it flushed, and reads all that was acknowledged.
fn fill(member: &mut Member, writer: &mut Writer<'_>, batches: u64, left_kib: u64) -> Result<()> {
    writer.write(member, batches);
    let _ = ask::command(member.http(), &format!("flush buffers where dbms = {DBMS}"));
    let score = writer.score;
    if let Some(told) = member.died()? {
        score.violation(Fault::Died, format!("{told}, with {left_kib} KiB left on the disk"));
        member.must_start()?;
    }
    whole(score, member.http(), Of::Node, TABLE, &writer.books, HEALING)?;
    whole(score, writer.query, Of::Network, TABLE, &writer.books, HEALING)
}

/// A node starts again whatever is left.
fn restart(member: &mut Member, score: &Score, left_kib: u64) -> Result<()> {
    score.tried();
    member.end_now();
    match member.start()? {
        Start::Ready => score.right(),
        // Without a single byte nothing can be promised but that it says so.
        Start::Refused(_) if left_kib == 0 => score.refused(),
        Start::Refused(told) | Start::Died(told) => {
            let what = format!("no start with {left_kib} KiB left on the disk: {told}");
            score.violation(Fault::Died, what);
            anyhow::bail!("the disk is too full to go on");
        }
    }
    Ok(())
}

/// A file system in memory, which goes with this.
struct Disk {
    path: PathBuf,
}

impl Disk {
    fn mount(path: &Path) -> Result<Self> {
        ensure!(cfg!(target_os = "linux"), "only Linux has such file systems");
        ensure!(rustix::process::geteuid().is_root(), "only root may mount one");
        fs::create_dir_all(path)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m"), "torture"]).arg(path);
        let output = mount.output().context("there is no \"mount\"")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(Self { path: path.to_owned() })
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Takes all of the disk but so many bytes.
    fn leave(&self, bytes: u64) -> Result<()> {
        let mut file = File::options().create(true).append(true).open(self.ballast())?;
        let block = vec![0; 1 << 16];
        while file.write_all(&block).is_ok() {}
        let length = file.metadata()?.len();
        Ok(file.set_len(length.saturating_sub(bytes))?)
    }

    fn free(&self) -> Result<()> {
        Ok(fs::remove_file(self.ballast())?)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}
