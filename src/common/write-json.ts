import { yieldIfDue } from './event-loop.ts'
import { isObject } from './json.ts'
import { PIECE, runsOf, weigh } from './weight.ts'

type Write = (text: string) => void

const second = ([, value]: readonly [string, unknown]) => value

const write = async (value: unknown, out: Write): Promise<void> => {
  const pause = yieldIfDue()
  if (pause) await pause
  if (Array.isArray(value)) {
    let mark = '['
    for (const { items, heavy } of runsOf(value, (item) => item)) {
      out(mark)
      await (heavy ? write(items[0], out) : writeRun(items, out))
      mark = ','
    }
    out(mark === '[' ? '[]' : ']')
  } else if (isObject(value)) {
    let mark = '{'
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    for (const { items, heavy } of runsOf(members, second)) {
      out(mark)
      if (heavy) {
        out(`${JSON.stringify(items[0]?.[0])}:`)
        await write(items[0]?.[1], out)
      } else await writeRun(Object.fromEntries(items), out)
      mark = ','
    }
    out(mark === '{' ? '{}' : '}')
  } else out(JSON.stringify(value ?? null))
}

/** Writes items or members without the surrounding brackets. */
const writeRun = async (items: object, out: Write): Promise<void> => {
  const pause = yieldIfDue()
  if (pause) await pause
  out(JSON.stringify(items).slice(1, -1))
}

/** `JSON.stringify` of plain JSON as long work (event-loop.ts): text, or its UTF-8 when it is large. */
export const writeJson = async (value: unknown): Promise<string | Buffer> => {
  if (weigh(value, PIECE) <= PIECE) return JSON.stringify(value ?? null)
  const pieces: Buffer[] = []
  await write(value, (text) => pieces.push(Buffer.from(text)))
  return Buffer.concat(pieces)
}
