import { AppError } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import type { Code, CodeRun, StoredProxy } from '../../sdk/index.ts'
import type { Edits } from '../headers.ts'
import { type Message, runTransform, type TransformName, type TransformRun } from '../transform/run.ts'
import { shownBody } from './bodies.ts'
import { bodyChanges, type Changes, headerChanges } from './changes.ts'

/** Console output of code, and its times in ms. */
interface Observed {
  readonly console: readonly { readonly level: string; readonly text: string }[]
  readonly timing: { readonly waited: number; readonly cpu: number; readonly wall: number }
}

/** `Code.run` without host functions; `observe` is called also when it rejects. */
export type RunWithoutEffects = (
  run: CodeRun,
  observe: (observe: Observed) => void,
) => ReturnType<Code['run']>

export interface TransformPlan extends Partial<Observed> {
  readonly ran: boolean
  /** Why it did not run. */
  readonly reason?: string
  readonly headers?: Changes
  readonly body?: Changes
}

export interface DryRunTransform {
  readonly plan: TransformPlan
  /** The body that goes out, if it can be shown. */
  readonly after?: Json | undefined
  /** Error of the transform. */
  readonly error?: AppError
}

/** Names in the place of values, for callers who may not read the proxy. */
export const withoutConfiguration = (proxy: StoredProxy): StoredProxy => ({
  ...proxy,
  configuration: Object.fromEntries(Object.keys(proxy.configuration).map((name) => [name, `[${name}]`])),
})

const contentTypeOf = ({ head }: Message, { set, remove }: Edits): string | undefined => {
  if (remove.includes('content-type')) return undefined
  return [set.get('content-type') ?? head.get('content-type') ?? []].flat().join(', ')
}

/** Runs a transform on a message with masked or made-up values, and reports its changes. */
export const dryRunTransform = async (
  name: TransformName,
  message: Message,
  run: Omit<TransformRun, 'code'>,
  runWithoutEffects: RunWithoutEffects,
): Promise<DryRunTransform> => {
  const { head, stripped = [], body } = message
  let observed: Partial<Observed> = {}
  const code: TransformRun['code'] = {
    run: (codeRun) =>
      runWithoutEffects(codeRun, ({ console, timing }) => {
        observed = { console, timing }
      }),
  }
  const shown = (bytes: Buffer, contentType: string | undefined) =>
    bytes.length === 0 ? Promise.resolve({}) : shownBody({ bytes, contentType, contentEncoding: undefined })
  try {
    const { edits, body: result } = await runTransform(name, message, { ...run, code })
    const before = await shown(body, head.get('content-type')?.join(', '))
    const after = await shown(result, contentTypeOf(message, edits))
    const changes = before === undefined || after === undefined ? {} : { body: bodyChanges(before, after) }
    return {
      plan: { ran: true, ...observed, headers: headerChanges(head, stripped, edits), ...changes },
      after,
    }
  } catch (thrown) {
    const error = AppError.from(thrown)
    if (error.code === 'internal') throw thrown
    return { plan: { ran: true, ...observed }, error }
  }
}
