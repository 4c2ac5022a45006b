/** Verdicts of plugins on a call (completions §18). They see metadata, and no value is open yet. */
import type { AppError } from '../../common/errors.ts'
import type { Eventual } from '../../common/eventual.ts'
import type { CheckedCall, CheckedToken } from '../../sdk/index.ts'
import { checkError, type RunningCheck, TOTAL_MS } from '../checks.ts'
import { type CheckPlan, planOfCheck } from '../dry-run/checks.ts'
import type { responseFixture } from '../dry-run/response.ts'
import type { Identified, Planned, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Response } from './receive-response.ts'

const MEDIA_TYPE = /^\s*([\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60})\s*(?:;|$)/

/** The part of a call that is checked. */
interface CheckedPart {
  readonly destination: CheckedCall['destination']
  readonly contentType?: string | undefined
  /** Tokens that it names. */
  readonly ids: readonly string[]
  readonly streamed: boolean
}

const tokensOf = async (
  { caller }: Identified,
  ids: readonly string[],
  { gateway: { deps } }: RequestContext,
): Promise<readonly CheckedToken[]> => {
  if (ids.length === 0) return []
  const containers = await deps.vault.known(ids, { caller, now: deps.clock.now() })
  return [...containers].map(([id, container]) => Object.freeze({ id, container }))
}

const named = (id: string, name: string | undefined) =>
  Object.freeze({ id, ...(name === undefined ? {} : { name }) })

/** A call for its checks, which that of its response is checked with, too. */
const callOf = async (
  request: Identified,
  { destination, contentType, ids, streamed }: CheckedPart,
  context: RequestContext,
): Promise<CheckedCall> => {
  const { caller, proxy, method, dryRun } = request
  const { requestBytes } = context.telemetry
  const mediaType = MEDIA_TYPE.exec(contentType ?? '')?.[1]?.toLowerCase()
  return Object.freeze({
    trace_id: context.traceId,
    tenant_id: caller.tenantId,
    dry_run: dryRun,
    ...(caller.applicationId === undefined
      ? {}
      : { application: named(caller.applicationId, caller.applicationName) }),
    ...(proxy === undefined ? {} : { proxy: named(proxy.id, proxy.name) }),
    destination: Object.freeze(destination),
    method,
    ...(mediaType === undefined ? {} : { content_type: mediaType }),
    ...(requestBytes === undefined ? {} : { request_bytes: requestBytes }),
    streamed,
    tokens: Object.freeze(await tokensOf(request, ids, context)),
  })
}

const partOf = (
  { destination: { upstream, host, port }, contentType }: Resolved,
  ids: readonly string[],
  streamed: boolean,
): CheckedPart => ({
  destination: { scheme: upstream === 'http' ? 'http' : 'https', host, port },
  contentType,
  ids,
  streamed,
})

/** ms that are left of `TOTAL_MS` from now. */
const timeLeft = ({ gateway: { deps } }: RequestContext): (() => number) => {
  const end = deps.steadyClock.now() + TOTAL_MS
  return () => Math.max(0, end - deps.steadyClock.now())
}

/** Rejects with `denied_by_plugin` and `check_unavailable`. Labels are in the journal when it resolves. */
const enforce = async (
  checks: readonly RunningCheck[],
  call: CheckedCall,
  context: RequestContext,
): Promise<void> => {
  const { telemetry } = context
  const left = timeLeft(context)
  for (const check of checks) {
    const result = await check.run(call, left())
    if (result.verdict === 'labeled') await telemetry.labeled(check.name, result.labels)
    if (result.verdict === 'denied') telemetry.denial = `check "${check.name}", ${result.code}`
    const error = checkError(check, result)
    if (error !== undefined) throw error
  }
}

const checked = async <T extends Planned>(request: T, context: RequestContext): Promise<T> => {
  const ids = request.plan?.ids ?? []
  context.checked = await callOf(request, partOf(request, ids, request.sent === undefined), context)
  await enforce(context.gateway.checks?.request ?? [], context.checked, context)
  return request
}

/** Asks the checks on requests. Rejects with `denied_by_plugin` and `check_unavailable`. */
export const check = <T extends Planned>(request: T, context: RequestContext): Eventual<T> =>
  context.gateway.checks === undefined ? request : checked(request, context)

/** The same for tokens of a streamed body. */
export const checkBatch = async (
  request: Resolved,
  ids: readonly string[],
  context: RequestContext,
): Promise<void> =>
  enforce(
    context.gateway.checks?.request ?? [],
    await callOf(request, partOf(request, ids, true), context),
    context,
  )

/** The same for a tunnel that is passed on unopened: requests inside an opened one are checked by themselves. */
export const checkTunnel = <T extends Identified & { host: string; port: number; isOpened: boolean }>(
  target: T,
  context: RequestContext,
): Eventual<T> => {
  const { host, port, isOpened } = target
  const { checks } = context.gateway
  if (checks === undefined || isOpened) return target
  const part = { destination: { scheme: 'https', host, port }, ids: [], streamed: false } as const
  return callOf(target, part, context)
    .then((call) => enforce(checks.request, call, context))
    .then(() => target)
}

const withResponse = (call: CheckedCall, status: number, ms: number, bytes: number | undefined) =>
  Object.freeze({
    ...call,
    response: Object.freeze({ status, ms, ...(bytes === undefined ? {} : { bytes }) }),
  })

/** Asks the checks on responses, before any of the destination's goes to the caller. */
export const checkResponse = (response: Response, context: RequestContext): Eventual<Response> => {
  const { checks, deps } = context.gateway
  const { request, head, isLocal } = response
  if (checks === undefined || checks.response.length === 0 || isLocal) return response
  if (context.checked === undefined) throw new Error('a response to a request that was not checked')
  const announced = Number(head.get('content-length')?.[0])
  const call = withResponse(
    context.checked,
    Number(context.telemetry.destinationStatus),
    Math.round(deps.steadyClock.now() - request.since),
    Number.isSafeInteger(announced) ? announced : undefined,
  )
  return enforce(checks.response, call, context).then(() => response)
}

/** A dry run with the verdicts of checks. */
export interface Checked {
  readonly checks: readonly CheckPlan[] | undefined
  /** Why the call would be rejected for them. */
  readonly denial: AppError | undefined
}

/**
 * Verdicts in a dry run. All checks on requests run, also behind a denial; those on responses where the caller gave a
 * response.
 */
export const tryChecks = async <T extends Planned & { fixture: ReturnType<typeof responseFixture> }>(
  request: T,
  context: RequestContext,
): Promise<T & Checked> => {
  const { checks } = context.gateway
  if (checks === undefined) return { ...request, checks, denial: undefined }
  const call = await callOf(request, partOf(request, request.plan?.ids ?? [], false), context)
  const left = timeLeft(context)
  const plans: CheckPlan[] = []
  let denial: AppError | undefined
  for (const each of checks.request) {
    const result = await each.run(call, left())
    plans.push(planOfCheck(each, result))
    denial ??= checkError(each, result)
  }
  const { fixture } = request
  const responded = fixture && withResponse(call, fixture.status, 0, fixture.body.length)
  for (const each of checks.response)
    plans.push(planOfCheck(each, responded && (await each.run(responded, left()))))
  return { ...request, checks: plans, denial }
}
