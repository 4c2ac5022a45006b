import t from 'tap'
import { createEventTypes, nearestOf } from '../../../plugins/webhooks/event-types.ts'
import { eventOf } from '../../../plugins/webhooks/events.ts'
import type { LogEntry, TokenType } from '../../../src/sdk/index.ts'

const named = (value: string) => ({ value, display_name: value })
const types = createEventTypes({
  tokenTypes: () => [{ name: 'card' } as TokenType],
  entityTypes: () => ['card', 'application', 'application_key', 'proxy', 'reactor'].map(named),
  auditDeclarations: () => [
    { entity: 'application', verb: 'create' },
    { entity: 'application_key', verb: 'delete' },
  ],
})

const entry: LogEntry = {
  position: 7,
  tenant_id: 'tenant',
  actor_id: 'actor',
  actor_type: 'application',
  entity_type: 'card',
  entity_id: 'token-1',
  operation: 'use',
  message: 'Card used',
  created_at: 0,
  trace_id: 'trace',
}
const typeOf = (more: Partial<LogEntry>) => types.of({ ...entry, ...more })

t.test('a type is the entity and what was done to it', async (t) => {
  t.equal(typeOf({}), 'token.used')
  t.equal(typeOf({ operation: 'read' }), 'token.read')
  t.equal(typeOf({ message: 'Card use denied' }), 'token.denied')
  t.equal(typeOf({ entity_type: 'proxy' }), 'proxy.invoked')
  t.equal(typeOf({ entity_type: 'proxy', operation: 'outcome' }), 'proxy.completed')
  t.equal(typeOf({ entity_type: 'proxy', message: 'Proxy call denied: Forbidden' }), 'proxy.denied')
  t.equal(typeOf({ entity_type: 'application_key', operation: 'delete' }), 'application.key_deleted')
  t.equal(typeOf({ entity_type: 'application', message: 'Denied: Application read' }), 'application.denied')
  t.equal(typeOf({ entity_type: 'reactor', message: 'Reactor result sent to a.test' }), 'reactor.result_sent')
})

t.test('types are listed from the declarations', async (t) => {
  const all = types.all()
  for (const type of ['application.created', 'application.key_deleted', 'token.used', 'reactor.result_sent'])
    t.ok(all.includes(type), type)
  t.notOk(all.includes('application.deleted'), 'no operation does that')
  t.notOk(all.includes('console_session.created'), 'without its plugin')
  t.equal(nearestOf('token.create', all), 'token.created')
})

t.test('an event has the entity and the actor, and an id that stays', async (t) => {
  const of = { type: 'token.used', isToken: true }
  const event = eventOf(entry, of)
  t.strictSame(event, {
    id: eventOf({ ...entry, message: 'is not part of it' }, of).id,
    type: 'token.used',
    timestamp: '1970-01-01T00:00:00.000+00:00',
    tenant_id: 'tenant',
    trace_id: 'trace',
    data: { token: { id: 'token-1', type: 'card' }, actor: { id: 'actor', type: 'application' } },
  })
  t.match(event.id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.not(eventOf({ ...entry, position: 8 }, of).id, event.id)
  const anonymous = eventOf({ ...entry, actor_id: null, actor_type: null }, of)
  t.strictSame(anonymous.data.actor, { id: null, type: 'anonymous' })
})

t.test('metadata that makes an event larger than 64 KiB is left out', async (t) => {
  const of = { type: 'token.used', isToken: true }
  const withMetadata = eventOf(entry, of, { order: '7' })
  t.strictSame(withMetadata.data.token, { id: 'token-1', type: 'card', metadata: { order: '7' } })
  t.strictSame(eventOf(entry, of, { order: 'x'.repeat(65_536) }), eventOf(entry, of))
})
