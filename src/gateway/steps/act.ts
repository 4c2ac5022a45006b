/** Whose grants apply to the expressions of a request. */
import { holds, isAdministrator } from '../../access/authorize.ts'
import { codingsOf } from '../../common/decode-content.ts'
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import { bodyWork } from '../../expressions/work.ts'
import type { Caller } from '../../sdk/index.ts'
import type { RequestBody } from '../body/plain.ts'
import { languageOf } from '../language.ts'
import type { Evaluated, Identified, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { identifyAgain } from './refresh.ts'

/** Forms of `{{` or its first half: as it is, in UTF-16, as JSON and as a form. */
const BRACES = ['{{', '{\0', '%7', '\\u007'].map((braces) => Buffer.from(braces))

/** Whether a body may hold an expression. */
const mayHoldBraces = ({ bytes, contentEncoding }: RequestBody): boolean =>
  bytes.length > 0 &&
  (BRACES.some((braces) => bytes.includes(braces)) || codingsOf(contentEncoding)?.length !== 0)

/** The proxy's application, else the caller. */
const asApplication = ({ caller, proxy }: Identified, { gateway }: RequestContext): Eventual<Caller> => {
  if (proxy?.applicationId === undefined) return caller
  return gateway.deps.authenticator
    .identify({ tenantId: proxy.tenantId, id: proxy.applicationId })
    .catch((thrown) => {
      // Without the application the caller stays anonymous.
      if (thrown instanceof AppError && thrown.code === 'unauthenticated') return caller
      throw thrown
    })
}

/** The proxy's application for anonymous calls, else the caller itself. */
export const effectiveCaller = (request: Identified, context: RequestContext): Eventual<Caller> =>
  request.caller.actorType === 'anonymous' ? asApplication(request, context) : request.caller

/** The effective caller as it is now: a streamed body may take minutes. */
export const effectiveCallerNow = (request: Resolved, context: RequestContext): Eventual<Caller> =>
  whenReady(identifyAgain(request, context), (identified) => effectiveCaller(identified, context))

type Sent = Resolved & Pick<Evaluated, 'sent'>

/** The request as this caller's, with its expressions, counted in one budget of work. */
const actingAs = <T extends Sent>(
  request: T,
  caller: Caller,
  { gateway: { deps } }: RequestContext,
): T & Evaluated => {
  const work = bodyWork()
  return { ...request, acting: { caller, work, language: languageOf(deps.expressions, caller, work) } }
}

/** For a request with a complete body. The caller is asked for only when there may be expressions. */
export const act = <T extends Sent>(request: T, context: RequestContext): Eventual<T & Evaluated> =>
  request.hasBraces || (request.sent !== undefined && mayHoldBraces(request.sent))
    ? whenReady(effectiveCaller(request, context), (caller) => actingAs(request, caller, context))
    : { ...request, acting: undefined }

/** For the headers, path and query of a request whose body is streamed. */
export const actOnHead = (request: Resolved, context: RequestContext): Eventual<Evaluated> => {
  const head = { ...request, sent: undefined }
  return request.hasBraces
    ? whenReady(effectiveCallerNow(request, context), (caller) => actingAs(head, caller, context))
    : { ...head, acting: undefined }
}

/**
 * For a dry run, whose response shows masks. An administrator that may update proxies acts as the proxy's application,
 * because saving such a proxy takes an administrator, too (completions §4). All others act as themselves, and see the
 * plan of expressions that they may not use.
 */
export const actInDryRun = <T extends Sent>(
  request: T,
  context: RequestContext,
): Eventual<T & Evaluated & { readonly acting: NonNullable<Evaluated['acting']> }> => {
  const { caller } = request
  const isForApplication =
    caller.applicationType === 'management' && isAdministrator(caller) && holds(caller, 'proxy:update')
  return whenReady(isForApplication ? asApplication(request, context) : caller, (acting) => {
    const work = bodyWork()
    const language = context.gateway.deps.expressions.within(work)
    return { ...request, acting: { caller: acting, work, language } }
  })
}
