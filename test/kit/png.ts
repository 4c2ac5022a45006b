import { PNG } from 'pngjs'

const COLOURS = 256
/** Bytes of a pixel: red, green, blue, opacity. */
const PIXEL = 4

const distance = (a: number, b: number): number =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2

/**
 * The picture with its 256 most frequent colours, others by the nearest of them: fewer bytes for pages of text.
 * Opacity is dropped.
 */
export const withFewColours = (png: Buffer): Buffer => {
  const picture = PNG.sync.read(png)
  const { data } = picture
  const counts = new Map<number, number>()
  for (let at = 0; at < data.length; at += PIXEL) {
    const colour = data.readUIntBE(at, 3)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour)
  const palette = frequent.slice(0, COLOURS)
  const nearest = new Map(
    frequent.map((colour, place) => [
      colour,
      place < COLOURS
        ? colour
        : palette.reduce((best, each) => (distance(each, colour) < distance(best, colour) ? each : best)),
    ]),
  )
  for (let at = 0; at < data.length; at += PIXEL)
    data.writeUIntBE(nearest.get(data.readUIntBE(at, 3)) as number, at, 3)
  // Without filters, and with the usual strategy of zlib, repeated pixels take least.
  return PNG.sync.write(picture, { colorType: 2, filterType: 0, deflateLevel: 9, deflateStrategy: 0 })
}
