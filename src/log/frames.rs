//! Chains of zstd frames: DSH writes one for the header line and one per batch, each with a checksum.

use std::io::{self, BufRead, Read, Write};

use crate::error::{Error, Result};

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
}

pub(super) fn is_magic(bytes: [u8; 4]) -> bool {
    bytes == MAGIC
}

/// Counts what a decoder takes from the file.
struct Counted<'a, R> {
    inner: &'a mut R,
    taken: u64,
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
        self.taken += amount as u64;
        self.inner.consume(amount);
    }
}

/// Decodes the frame that `input` stands at. An error is one of reading or writing; a bad frame is a fault.
pub(super) fn decode(input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Frame> {
    let mut counted = Counted { inner: input, taken: 0, ended: false };
    let mut decoded = 0;
    let fault = {
        let mut frame = zstd::stream::read::Decoder::with_buffer(&mut counted)?.single_frame();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match frame.read(&mut buffer) {
                Ok(0) => break None,
                Ok(len) => {
                    out.write_all(&buffer[..len])?;
                    decoded += len as u64;
                }
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                Err(error) => break Some(error.to_string()),
            }
        }
    };
    let fault =
        fault.map(|why| if counted.ended { Fault::Incomplete } else { Fault::Corrupt(why) });
    Ok(Frame { encoded: counted.taken, decoded, fault })
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
