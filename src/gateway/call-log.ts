/**
 * How calls ended, as Envoy logs them (`envoy.service.accesslog.v3`, control-plane/access-logs.ts). By hand, as
 * decode-request.ts: an entry has some eighty fields, of which a dozen matter here.
 */
import type { Log } from '../common/log.ts'
import type { Call, CallHandler } from '../ext-proc/call.ts'
import { METADATA, type Outcome } from '../ext-proc/contract.ts'
import { Reader } from '../ext-proc/protobuf.ts'
import type { CallEnd } from './call-end.ts'

/** What is read of an entry, before it is known to be complete. */
interface Entry {
  call: string
  status: number
  details: string
  flags: string
  requestBytes: number
  responseBytes: number
  ms: number
  /** The first byte went to the destination, and came from it. */
  isSent: boolean
  hasResponse: boolean
  outcome: string | undefined
  destinationStatus: string | undefined
}

/** Calls back for each field of a message that is itself a field. */
const fields = (reader: Reader, read: (field: number) => void): void => {
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next()) read(field)
  reader.leave(outer)
}

/** An entry of a map, whose value is read by `readValue`. */
const mapEntry = (reader: Reader, readValue: (key: string) => void): void => {
  let key = ''
  fields(reader, (field) => {
    if (field === 1) key = reader.latin1()
    else if (field === 2) readValue(key)
    else reader.skip()
  })
}

/** `google.protobuf.Duration` in ms. */
const duration = (reader: Reader): number => {
  let ms = 0
  fields(reader, (field) => {
    if (field === 1) ms += reader.uint32() * 1_000
    else if (field === 2) ms += reader.uint32() / 1_000_000
    else reader.skip()
  })
  return ms
}

/** `google.protobuf.UInt32Value`. */
const wrapped = (reader: Reader): number => {
  let value = 0
  fields(reader, (field) => {
    if (field === 1) value = reader.uint32()
    else reader.skip()
  })
  return value
}

/** `envoy.config.core.v3.Metadata`: the member `call` of our namespace. */
const readMetadata = (reader: Reader, entry: Entry): void =>
  fields(reader, (field) => {
    if (field !== 1) reader.skip()
    else
      mapEntry(reader, (namespace) => {
        if (namespace !== METADATA) reader.skip()
        else
          fields(reader, (member) => {
            if (member !== 1) reader.skip()
            else
              mapEntry(reader, (name) => {
                if (name !== 'call') reader.skip()
                else
                  fields(reader, (kind) => {
                    if (kind === 3) entry.call = reader.latin1()
                    else reader.skip()
                  })
              })
          })
      })
  })

/** `AccessLogCommon`. */
const readCommon = (reader: Reader, entry: Entry): void =>
  fields(reader, (field) => {
    if (field === 7) {
      entry.isSent = true
      reader.skip()
    } else if (field === 9) {
      entry.hasResponse = true
      reader.skip()
    } else if (field === 17) readMetadata(reader, entry)
    else if (field === 22)
      mapEntry(reader, (tag) => {
        if (tag === 'flags') entry.flags = reader.latin1()
        else reader.skip()
      })
    else if (field === 23) entry.ms = duration(reader)
    else reader.skip()
  })

/** `HTTPRequestProperties`. */
const readRequest = (reader: Reader, entry: Entry): void =>
  fields(reader, (field) => {
    if (field === 12) entry.requestBytes = reader.uint64()
    else reader.skip()
  })

/** `HTTPResponseProperties`. */
const readResponse = (reader: Reader, entry: Entry): void =>
  fields(reader, (field) => {
    if (field === 1) entry.status = wrapped(reader)
    else if (field === 3) entry.responseBytes = reader.uint64()
    else if (field === 4)
      mapEntry(reader, (name) => {
        if (name.endsWith('-proxy-outcome')) entry.outcome = reader.latin1()
        else if (name.endsWith('-proxy-destination-status')) entry.destinationStatus = reader.latin1()
        else reader.skip()
      })
    else if (field === 6) entry.details = reader.latin1()
    else reader.skip()
  })

const OUTCOMES: readonly string[] = ['answered', 'not_sent', 'unknown'] satisfies readonly Outcome[]

/** What the response to the caller said, if there was one. */
const outcomeOf = ({ outcome, isSent, hasResponse }: Entry): Outcome => {
  if (outcome !== undefined && OUTCOMES.includes(outcome)) return outcome as Outcome
  if (hasResponse) return 'answered'
  return isSent ? 'unknown' : 'not_sent'
}

const readEntry = (reader: Reader): CallEnd => {
  const entry: Entry = {
    call: '',
    status: 0,
    details: '',
    flags: '',
    requestBytes: 0,
    responseBytes: 0,
    ms: 0,
    isSent: false,
    hasResponse: false,
    outcome: undefined,
    destinationStatus: undefined,
  }
  fields(reader, (field) => {
    if (field === 1) readCommon(reader, entry)
    else if (field === 3) readRequest(reader, entry)
    else if (field === 4) readResponse(reader, entry)
    else reader.skip()
  })
  const { call, status, details, requestBytes, responseBytes, ms, destinationStatus } = entry
  return {
    call,
    outcome: outcomeOf(entry),
    status,
    destinationStatus: destinationStatus === undefined ? undefined : Number(destinationStatus),
    details,
    flags: entry.flags === '-' ? '' : entry.flags,
    requestBytes,
    responseBytes,
    ms,
  }
}

/** `StreamAccessLogsMessage`. Throws WireError on bytes that are no message. */
const decodeCallLog = (bytes: Buffer): readonly CallEnd[] => {
  const reader = new Reader(bytes)
  const ends: CallEnd[] = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field !== 2) reader.skip()
    else
      fields(reader, (entry) => {
        if (entry === 1) ends.push(readEntry(reader))
        else reader.skip()
      })
  return ends
}

/** Serves one stream of Envoy's access log, which ends with Envoy. */
export const serveCallLog = (call: Call, ended: (end: CallEnd) => void, log: Log): CallHandler => ({
  message: (bytes) => {
    try {
      for (const end of decodeCallLog(bytes)) ended(end)
    } catch (err) {
      log.error({ err }, 'log of calls not read')
      call.reset()
    }
  },
  end: () => call.end(),
  gone: () => {},
})
