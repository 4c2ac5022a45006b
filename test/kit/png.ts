import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}

const chunksOf = (png: Buffer): ReadonlyMap<string, Buffer> => {
  const chunks = new Map<string, Buffer>()
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + length)
    chunks.set(type, Buffer.concat([chunks.get(type) ?? Buffer.alloc(0), data]))
    at += 12 + length
  }
  return chunks
}

/** The predictor "Paeth" of PNG (https://www.w3.org/TR/png-3/#9Filter-types). */
const paeth = (left: number, up: number, corner: number): number => {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** Bytes of the pixels, without filters. */
const unfilter = (data: Buffer, stride: number, size: number): Buffer => {
  const rows = data.length / (stride + 1)
  const out = Buffer.alloc(rows * stride)
  for (let row = 0; row < rows; row++) {
    const filter = data[row * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const at = row * stride + x
      const left = x < size ? 0 : (out[at - size] ?? 0)
      const up = row === 0 ? 0 : (out[at - stride] ?? 0)
      const corner = row === 0 || x < size ? 0 : (out[at - stride - size] ?? 0)
      const guess =
        [0, left, up, (left + up) >> 1, filter === 4 ? paeth(left, up, corner) : 0][filter ?? 0] ?? 0
      out[at] = (data[row * (stride + 1) + 1 + x] ?? 0) + guess
    }
  }
  return out
}

const distance = (a: number, b: number): number =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2

/**
 * A picture with its 256 most frequent colours, others by the nearest of them: a third of the size for pages of text.
 * Reads 8-bit RGB and RGBA without interlacing, as Chromium writes them; opacity is dropped.
 */
export const toPalette = (png: Buffer): Buffer => {
  const chunks = chunksOf(png)
  const header = chunks.get('IHDR') ?? Buffer.alloc(13)
  const [width, height, depth, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8], header[9]]
  if (depth !== 8 || (kind !== 2 && kind !== 6) || header[12] !== 0) throw new Error('cannot read this PNG')
  const size = kind === 2 ? 3 : 4
  const pixels = unfilter(inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0)), width * size, size)
  const colours = new Uint32Array(width * height)
  const counts = new Map<number, number>()
  for (let at = 0; at < colours.length; at++) {
    const colour = pixels.readUIntBE(at * size, 3)
    colours[at] = colour
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const palette = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 256)
    .map(([colour]) => colour)
  const places = new Map(palette.map((colour, at) => [colour, at]))
  const place = (colour: number): number => {
    const known = places.get(colour)
    if (known !== undefined) return known
    const nearest = palette.reduce(
      (best, one, at) => (distance(one, colour) < distance(palette[best] ?? 0, colour) ? at : best),
      0,
    )
    places.set(colour, nearest)
    return nearest
  }
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = place(colours[y * width + x] ?? 0)
  const entries = Buffer.alloc(palette.length * 3)
  for (const [at, colour] of palette.entries()) entries.writeUIntBE(colour, at * 3, 3)
  const changed = Buffer.from(header)
  changed[9] = 3
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', changed),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
