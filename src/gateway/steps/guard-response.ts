/** The response of a guarded call: no value that its request disclosed reaches the caller (completions §17). */
import { codingsOf } from '../../common/decode-content.ts'
import { AppError } from '../../common/errors.ts'
import { prefixHeaders } from '../../ext-proc/contract.ts'
import { BodySearch } from '../guard/body-search.ts'
import { UnreadableBody } from '../guard/decoder.ts'
import type { Disclosures } from '../guard/disclosures.ts'
import { Findings } from '../guard/findings.ts'
import { digestsIn, searchHead } from '../guard/head-search.ts'
import { recordFindings } from '../guard/record-findings.ts'
import { type Edits, merged } from '../headers.ts'
import type { RequestContext } from '../request-context.ts'
import type { Response } from './receive-response.ts'

/** Bytes for which the headers wait for the result of the search. */
const HELD_BYTES = 65_536

/** Bodies that only their reader can open. */
const ENCRYPTED = /^(?:application\/(?:cose|jose|pkcs7-mime|pgp-encrypted)|multipart\/encrypted)\b/i
const EVENTS = /^text\/event-stream\b/i
const JSON_TYPE = /^[^;]*[/+]json\b/i

const valueInResponse = () =>
  new AppError(
    'value_in_response',
    'The response holds a value that its request disclosed, and is blocked. The destination received the request.',
  )

const unreadable = () =>
  new AppError(
    'response_unreadable',
    'The response cannot be decoded, and so not be searched for values of its request. The destination received the request.',
  )

/** The response as it is. */
const pass = async ({ flow, body, hasBody }: Response, edits: Edits): Promise<void> => {
  await flow.head(edits)
  if (!hasBody) return
  for (;;) {
    const chunk = await body.read()
    if (chunk?.isLast) return flow.end(chunk.bytes)
    if (chunk !== undefined) await flow.write(chunk.bytes)
  }
}

class Search {
  readonly #response: Response
  readonly #disclosures: Disclosures
  readonly #context: RequestContext
  readonly #findings: Findings
  readonly #contentType: string
  #body: BodySearch | undefined
  #isBodyCounted = false

  constructor(response: Response, disclosures: Disclosures, context: RequestContext) {
    this.#response = response
    this.#disclosures = disclosures
    this.#context = context
    this.#findings = new Findings((disclosure) => disclosures.modeFor(disclosure))
    this.#contentType = response.head.get('content-type')?.join(', ') ?? ''
  }

  async run(): Promise<void> {
    const { request } = this.#response
    const { telemetry } = this.#context
    try {
      telemetry.guard = (await this.#pass()) ?? this.#findings.summary
    } catch (thrown) {
      this.#countBody()
      telemetry.guard = thrown instanceof UnreadableBody ? 'unreadable' : this.#findings.summary
      throw thrown instanceof UnreadableBody ? unreadable() : thrown
    } finally {
      this.#countBody()
      const json = JSON_TYPE.test(this.#contentType) ? this.#body?.decoded : undefined
      void recordFindings(this.#findings, json, request, this.#context)
      this.#body?.close()
    }
  }

  /** What to say instead of what was found. */
  async #pass(): Promise<'unreadable' | undefined> {
    const { head, hasBody, flow } = this.#response
    const disclosures = this.#disclosures
    const changed = searchHead(head, disclosures, this.#findings)
    this.#check()
    if (!hasBody) return void (await flow.head(this.#edits(changed, this.#findings.summary)))
    const codings = codingsOf(head.get('content-encoding')?.join(', '))
    const isDecodable = codings !== undefined && codings.length < 2
    if (!isDecodable || ENCRYPTED.test(this.#contentType) || disclosures.needles.isExceeded) {
      if (disclosures.isStrict) throw unreadable()
      disclosures.isUnsearched = true
      await pass(this.#response, this.#edits(changed, 'unreadable'))
      return 'unreadable'
    }
    const [coding] = codings
    this.#body = new BodySearch(disclosures, { contentType: this.#contentType, coding })
    await this.#passBody(this.#body, changed, coding !== undefined)
    return disclosures.needles.isExceeded ? 'unreadable' : undefined
  }

  async #passBody(
    search: BodySearch,
    changed: ReadonlyMap<string, readonly string[]>,
    isDecoded: boolean,
  ): Promise<void> {
    const { body, flow } = this.#response
    let held: Buffer[] | undefined = []
    let size = 0
    const until =
      performance.now() + (EVENTS.test(this.#contentType) ? 0 : this.#context.gateway.options.searchMs)
    const release = async (isComplete: boolean): Promise<void> => {
      if (held === undefined) return
      const pieces = held
      held = undefined
      await flow.head(this.#edits(changed, isComplete ? this.#findings.summary : 'scanning', isDecoded))
      if (size > 0) await flow.write(Buffer.concat(pieces, size))
    }
    for (;;) {
      if (held !== undefined && performance.now() >= until) await release(false)
      const chunk = await body.read(held && Math.max(0, until - performance.now()))
      if (chunk === undefined) continue
      let passed = await search.write(chunk.bytes)
      if (chunk.isLast) passed = Buffer.concat([passed, await search.end()])
      this.#check(search.findings.length > 0)
      if (chunk.isLast) {
        this.#countBody()
        const trailers = chunk.trailers && searchHead(chunk.trailers, this.#disclosures, this.#findings)
        this.#check()
        await release(true)
        return flow.end(passed, trailers && { set: trailers, remove: [] })
      }
      if (held === undefined) {
        if (passed.length > 0) await flow.write(passed)
        continue
      }
      held.push(passed)
      size += passed.length
      if (size >= HELD_BYTES) await release(false)
    }
  }

  #countBody(): void {
    if (this.#isBodyCounted) return
    this.#isBodyCounted = true
    for (const finding of this.#body?.findings ?? []) this.#findings.add(finding, finding.offset)
  }

  #check(isFound = !this.#findings.isEmpty): void {
    if (isFound && this.#disclosures.isBlocking) throw valueInResponse()
  }

  /** Of the headers, which say what was found. */
  #edits(changed: ReadonlyMap<string, readonly string[]>, said: string, isDecoded = false): Edits {
    const { head, edits } = this.#response
    const { prefix } = this.#context
    const mayDiffer =
      isDecoded || (said === 'scanning' ? this.#disclosures.mayReplace : this.#findings.counts.replaced > 0)
    return merged(edits, {
      set: new Map<string, string | readonly string[]>([...changed, [prefixHeaders(prefix).guard, said]]),
      remove: [...(isDecoded ? ['content-encoding'] : []), ...(mayDiffer ? digestsIn(head) : [])],
    })
  }
}

/** Passes the response on. Rejects with `value_in_response` and `response_unreadable`. */
export const guardResponse = async (response: Response, context: RequestContext): Promise<void> => {
  const { disclosures } = context
  const { request, isLocal, edits } = response
  if (disclosures !== undefined && !isLocal && (disclosures.mayGrow || !disclosures.needles.isEmpty))
    return new Search(response, disclosures, context).run()
  const isSaid = !isLocal && request.guard.mode !== 'off'
  if (isSaid) context.telemetry.guard = 'clean'
  const said = new Map(isSaid ? [[prefixHeaders(context.prefix).guard, 'clean']] : [])
  await pass(response, merged(edits, { set: said, remove: [] }))
}
