//! Disks of the test's own: a file with ext4 in it, whose power can be cut, and a small one in memory. They need root.

use crate::tools::{is_root, must, works};
use std::{path::PathBuf, process::Command};

/// A mounted disk; unmounted when dropped.
pub(crate) struct Disk {
    folder: tempfile::TempDir,
}

/// Forgets everything that was not flushed, and whatever is written later, as a power switch does
/// (`EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`).
const CUT: &str = "import fcntl,os,struct,sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

impl Disk {
    /// A disk whose power can be cut, or why there is none.
    pub(crate) fn ext4() -> Result<Self, &'static str> {
        if !is_root() {
            return Err("it needs root to mount a disk");
        }
        if !works("python3", &["-c", "import fcntl"]) || !works("which", &["mkfs.ext4"]) {
            return Err("it needs python3 for the ioctl, and mkfs.ext4");
        }
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        let image = disk.image();
        std::fs::File::create(&image).unwrap().set_len(96 << 20).unwrap();
        must("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
        std::fs::create_dir(disk.path()).unwrap();
        if disk.mount() { Ok(disk) } else { Err("no loop device can be mounted here") }
    }

    /// A disk of so many kilobytes, or why there is none.
    pub(crate) fn memory(kilobytes: u32) -> Result<Self, &'static str> {
        if !is_root() {
            return Err("it needs root to mount a disk");
        }
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(disk.path()).unwrap();
        let (size, path) = (format!("size={kilobytes}k"), disk.path());
        let mounted = works("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", path.to_str().unwrap()]);
        if mounted { Ok(disk) } else { Err("no tmpfs can be mounted here") }
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("disk.img")
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    fn mount(&self) -> bool {
        works("mount", &["-o", "loop", self.image().to_str().unwrap(), self.path().to_str().unwrap()])
    }

    fn unmount(&self) -> bool {
        works("umount", &[self.path().to_str().unwrap()])
    }

    /// Cuts the power. Whoever works on the disk meets errors from now on.
    pub(crate) fn cut(&self) {
        must("python3", &["-c", CUT, self.path().to_str().unwrap()]);
    }

    /// Makes the disk refuse writes, as after an error of the file system.
    pub(crate) fn refuse_writes(&self) {
        // The mount itself answers with an error: the disk is read-only by then.
        works("mount", &["-o", "remount,abort", self.path().to_str().unwrap()]);
        let probe = self.path().join("probe");
        assert!(std::fs::write(probe, "").is_err(), "the disk still takes writes");
    }

    /// Power on again: the file system repairs itself from its journal. Nobody may have files open.
    pub(crate) fn on_again(&self) {
        must("umount", &[self.path().to_str().unwrap()]);
        // What `abort` noted is an error in the file system's own eyes.
        drop(Command::new("fsck.ext4").args(["-p", self.image().to_str().unwrap()]).output());
        assert!(self.mount(), "the disk cannot be mounted again");
    }

    /// Takes the space away, all but so many kilobytes.
    pub(crate) fn fill_but(&self, kilobytes: u64) {
        let ballast = self.free().saturating_sub(kilobytes << 10);
        std::fs::write(self.path().join("ballast"), vec![1; usize::try_from(ballast).unwrap()]).unwrap();
    }

    /// Bytes that can still be written.
    pub(crate) fn free(&self) -> u64 {
        let told = rustix::fs::statvfs(self.path()).unwrap();
        told.f_bavail * told.f_frsize
    }

    pub(crate) fn make_room(&self) {
        std::fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !self.unmount() {
            works("umount", &["-l", self.path().to_str().unwrap()]);
        }
    }
}
