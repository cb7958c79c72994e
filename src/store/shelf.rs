//! A file of pieces, one for each of other files as that stood when it was read. It can be lost at any time: what is
//! wrong with it, or was written by another program, is as if it were not there.
//!
//! First what it is and who wrote it, then the pieces, then where they lie and of which file they are, then where that
//! begins, and a digest of it. It is written anew beside the old one and takes its name when it is whole.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use twox_hash::{XxHash3_64, XxHash3_128};

use super::{Mark, create::private_folder};

/// What it begins with; the number is that of this form.
const KIND: &[u8; 24] = b"sessctl usage index 1\n\0\n";

/// What it is and who wrote it.
const HEAD: u64 = 24 + 16;

/// Where the list of pieces begins, how long it is, and a digest of it.
const FOOT: u64 = 8 + 8 + 16;

/// No list of pieces is longer.
const LONGEST: u64 = 1 << 30;

/// Where a piece lies, and of what it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    path: String,
    mark: Mark,
    /// What else it depends on.
    asked: String,
    at: u64,
    len: u64,
    digest: u64,
}

/// The pieces that were there, and those that come to be.
#[derive(Debug)]
pub struct Shelf {
    path: PathBuf,
    program: u128,
    old: Option<File>,
    places: HashMap<String, Place>,
    new: Mutex<New>,
    used: Mutex<HashSet<String>>,
}

/// The next state of the file.
#[derive(Debug)]
enum New {
    /// Nothing has changed.
    Same,
    Begun(Box<Writer>),
    /// It cannot be written.
    Lost,
}

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
    at: u64,
    places: Vec<Place>,
}

impl Shelf {
    /// The file at `path` as far as `program` wrote it.
    #[must_use]
    pub fn open(path: &Path, program: &str) -> Self {
        let program = XxHash3_128::oneshot(program.as_bytes());
        let there = fs::metadata(path).is_ok_and(|meta| meta.is_file());
        let old = if there { File::open(path).ok() } else { None };
        let places = old.as_ref().and_then(|file| places(file, program)).unwrap_or_default();
        Self {
            path: path.into(),
            program,
            old,
            places: places.into_iter().map(|place| (place.path.clone(), place)).collect(),
            new: Mutex::new(New::Same),
            used: Mutex::default(),
        }
    }

    /// The piece of a file, if the state that it is of is one that is looked for.
    #[must_use]
    pub fn piece(&self, path: &Path, asked: &str, is: impl Fn(&Mark) -> bool) -> Option<Vec<u8>> {
        let place = self.places.get(path.to_str()?)?;
        let piece =
            self.read(Some(place).filter(|place| is(&place.mark) && place.asked == asked)?)?;
        lock(&self.used).insert(place.path.clone());
        Some(piece)
    }

    fn read(&self, place: &Place) -> Option<Vec<u8>> {
        let piece = read(self.old.as_ref()?, place.at, place.len).ok()?;
        (XxHash3_64::oneshot(&piece) == place.digest).then_some(piece)
    }

    /// Puts in the piece of a file in that state, in place of the one that was there.
    pub fn put(&self, path: &Path, mark: Mark, asked: &str, piece: &[u8]) {
        let Some(path) = path.to_str() else { return };
        let mut new = lock(&self.new);
        if matches!(*new, New::Same) {
            let begun = Writer::begin(&self.path, KIND, self.program);
            *new = begun.map_or(New::Lost, |writer| New::Begun(Box::new(writer)));
        }
        let place =
            Place { path: path.into(), mark, asked: asked.into(), at: 0, len: 0, digest: 0 };
        if let New::Begun(writer) = &mut *new
            && writer.add(place, piece).is_err()
        {
            writer.give_up();
            *new = New::Lost;
        }
    }

    /// Writes what was put in and what is still true of the rest. Nothing was changed: nothing is written.
    pub fn close(self) {
        let New::Begun(mut writer) = std::mem::replace(&mut *lock(&self.new), New::Same) else {
            return;
        };
        let added: HashSet<String> = writer.places.iter().map(|place| place.path.clone()).collect();
        let used = lock(&self.used);
        let mut rest: Vec<&Place> =
            self.places.values().filter(|place| !added.contains(&place.path)).collect();
        rest.sort_by_key(|place| place.at);
        for place in rest {
            // Of a file that was not looked at this time the piece stays as long as the file does.
            let stays =
                used.contains(&place.path) || Mark::of(Path::new(&place.path)) == Some(place.mark);
            let piece = if stays { self.read(place) } else { None };
            let added = piece.map_or(Ok(()), |piece| writer.add(place.clone(), &piece));
            if added.is_err() {
                return writer.give_up();
            }
        }
        if writer.end(&self.path, self.program).is_err() {
            writer.give_up();
        }
    }
}

impl Writer {
    /// None where the file cannot be made, or another run is at it.
    fn begin(path: &Path, kind: &[u8], program: u128) -> Option<Self> {
        private_folder(path.parent()?).ok()?;
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let path = PathBuf::from(new);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let options = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(&path).ok()?;
        file.try_lock().ok()?;
        // Who had it before may have given it its name meanwhile.
        let own = file.metadata().ok()?;
        fs::metadata(&path).ok().filter(|there| there.ino() == own.ino())?;
        file.set_len(0).ok()?;
        let mut out = BufWriter::with_capacity(64 * 1024, file);
        out.write_all(kind).and_then(|()| out.write_all(&program.to_le_bytes())).ok()?;
        Some(Self { path, out, at: HEAD, places: Vec::new() })
    }

    fn add(&mut self, place: Place, piece: &[u8]) -> io::Result<()> {
        self.out.write_all(piece)?;
        let (at, len, digest) = (self.at, piece.len() as u64, XxHash3_64::oneshot(piece));
        self.at += len;
        self.places.push(Place { at, len, digest, ..place });
        Ok(())
    }

    fn end(&mut self, name: &Path, program: u128) -> io::Result<()> {
        let list = postcard::to_stdvec(&self.places).map_err(io::Error::other)?;
        self.out.write_all(&list)?;
        let foot = foot(self.at, list.len() as u64, digest(program, self.at, &list));
        self.out.write_all(&foot)?;
        self.out.flush()?;
        fs::rename(&self.path, name)
    }

    fn give_up(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What a file of one piece begins with.
const SINGLE: &[u8; 24] = b"sessctl usage roll 1\n\0\0\n";

/// Leaves one piece in a file of its own, if that can be written.
pub fn leave(path: &Path, program: &str, piece: &[u8]) {
    let program = XxHash3_128::oneshot(program.as_bytes());
    let Some(mut writer) = Writer::begin(path, SINGLE, program) else { return };
    let written = writer.out.write_all(&digest(program, HEAD, piece).to_le_bytes());
    let written = written.and_then(|()| writer.out.write_all(piece));
    let written = written.and_then(|()| writer.out.flush());
    if written.and_then(|()| fs::rename(&writer.path, path)).is_err() {
        writer.give_up();
    }
}

/// The piece that `program` left.
#[must_use]
pub fn left(path: &Path, program: &str) -> Option<Vec<u8>> {
    let program = XxHash3_128::oneshot(program.as_bytes());
    let there = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < LONGEST);
    let mut bytes = if there { fs::read(path).ok()? } else { return None };
    let head = [&SINGLE[..], &program.to_le_bytes()].concat();
    let (found, piece) = bytes.split_at_checked(head.len() + 16)?;
    let sound = found == [&head[..], &digest(program, HEAD, piece).to_le_bytes()].concat();
    bytes.drain(..head.len() + 16);
    sound.then_some(bytes)
}

/// The list of pieces in a file that `program` wrote.
fn places(file: &File, program: u128) -> Option<Vec<Place>> {
    let size = file.metadata().ok()?.len();
    let list_end = size.checked_sub(FOOT)?;
    let head = read(file, 0, HEAD).ok()?;
    if head[..KIND.len()] != *KIND || head[KIND.len()..] != program.to_le_bytes() {
        return None;
    }
    let foot_read = read(file, list_end, FOOT).ok()?;
    let number = |at: usize| foot_read[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (at, len) = (number(0)?, number(8)?);
    if at.checked_add(len)? != list_end || len > LONGEST {
        return None;
    }
    let list = read(file, at, len).ok()?;
    if foot(at, len, digest(program, at, &list))[..] != foot_read[..] {
        return None;
    }
    let places: Vec<Place> = postcard::from_bytes(&list).ok()?;
    let inside = |place: &Place| place.at.checked_add(place.len).is_some_and(|end| end <= at);
    places.iter().all(inside).then_some(places)
}

fn digest(program: u128, at: u64, list: &[u8]) -> u128 {
    let mut hash = XxHash3_128::new();
    hash.write(&program.to_le_bytes());
    hash.write(&at.to_le_bytes());
    hash.write(list);
    hash.finish_128()
}

fn foot(at: u64, len: u64, digest: u128) -> Vec<u8> {
    [&at.to_le_bytes()[..], &len.to_le_bytes(), &digest.to_le_bytes()].concat()
}

fn read(file: &File, at: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_of_it_can_be_another_without_being_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, path] =
            ["file", "other", "kept/index"].map(|name| folder.path().join(name));
        fs::write(&file, "one").unwrap();
        fs::write(&other, "two").unwrap();
        let [mark, other_mark] = [&file, &other].map(|file| Mark::of(file).unwrap());
        let shelf = Shelf::open(&path, "me");
        shelf.put(&file, mark, "", b"a piece");
        shelf.put(&other, other_mark, "pi", b"another piece");
        shelf.close();
        let whole = fs::read(&path).unwrap();
        let have = |program: &str| {
            let shelf = Shelf::open(&path, program);
            let piece = |file, mark, asked| shelf.piece(file, asked, |there| there == mark);
            [piece(&file, &mark, ""), piece(&other, &other_mark, "pi")]
        };
        let want = [Some(b"a piece".to_vec()), Some(b"another piece".to_vec())];
        assert_eq!(have("me"), want);
        assert_eq!(have("you"), [None, None]);
        let shelf = Shelf::open(&path, "me");
        assert_eq!(shelf.piece(&file, "", |there| *there == other_mark), None);
        assert_eq!(shelf.piece(&file, "pi", |there| *there == mark), None);
        let mut noticed = 0;
        for at in 0..whole.len() {
            let mut damaged = [1, 0x80, 0xFF].map(|bits| {
                let mut bytes = whole.clone();
                bytes[at] ^= bits;
                bytes
            });
            damaged[0] = whole[..at].to_vec();
            for bytes in damaged {
                fs::write(&path, bytes).unwrap();
                for (have, want) in have("me").into_iter().zip(&want) {
                    assert!(have.is_none() || have == *want, "byte {at}");
                    noticed += usize::from(have.is_none());
                }
            }
        }
        // A byte of one piece leaves the other one whole.
        assert!(noticed > 3 * whole.len(), "{noticed} of {}", whole.len());
    }
}
