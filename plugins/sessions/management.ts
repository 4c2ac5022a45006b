import { EntityId, notFound } from '#kit'
import {
  cursorPage,
  cursorQuery,
  defineOperation,
  Empty,
  isoTime,
  listOf,
  type PluginContext,
  pageOf,
  type Static,
  Type,
} from '#sdk'
import { type SessionRecord, Sessions } from './collections.ts'
import type { LifeOf } from './credentials.ts'
import * as examples from './examples.ts'
import { SessionInfo } from './schemas.ts'

/** Operations that list and end sessions (completions §9). */
export const sessionManagement = (context: PluginContext, lifeOf: LifeOf) => {
  const sessions = () => context.records(Sessions)

  const shown = async (
    tenantId: string,
    session: SessionRecord,
    now: number,
  ): Promise<Static<typeof SessionInfo>> => {
    const { id, application_id, authorized_by, authorized_at, created_at, expires_at } = session
    const until = (await lifeOf(tenantId, session))?.until
    const living = authorized_at === undefined ? 'pending' : 'authorized'
    return {
      id,
      application_id,
      state: until === undefined || until <= now ? 'ended' : living,
      created_at: isoTime(created_at),
      expires_at: isoTime(until ?? expires_at),
      ...(authorized_by === undefined ? {} : { authorized_by }),
      ...(authorized_at === undefined ? {} : { authorized_at: isoTime(authorized_at) }),
    }
  }

  return [
    defineOperation({
      rpc: 'Sessions.List',
      http: 'GET /sessions',
      summary: 'List sessions, newest first',
      description:
        'Sessions that have ended are listed until they are removed, some time after they expired.',
      permission: 'session:read',
      audit: 'none',
      input: Type.Object(cursorQuery),
      output: listOf(SessionInfo),
      examples: examples.list,
      run: async ({ start, size: asked }, { caller, now }) => {
        const { tenantId } = caller
        const { size } = pageOf({ size: asked })
        const result = await sessions().find(tenantId, { size, ...(start === undefined ? {} : { start }) })
        const items = await Promise.all(result.items.map((session) => shown(tenantId, session, now)))
        return cursorPage(items, size, result.next)
      },
    }),
    defineOperation({
      rpc: 'Sessions.Delete',
      http: 'DELETE /sessions/{id}',
      summary: 'End a session at once',
      permission: 'session:delete',
      audit: { entity: 'session', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      examples: examples.remove,
      run: async ({ id }, { caller }) => {
        if (!(await sessions().delete(caller.tenantId, id))) throw notFound('session_not_found', id)
        return {}
      },
    }),
  ]
}
