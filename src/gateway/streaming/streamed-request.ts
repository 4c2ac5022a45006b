/** One request whose body goes on as it comes (docs/guides/streaming.md), from its headers to the last piece. */
import { AppError } from '../../common/errors.ts'
import type { Expressions } from '../../expressions/types.ts'
import { growingWork } from '../../expressions/work.ts'
import type { Caller, UsedToken, Vault } from '../../sdk/index.ts'
import type { Admission } from '../admission.ts'
import { createPartReader } from '../body/parts.ts'
import type { BodyLimits } from '../body/rewrite.ts'
import { checkUse, languageOf } from '../detokenize.ts'
import { type EffectiveCallerDeps, effectiveCaller } from '../effective-caller.ts'
import { type Edits, type Head, type HeaderRules, strippedNames } from '../headers.ts'
import { type IdentifyDeps, identifyAgain, ownerOf } from '../identify.ts'
import type { RequestRecord, RequestRecordDeps } from '../request-record.ts'
import type { ResolvedRequest } from '../resolve-request.ts'
import type { StepTimeout } from '../step-timeout.ts'
import type { Timed } from '../timings.ts'
import type { BodyStream, ExtProcReply } from '../types.ts'
import { checkStreamable, pipeBody, type UploadLimits } from './pipe-body.ts'

export interface StreamedRequestDeps
  extends IdentifyDeps,
    EffectiveCallerDeps,
    Pick<RequestRecordDeps, 'clock'> {
  readonly vault: Pick<Vault, 'use'>
  readonly expressions: Expressions
  readonly admission: Admission
  /** Of bodies that go on in pieces, from their first to their last. */
  readonly uploads: Admission
  /** Where a host is to be dialed, `<address>:<port>`. Absent: no body goes on in pieces. */
  readonly dial?: ((host: string, port: number) => Promise<string>) | undefined
}

export interface StreamedRequestOptions {
  readonly stepMs: number
  readonly body: BodyLimits
  readonly upload: UploadLimits
}

/** What the exchange knows of the request. */
export interface StreamedRequest {
  readonly prefixes: HeaderRules
  readonly prefix: string
  readonly record: RequestRecord
  readonly stepTimeout: StepTimeout
  readonly timed: Timed
  /** Rejects with what is wrong with the headers. */
  accept(head: Head): Promise<ResolvedRequest>
  /** What the destination is told in the place of what the caller said. */
  edits(accepted: ResolvedRequest, remove: readonly string[]): Edits
}

/** Resolves when all of it went out. Rejects with what it is refused with, and when the caller goes. */
export const uploadThrough = async (
  head: Head,
  endOfStream: boolean,
  flow: BodyStream,
  { prefixes, prefix, record: account, stepTimeout, timed, accept, edits }: StreamedRequest,
  deps: StreamedRequestDeps,
  options: StreamedRequestOptions,
): Promise<void> => {
  const dialed = (host: string, port: number): Promise<string> => {
    if (deps.dial === undefined)
      throw new AppError('gateway_timeout', 'Bodies are not streamed here. Ask the operator.')
    return deps.dial(host, port)
  }

  const released = async (accepted: ResolvedRequest, remove: readonly string[]): Promise<ExtProcReply> => {
    const { upstream, host, port } = accepted.destination
    const all = edits(accepted, remove)
    if (upstream === 'demo') return { kind: 'release', prefix, upstream, edits: all }
    const address = await stepTimeout.within(options.stepMs, dialed(host, port))
    const scheme = upstream === 'http' ? 'http' : 'https'
    return { kind: 'release', prefix, upstream: `dialed_${scheme}`, address, edits: all }
  }

  const takeHead = async (): Promise<ResolvedRequest> => {
    const accepted = await accept(head)
    checkStreamable(accepted)
    await account.called(accepted)
    return accepted
  }

  const pass = async (accepted: ResolvedRequest): Promise<void> => {
    const work = growingWork()
    const language = languageOf(deps.expressions, await effectiveCaller(deps, accepted), work)
    const { contentType, contentEncoding } = accepted
    const actingNow = async (): Promise<Caller> =>
      effectiveCaller(deps, await identifyAgain(deps, prefixes, accepted.request))
    const use = async (ids: readonly string[]): Promise<ReadonlyMap<string, UsedToken>> => {
      const acting = await actingNow()
      checkUse(acting)
      if (ids.length === 0) return new Map()
      const now = deps.clock.now()
      const used = await deps.vault.use(ids, { caller: acting, traceId: account.traceId, now })
      account.tokens += used.size
      return used
    }
    return pipeBody({
      flow,
      reader: createPartReader(contentType, contentEncoding, language, options.body),
      work,
      limits: options.upload,
      timeoutMs: options.stepMs / 2,
      use: (ids) =>
        stepTimeout.within(
          options.stepMs,
          timed('use', () => use(ids)),
        ),
      // The length that was announced is not the one that it will have.
      release: async () =>
        flow.write(await released(accepted, [...strippedNames(head, prefixes), 'content-length'])),
    })
  }

  const accepted = await stepTimeout.within(options.stepMs, deps.admission.run(0, takeHead))
  if (endOfStream) await flow.write(await released(accepted, strippedNames(head, prefixes)))
  else await deps.uploads.run(0, () => pass(accepted), ownerOf(accepted.caller))
}
