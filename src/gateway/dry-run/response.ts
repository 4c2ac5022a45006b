/** Runs a response transform on a response that the caller supplies: a dry run has no response. */
import { AppError, type Problem } from '../../common/errors.ts'
import { isObject, type Json } from '../../common/json.ts'
import { type Head, type HeaderRules, jsonHeader, prefixed } from '../headers.ts'
import { type CollectedResponse, collectible } from '../transform/response.ts'
import type { TransformRun } from '../transform/run.ts'
import { shownBody } from './bodies.ts'
import { dryRunTransform, type RunWithoutEffects, type TransformPlan } from './transform.ts'

/** The made-up response as the caller would get it, or what it would get instead. */
export interface DryRunResponse {
  readonly status: number
  readonly body: { readonly before?: Json; readonly after?: Json }
  readonly proxy_error?: Problem
}

interface Fixture {
  readonly status: number
  readonly head: Head
  readonly body: Buffer
}

const malformed = (name: string) =>
  new AppError(
    'malformed',
    `The header "${name}" is not a response. Send JSON: {"status":200,"headers":{"content-type":"application/json"},"body":{}}.`,
  )

/**
 * The response in the header; undefined without one. Status 200, and JSON, unless it says otherwise. Throws
 * `malformed`.
 */
export const responseFixture = (head: Head, prefixes: HeaderRules): Fixture | undefined => {
  const sent = prefixed(head, prefixes, 'dryRunResponse')
  if (sent === undefined) return undefined
  const issue = malformed([...prefixes.names.values()][0]!.dryRunResponse)
  const { status = 200, headers = {}, body = '' } = jsonHeader(sent, issue)
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) throw issue
  if (!isObject(headers)) throw issue
  const responseHead = new Map<string, readonly string[]>([['content-type', ['application/json']]])
  for (const [name, value] of Object.entries(headers))
    responseHead.set(name.toLowerCase(), (Array.isArray(value) ? value : [value]).map(String))
  return {
    status,
    head: responseHead,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  }
}

/** Runs the response transform on it, without effects. */
export const dryRunResponse = async (
  { status, head, body }: Fixture,
  run: Omit<TransformRun, 'code'>,
  runWithoutEffects: RunWithoutEffects,
): Promise<{ readonly plan: TransformPlan; readonly response: DryRunResponse }> => {
  const { responseOtherwise } = run.proxy
  // The bytes are here: whether there is a body is known, whatever the headers say.
  const described = new Map([...head, ['content-length', [`${body.length}`]]])
  let collected: CollectedResponse | undefined
  try {
    collected = collectible(described, `${status}`, responseOtherwise, run.limits.rewrittenBytes)
  } catch (thrown) {
    const error = AppError.from(thrown)
    const plan = { ran: false, reason: error.message }
    return { plan, response: { status: error.status, body: {}, proxy_error: error.toProblem() } }
  }
  const contentType = head.get('content-type')?.join(', ')
  const shown = await shownBody({ bytes: body, contentType, contentEncoding: undefined })
  const before = shown === undefined ? {} : { before: shown }
  if (collected?.shape === undefined)
    return {
      plan: { ran: false, reason: 'It runs on 2xx responses with JSON or a form.' },
      response: { status, body: { ...before, ...(shown === undefined ? {} : { after: shown }) } },
    }
  const { plan, after, error } = await dryRunTransform(
    'response_transform',
    { head: collected.head, shape: collected.shape, body },
    run,
    runWithoutEffects,
  )
  return {
    plan,
    response: {
      status,
      body: { ...before, ...(after === undefined ? {} : { after }) },
      ...(error === undefined ? {} : { proxy_error: error.toProblem() }),
    },
  }
}
