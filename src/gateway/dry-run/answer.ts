/** What a response transform would make of an answer that the caller made up, as a dry run has none of its own. */
import { AppError, type Problem } from '../../common/errors.ts'
import { isObject, type Json } from '../../common/json.ts'
import { type BrandRules, branded, type Head } from '../headers.ts'
import { type CollectedAnswer, collectible } from '../transform/answer.ts'
import type { TransformRun } from '../transform/run.ts'
import { shownBody } from './bodies.ts'
import { type RunIdle, rehearseTransform, type TransformPlan } from './transform.ts'

/** The made-up answer as the caller would get it, or what it would get instead. */
export interface RehearsedAnswer {
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
    `The header "${name}" is no answer. Send JSON: {"status":200,"headers":{"content-type":"application/json"},"body":{}}.`,
  )

/** The answer in the header; undefined without one. Status 200, and JSON, unless it says otherwise. Throws `malformed`. */
export const answerFixture = (head: Head, brands: BrandRules): Fixture | undefined => {
  const sent = branded(head, brands, 'dryRunAnswer')
  if (sent === undefined) return undefined
  const fault = malformed([...brands.names.values()][0]!.dryRunAnswer)
  let given: unknown
  try {
    given = JSON.parse(Buffer.from(sent, 'latin1').toString())
  } catch {
    throw fault
  }
  if (!isObject(given)) throw fault
  const { status = 200, headers = {}, body = '' } = given
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) throw fault
  if (!isObject(headers)) throw fault
  const answerHead = new Map<string, readonly string[]>([['content-type', ['application/json']]])
  for (const [name, value] of Object.entries(headers))
    answerHead.set(name.toLowerCase(), (Array.isArray(value) ? value : [value]).map(String))
  return {
    status,
    head: answerHead,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  }
}

/** Runs the response transform on it, without effects. */
export const rehearseAnswer = async (
  { status, head, body }: Fixture,
  run: Omit<TransformRun, 'code'>,
  runIdle: RunIdle,
): Promise<{ readonly plan: TransformPlan; readonly answer: RehearsedAnswer }> => {
  const { responseOtherwise } = run.proxy
  // The bytes are here: whether there is a body is known, whatever the headers say.
  const described = new Map([...head, ['content-length', [`${body.length}`]]])
  let collected: CollectedAnswer | undefined
  try {
    collected = collectible(described, `${status}`, responseOtherwise, run.limits.rewrittenBytes)
  } catch (thrown) {
    const error = AppError.from(thrown)
    const plan = { ran: false, reason: error.message }
    return { plan, answer: { status: error.status, body: {}, proxy_error: error.toProblem() } }
  }
  const contentType = head.get('content-type')?.join(', ')
  const shown = shownBody({ bytes: body, contentType, contentEncoding: undefined })
  const before = shown === undefined ? {} : { before: shown }
  if (collected?.shape === undefined)
    return {
      plan: { ran: false, reason: 'It runs on 2xx answers with JSON or a form.' },
      answer: { status, body: { ...before, ...(shown === undefined ? {} : { after: shown }) } },
    }
  const { plan, after, error } = await rehearseTransform(
    'response_transform',
    { head: collected.head, shape: collected.shape, body },
    run,
    runIdle,
  )
  return {
    plan,
    answer: {
      status,
      body: { ...before, ...(after === undefined ? {} : { after }) },
      ...(error === undefined ? {} : { proxy_error: error.toProblem() }),
    },
  }
}
