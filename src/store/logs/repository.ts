import type { Session } from '../session.ts'
import type { LogStore } from '../types.ts'
import type { Writer } from '../writer.ts'
import { countLogs, listLogs } from './list.ts'
import { journalNames, logsOfEntity, logsOfTenant, positionOf } from './statements.ts'

export const createLogStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): LogStore => ({
  ingest: async (rows) =>
    rows.length === 0 ? undefined : writer.write('logs.ingest', { rows }, rows.length * 500),
  position: (journal) => session.get(positionOf, { journal }),
  journals: async () => (await session.all(journalNames, {})).map(({ journal }) => journal),
  list: (query) => listLogs(session, query),
  count: (filter) => countLogs(session, filter),
  find: (tenantId, entityId) =>
    entityId === undefined
      ? session.all(logsOfTenant, { tenant_id: tenantId })
      : session.all(logsOfEntity, { tenant_id: tenantId, entity_id: entityId }),
})
