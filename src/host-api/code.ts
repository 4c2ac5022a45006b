import { AppError } from '../common/errors.ts'
import { inOwnTurn, yieldIfDue } from '../common/event-loop.ts'
import type { Json } from '../common/json.ts'
import { parseCodeJson } from '../common/json-structure.ts'
import { currentSpan, inSpan, type Span, withinSpan } from '../common/tracing.ts'
import { PIECE } from '../common/weight.ts'
import { writeJson } from '../common/write-json.ts'
import type { Outcome, Sandbox, SandboxHost } from '../sandbox/types.ts'
import type { Code, CodeRun } from '../sdk/index.ts'
import type { CreateSandboxHost } from './host.ts'
import { failureOf } from './outcome.ts'

/** Wall-clock limit of one run, in ms (completions §8). */
export const WALL_MS = 30_000

/** Calls of the code arrive in messages of its process, which belong to no call. */
const calledWithin = (span: Span, host: SandboxHost): SandboxHost => ({
  ...host,
  call: (method, input, signal) => withinSpan(span, () => host.call(method, input, signal)),
})

/** `Code.run` with a host. Calls `onOutcome` before it resolves or rejects. */
export const runCode = async (
  sandbox: Pick<Sandbox, 'run'>,
  host: SandboxHost,
  {
    tenantId,
    name,
    code,
    argument,
    exposeErrorMessages = true,
    wallMs = WALL_MS,
    signal,
    headerPrefixes,
  }: Omit<CodeRun, 'traceId' | 'depth'> & { readonly headerPrefixes?: readonly string[] | undefined },
  onOutcome?: (outcome: Outcome) => void,
): Promise<Json | undefined> => {
  const written = await writeJson(argument)
  const text = await inOwnTurn(() => written.toString())
  const outcome = await inSpan(currentSpan(), 'sandbox', async (span) => {
    const ended = await sandbox.run({
      program: { tenantId, name, code },
      argument: text,
      host: span === undefined ? host : calledWithin(span, host),
      limits: { wallMs: Math.min(wallMs, WALL_MS) },
      signal,
    })
    span?.set({ outcome: ended.kind, ...(ended.kind === 'limit' ? { error: ended.limit } : {}) })
    return ended
  })
  onOutcome?.(outcome)
  if (outcome.kind !== 'returned') throw failureOf(outcome, { name, exposeErrorMessages, headerPrefixes })
  if (outcome.json === undefined) return undefined
  // It has just been received.
  if (outcome.json.length > PIECE) await yieldIfDue(true)
  const result = await parseCodeJson(outcome.json).catch(() => {
    throw new AppError('code_failed', `The ${name} returned a text that is not JSON.`)
  })
  if (result === undefined)
    throw new AppError(
      'code_failed',
      `The ${name} returned more values or names of members than a result may hold. Return fewer.`,
    )
  return result
}

/** The sandbox for plugins. */
export const createCode = ({
  sandbox,
  createHost,
  headerPrefixes,
}: {
  readonly sandbox: Pick<Sandbox, 'run' | 'check'>
  readonly createHost: CreateSandboxHost
  /** Prefixes of the service's headers, which code cannot set. */
  readonly headerPrefixes?: readonly string[] | undefined
}): Code => ({
  run: (run) => runCode(sandbox, createHost(run), { ...run, headerPrefixes }),

  check: (program) => sandbox.check(program),
})
