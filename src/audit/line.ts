import { AppError } from '../common/errors.ts'
import type { AuditRecord } from './types.ts'

/** A keyed digest in hex; the service's `audit` key (see Keys.mac). */
export type Mac = (data: string | Buffer) => string

/** Maximum length of a line; no journal writes a longer one. */
export const MAX_LINE_LENGTH = 16_384

const MAX_MESSAGE_LENGTH = 250
const HASH = 64
/** `,"hash":"…"}` */
const TAIL = 9 + HASH + 2
/** Bytes of a line besides its call and its events, at most. */
const FRAME = 128
/** Maximum records of a line. */
const MAX_RECORDS = 100

/** Hash before the first record. It names the journal, so that files of two journals cannot be exchanged. */
export const genesis = (mac: Mac, name: string): string => mac(`sidevault journal ${name}`)

/** At most 250 characters, without half a surrogate pair at the end. */
const shorten = (message: string): string =>
  message.length <= MAX_MESSAGE_LENGTH
    ? message
    : message.slice(0, MAX_MESSAGE_LENGTH).replace(/[\ud800-\udbff]$/, '')

/** Text that every engine stores unchanged: no U+0000 (PostgreSQL rejects it), no half of a surrogate pair. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

const orNull = (text: string | null): string | null => (text === null ? null : storable(text))

/** Members that the records of a line have in common, in the order of the line; new values are appended. */
export const CALL = ['tenant_id', 'actor_id', 'actor_type', 'trace_id'] as const

/** Values of each record, in the order of the line. Member names would take a quarter of it. */
export const EVENT = [
  'entity_type',
  'entity_id',
  'operation',
  'message',
  'created_at',
  'token_seq',
  'surfaces',
  'disclosure',
  'labels',
] as const

type Values<N extends readonly (keyof AuditRecord)[]> = { readonly [I in keyof N]: AuditRecord[N[I]] }
type CallValues = Values<typeof CALL>
type EventValues = Values<typeof EVENT>

/** The record as it is stored. Listed one by one: no other member of an object may reach the journal. */
const storedForm = (record: AuditRecord): AuditRecord => {
  const { created_at, token_seq, surfaces, disclosure, labels } = record
  const actor_id = orNull(record.actor_id)
  const actor_type = orNull(record.actor_type)
  return {
    tenant_id: storable(record.tenant_id),
    entity_type: storable(record.entity_type),
    entity_id: storable(record.entity_id),
    operation: storable(record.operation),
    actor_id,
    actor_type,
    message: shorten(storable(record.message)),
    trace_id: storable(record.trace_id),
    created_at,
    ...(token_seq === undefined ? {} : { token_seq }),
    ...(surfaces === undefined ? {} : { surfaces: storable(surfaces) }),
    ...(disclosure === undefined ? {} : { disclosure }),
    ...(labels === undefined ? {} : { labels: storable(labels) }),
  }
}

const callOf = (record: AuditRecord): string => JSON.stringify(CALL.map((name) => record[name]))

/** Number of values that each record has. */
const REQUIRED = EVENT.indexOf('surfaces')

/** Without absent values at its end, as records of earlier versions were written: their hashes hold. */
const eventOf = (record: AuditRecord): string => {
  const values = EVENT.map((name) => record[name] ?? null)
  while (values.length > REQUIRED && values.at(-1) === null) values.pop()
  return JSON.stringify(values)
}

type OptionalValues = EventValues extends readonly [
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  ...infer Rest,
]
  ? Rest
  : never

/** Without absent values. */
const optionalOf = ([token_seq, surfaces, disclosure, labels]: OptionalValues) => ({
  ...(token_seq === null || token_seq === undefined ? {} : { token_seq }),
  ...(surfaces === null || surfaces === undefined ? {} : { surfaces }),
  ...(disclosure === null || disclosure === undefined ? {} : { disclosure }),
  ...(labels === null || labels === undefined ? {} : { labels }),
})

/** Records of a line. */
const recordsOf = (
  [tenant_id, actor_id, actor_type, trace_id]: CallValues,
  events: readonly EventValues[],
): readonly AuditRecord[] =>
  events.map(([entity_type, entity_id, operation, message, created_at, ...optional]) => ({
    tenant_id,
    entity_type,
    entity_id,
    operation,
    actor_id,
    actor_type,
    message,
    trace_id,
    created_at,
    ...optionalOf(optional),
  }))

/** Records of one call. They are numbered one by one; `seq` and `hash` are those of the last one. */
export interface ChainLine {
  readonly seq: number
  readonly records: readonly AuditRecord[]
  readonly hash: string
}

/** Number of the first record of a line. */
export const firstSeqOf = ({ seq, records }: ChainLine): number => seq - records.length + 1

/** Records of a line, encoded. */
interface LineDraft {
  readonly records: readonly AuditRecord[]
  readonly call: string
  readonly events: readonly string[]
}

/** Lines of one write: consecutive records of a call share a line. */
export class LineDrafts {
  readonly lines: (LineDraft & { readonly records: AuditRecord[]; readonly events: string[] })[] = []
  /** Upper bound of the bytes of the last line. */
  #bytes = 0

  /** All or none: throws `internal` when one of the records is too long for a line. */
  add(records: readonly AuditRecord[]): void {
    const encoded = records.map((record) => {
      const stored = storedForm(record)
      const call = callOf(stored)
      const event = eventOf(stored)
      const [callBytes, bytes] = [Buffer.byteLength(call), Buffer.byteLength(event) + 1]
      if (callBytes + bytes + FRAME > MAX_LINE_LENGTH)
        throw new AppError('internal', 'An audit record exceeds the maximum line length.')
      return { stored, call, event, callBytes, bytes }
    })
    for (const { stored, call, event, callBytes, bytes } of encoded) {
      const last = this.lines.at(-1)
      if (
        last !== undefined &&
        last.call === call &&
        last.records.length < MAX_RECORDS &&
        this.#bytes + bytes <= MAX_LINE_LENGTH
      ) {
        last.records.push(stored)
        last.events.push(event)
        this.#bytes += bytes
      } else {
        this.lines.push({ records: [stored], call, events: [event] })
        this.#bytes = FRAME + callBytes + bytes
      }
    }
  }
}

const bodyOf = (seq: number, call: string, events: readonly string[]): string =>
  `{"seq":${seq},"call":${call},"records":[${events.join(',')}]`

/**
 * Hash of the line of these records, the last one with number `seq`, after the hash `previous`. Undefined when they are
 * not of one call.
 */
export const hashOf = (
  mac: Mac,
  previous: string,
  seq: number,
  records: readonly AuditRecord[],
): string | undefined => {
  const [call, ...others] = new Set(records.map(callOf))
  if (call === undefined || others.length > 0) return undefined
  return mac(previous + bodyOf(seq, call, records.map(eventOf)))
}

/**
 * The line after record `after` of a chain: its text with a newline, its hash being `mac(previous hash + the text up to
 * its own hash)`.
 */
export const writeLine = (
  mac: Mac,
  previous: string,
  after: number,
  { records, call, events }: LineDraft,
): ChainLine & { readonly text: string } => {
  const seq = after + records.length
  const body = bodyOf(seq, call, events)
  const hash = mac(previous + body)
  return { seq, records, hash, text: `${body},"hash":"${hash}"}\n` }
}

/** The hash that a line states, or undefined when its form is invalid. */
export const claimedHash = (line: Buffer): string | undefined =>
  /^,"hash":"([0-9a-f]{64})"\}$/.exec(line.subarray(Math.max(0, line.length - TAIL)).toString('latin1'))?.[1]

/** The number of its last record that a line states, or undefined when its form is invalid. */
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
  const { seq, call, records } = JSON.parse(`${body.toString('utf8')}}`)
  return { seq, records: recordsOf(call, records), hash }
}
