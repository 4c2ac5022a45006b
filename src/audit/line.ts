import type { AuditRecord } from './types.ts'

/** A keyed digest in hex; the service's `audit` key (see Keys.mac). */
export type Mac = (data: string | Buffer) => string

/** Maximum length of a line; no journal writes a longer one. */
export const LONGEST_LINE = 16_384

const LONGEST_MESSAGE = 250
const HASH = 64
/** `,"hash":"…"}` */
const TAIL = 9 + HASH + 2

/** Hash before the first record. It names the journal, so that files of two journals cannot be exchanged. */
export const genesis = (mac: Mac, name: string): string => mac(`sidevault journal ${name}`)

/** At most 250 characters, without half a surrogate pair at the end. */
const shorten = (message: string): string =>
  message.length <= LONGEST_MESSAGE
    ? message
    : message.slice(0, LONGEST_MESSAGE).replace(/[\ud800-\udbff]$/, '')

/** Text that every engine stores unchanged: no U+0000 (PostgreSQL rejects it), no half of a surrogate pair. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

const orNull = (text: string | null): string | null => (text === null ? null : storable(text))

/**
 * Values of a record in a line, in this fixed order; new ones are appended. Member names would take a quarter of each
 * line. Listed one by one: no other member of an object may reach the journal.
 */
const valuesOf = (record: AuditRecord) =>
  [
    storable(record.tenant_id),
    storable(record.entity_type),
    storable(record.entity_id),
    storable(record.operation),
    orNull(record.actor_id),
    orNull(record.actor_type),
    shorten(storable(record.message)),
    storable(record.trace_id),
    record.created_at,
    record.token_seq ?? null,
  ] as const

type Values = ReturnType<typeof valuesOf>

/** Record of a line. */
export const recordOf = (values: Values): AuditRecord => {
  const [tenant_id, entity_type, entity_id, operation, actor_id, ...others] = values
  const [actor_type, message, trace_id, created_at, token_seq] = others
  return {
    tenant_id,
    entity_type,
    entity_id,
    operation,
    actor_id,
    actor_type,
    message,
    trace_id,
    created_at,
    ...(token_seq === null ? {} : { token_seq }),
  }
}

export interface ChainLine {
  readonly seq: number
  readonly record: AuditRecord
  readonly hash: string
}

const bodyOf = (seq: number, values: Values): string => `{"seq":${seq},"record":${JSON.stringify(values)}`

/** Hash of a record with number `seq` after a record with the hash `previous`. */
export const hashOf = (mac: Mac, previous: string, seq: number, record: AuditRecord): string =>
  mac(previous + bodyOf(seq, valuesOf(record)))

/** The next line of a chain: its text with a newline, its hash being `mac(previous hash + the text up to its own hash)`. */
export const writeLine = (
  mac: Mac,
  previous: string,
  seq: number,
  given: AuditRecord,
): ChainLine & { readonly text: string } => {
  const values = valuesOf(given)
  const body = bodyOf(seq, values)
  const hash = mac(previous + body)
  return { seq, record: recordOf(values), hash, text: `${body},"hash":"${hash}"}\n` }
}

/** The hash that a line states, or undefined when its form is invalid. */
export const claimedHash = (line: Buffer): string | undefined =>
  /^,"hash":"([0-9a-f]{64})"\}$/.exec(line.subarray(Math.max(0, line.length - TAIL)).toString('latin1'))?.[1]

/** The sequence number that a line states, or undefined when its form is invalid. */
export const claimedSeq = (line: Buffer): number | undefined => {
  const match = /^\{"seq":([1-9]\d{0,15}),/.exec(line.subarray(0, 40).toString('latin1'))
  return match === null ? undefined : Number(match[1])
}

/** Parses a line (without its newline) that follows `previous`; undefined when any byte was altered. */
export const readLine = (mac: Mac, previous: string, line: Buffer): ChainLine | undefined => {
  const hash = claimedHash(line)
  if (hash === undefined) return undefined
  const body = line.subarray(0, line.length - TAIL)
  if (mac(Buffer.concat([Buffer.from(previous), body])) !== hash) return undefined
  // Only a journal can have written these bytes, so their form is valid.
  const { seq, record } = JSON.parse(`${body.toString('utf8')}}`)
  return { seq, record: recordOf(record), hash }
}
