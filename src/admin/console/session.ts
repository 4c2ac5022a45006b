import type { FastifyReply, FastifyRequest } from 'fastify'
import { isoTime } from '../../common/clock.ts'
import { checkOwnPage, consoleCookie } from '../../common/console.ts'
import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import type { RateLimiter } from '../../common/rate-limiter.ts'
import type { Kernel, LiveConsoleSession } from '../../kernel/types.ts'
import type { Caller } from '../../sdk/index.ts'
import { checkContentCoding, checkContentType, parseJsonBody } from '../http/body.ts'
import { JSON_TYPE } from '../http/problem.ts'
import type { OwnRoute } from '../http/types.ts'
import { headerOf, presentedSession } from './api.ts'

/** Bytes of a body: a key. */
const BODY_LIMIT = 4_096

export interface SessionDeps {
  readonly kernel: Pick<Kernel, 'authenticator' | 'registry' | 'tenants'>
  readonly admit: RateLimiter | undefined
}

const keyIn = async (request: FastifyRequest): Promise<string> => {
  checkContentType(request.state.contentType)
  checkContentCoding(request.raw.headers['content-encoding'])
  const body = Buffer.isBuffer(request.body) ? await parseJsonBody(request.body) : undefined
  if (isObject(body) && typeof body.key === 'string' && body.key !== '') return body.key
  throw new AppError('invalid', 'The body names no key. Send {"key": "…"}.', {
    errors: { key: ['must be an API key'] },
  })
}

/** `/console/session`: signs in, says who is signed in, signs out (completions §16). */
export const sessionRoutes = ({ kernel, admit }: SessionDeps): readonly OwnRoute[] => {
  const { authenticator, registry, tenants } = kernel

  const identityOf = async ({ tenantId, actorId, applicationType, grants }: Caller) => {
    const application = await registry.ports.applications?.get(tenantId, actorId)
    const permissions = new Set([...grants.permissions, ...grants.rules.flatMap((rule) => rule.permissions)])
    const tenant = permissions.has('tenant:read') ? await tenants.get(tenantId) : undefined
    return {
      application: { id: actorId, name: application?.name ?? '', type: applicationType },
      permissions: [...permissions].sort(),
      ...(tenant === undefined ? {} : { tenant: { id: tenant.id, name: tenant.name } }),
    }
  }

  const sendSession = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { callers, expiresAt, idleExpiresAt }: LiveConsoleSession,
  ): Promise<FastifyReply> => {
    request.state.caller = callers[0]
    const identities = await Promise.all(
      callers.map(async (caller) => [caller.applicationType, await identityOf(caller)] as const),
    )
    return reply.type(JSON_TYPE).send(
      JSON.stringify({
        ...Object.fromEntries(identities),
        expires_at: isoTime(expiresAt),
        idle_expires_at: isoTime(idleExpiresAt),
      }),
    )
  }

  /** The session of the request's cookie, if it is live. */
  const formerSession = async (request: FastifyRequest): Promise<LiveConsoleSession | undefined> => {
    try {
      return await authenticator.consoleSession(presentedSession(headerOf(request.raw)))
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'unauthenticated') return undefined
      throw thrown
    }
  }

  const route = (method: 'GET' | 'POST' | 'DELETE', handler: OwnRoute['handler']): OwnRoute => ({
    method,
    path: '/console/session',
    name: 'console_session',
    bodyLimit: BODY_LIMIT,
    handler: async (request, reply) => {
      checkOwnPage(headerOf(request.raw))
      return handler(request, reply)
    },
  })

  return [
    route('POST', async (request, reply) => {
      const port = registry.ports.console
      if (port === undefined) throw new AppError('not_found', 'The plugin "console" is not loaded.')
      const key = await keyIn(request)
      await admit?.({ key, address: undefined })
      const caller = await authenticator.authenticate(key)
      const { traceId } = request.state
      const secret = (await port.signIn(caller, await formerSession(request), traceId)).reveal()
      const session = await authenticator.consoleSession({ secret, isUse: false })
      const { name, attributes } = consoleCookie(headerOf(request.raw))
      reply.code(201).header('set-cookie', `${name}=${secret}; ${attributes}`)
      return sendSession(request, reply, session)
    }),

    route('GET', async (request, reply) =>
      sendSession(
        request,
        reply,
        await authenticator.consoleSession(presentedSession(headerOf(request.raw))),
      ),
    ),

    route('DELETE', async (request, reply) => {
      const header = headerOf(request.raw)
      const session = await formerSession(request)
      if (session !== undefined) {
        request.state.caller = session.callers[0]
        await registry.ports.console?.end(session, 'signed out', request.state.traceId)
      }
      const { name, attributes } = consoleCookie(header)
      return reply.code(204).header('set-cookie', `${name}=; ${attributes}; Max-Age=0`).send()
    }),
  ]
}
