//! Chains of zstd frames: DSH writes one for the header line and one per batch, each with a checksum.

use std::{
    cell::Cell,
    io::{self, BufRead, Read, Write},
};

use crate::error::{Error, Result};

/// A frame may hold so many bytes, or [`SWELLS`] times as many as it has in the file. Logs are packed ten or fifty times
/// over; a frame beyond both is made to fill a disk.
const PLENTY: u64 = 256 * 1024 * 1024;

/// See [`PLENTY`].
const SWELLS: u64 = 1000;

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// What one frame held.
pub(super) struct Frame {
    /// Bytes in the file.
    pub encoded: u64,
    /// Bytes that came out.
    pub decoded: u64,
    /// Why no more came out.
    pub fault: Option<Fault>,
}

/// Why a frame ended before its end.
pub(super) enum Fault {
    /// The file ends first.
    Incomplete,
    /// The decoder refuses.
    Corrupt(String),
    /// It goes on beyond all measure.
    TooLarge,
}

pub(super) fn is_magic(bytes: [u8; 4]) -> bool {
    bytes == MAGIC
}

/// Counts what a decoder takes from the file.
struct Counted<'a, R> {
    inner: &'a mut R,
    taken: &'a Cell<u64>,
    ended: bool,
}

impl<R: BufRead> Read for Counted<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(out)?;
        self.consume(len);
        Ok(len)
    }
}

impl<R: BufRead> BufRead for Counted<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let buffer = self.inner.fill_buf()?;
        self.ended |= buffer.is_empty();
        Ok(buffer)
    }

    fn consume(&mut self, amount: usize) {
        self.taken.set(self.taken.get() + amount as u64);
        self.inner.consume(amount);
    }
}

/// Decodes the frame that `input` stands at. An error is one of reading or writing; a bad frame is a fault.
pub(super) fn decode(input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Frame> {
    let taken = Cell::new(0);
    let mut counted = Counted { inner: input, taken: &taken, ended: false };
    let mut decoded = 0;
    let mut swells = false;
    let fault = {
        let mut frame = zstd::stream::read::Decoder::with_buffer(&mut counted)?.single_frame();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match frame.read(&mut buffer) {
                Ok(0) => break None,
                Ok(len) => {
                    out.write_all(&buffer[..len])?;
                    decoded += len as u64;
                    if decoded > PLENTY && decoded / SWELLS > taken.get() {
                        swells = true;
                        break None;
                    }
                }
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                Err(error) => break Some(error.to_string()),
            }
        }
    };
    let fault = match fault {
        Some(_) if counted.ended => Some(Fault::Incomplete),
        Some(why) => Some(Fault::Corrupt(why)),
        None => swells.then_some(Fault::TooLarge),
    };
    Ok(Frame { encoded: taken.get(), decoded, fault })
}

/// `bytes` as one frame with a checksum, as DSH writes each batch.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let packed = || -> io::Result<Vec<u8>> {
        let mut encoder =
            zstd::stream::write::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
        encoder.write_all(bytes)?;
        encoder.finish()
    };
    packed().map_err(Error::io("compress", "a frame"))
}
