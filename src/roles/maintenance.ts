import type { IncomingMessage, ServerResponse } from 'node:http'
import { operatorRecord } from '../access/audit-record.ts'
import type { AuditRecord, Journal } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import { isoTime } from '../common/clock.ts'
import { AppError, invalid } from '../common/errors.ts'
import { newId, newKey } from '../common/ids.ts'
import { isObject } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import { Secret } from '../common/secret.ts'
import { readJson, serveSocket } from '../common/serve-socket.ts'
import type { Keys } from '../keys/types.ts'
import type { Ports } from '../sdk/index.ts'
import type { Store } from '../store/store.ts'
import { createTenant } from './create-tenant.ts'

/** Characters of a tenant's name (interface, "Limits"). */
const MAX_NAME = 200
const MAX_BODY = 16_384

interface MaintenanceDeps {
  readonly store: Pick<Store, 'tenants' | 'keys'>
  readonly keys: Keys
  readonly credentials: Ports['credentials'] | undefined
  readonly applications: Ports['applications'] | undefined
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
}

interface Reply {
  readonly status: number
  readonly body?: unknown
}

const noTenant = (id: string): AppError => new AppError('tenant_not_found', `There is no tenant "${id}".`)

const nameOf = (body: unknown): string => {
  const name = isObject(body) ? body.name : undefined
  if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME)
    throw invalid(
      { name: [`must have 1 to ${MAX_NAME} characters`] },
      `A name has 1 to ${MAX_NAME} characters.`,
    )
  return name
}

const credentialsOf = ({ credentials }: MaintenanceDeps): Ports['credentials'] => {
  if (credentials === undefined)
    throw new AppError('gateway_timeout', 'No plugin authenticates API keys. Add the plugin "applications".')
  return credentials
}

/** A further management application of a tenant that exists, like the one it was created with. */
const createManagementKey = async (deps: MaintenanceDeps, tenantId: string): Promise<Reply> => {
  const { store, keys, journal, clock } = deps
  const credentials = credentialsOf(deps)
  if ((await store.tenants.get(tenantId)) === undefined) throw noTenant(tenantId)
  await journal.health()
  const key = new Secret(newKey())
  const hash = keys.mac('api-key', key.reveal())
  await credentials.install(tenantId, hash)
  const id = (await credentials.authenticate(hash))?.caller.applicationId ?? ''
  const message = 'Management application with a new key created'
  const event = { entity: 'application', id, operation: 'create', message } as const
  await journal.append([operatorRecord(tenantId, event, newId(), clock.now())])
  return { status: 201, body: { tenant_id: tenantId, application_id: id, key: key.reveal() } }
}

/** The first tenant that has this private application. */
const createRunKey = async ({ store, applications }: MaintenanceDeps, applicationId: string) => {
  for (const { id: tenantId } of await store.tenants.list()) {
    const key = await applications?.runKeys.create(tenantId, applicationId)
    if (key !== undefined) return { tenantId, ...key }
  }
  throw new AppError('application_not_found', `There is no private application "${applicationId}".`)
}

/** Keys for runs of a command (`sidevault run`): created, renewed while it runs, and deleted. */
const handleRunKeys = async (deps: MaintenanceDeps, request: IncomingMessage): Promise<Reply> => {
  const { applications, journal, clock } = deps
  const record = (tenant: string, id: string, operation: string): AuditRecord =>
    operatorRecord(
      tenant,
      { entity: 'application_key', id, operation, message: `Application key of a run ${operation}d` },
      newId(),
      clock.now(),
    )
  if (`${request.method} ${request.url}` === 'POST /run-keys') {
    const body = await readJson(request, MAX_BODY)
    const applicationId = isObject(body) ? String(body.application_id).slice(0, 200) : ''
    await journal.health()
    const { tenantId, id, key, endsInMs } = await createRunKey(deps, applicationId)
    await journal.append([record(tenantId, id, 'create')])
    return { status: 201, body: { tenant_id: tenantId, id, key: key.reveal(), ends_in_ms: endsInMs } }
  }
  const [, tenant, id] = /^\/run-keys\/([\w-]{1,100})\/([\w-]{1,100})$/.exec(request.url ?? '') ?? []
  if (tenant !== undefined && id !== undefined && applications !== undefined) {
    if (request.method === 'PUT') {
      await applications.runKeys.renew(tenant, id)
      return { status: 204 }
    }
    if (request.method === 'DELETE') {
      await applications.runKeys.delete(tenant, id)
      await journal.append([record(tenant, id, 'delete')])
      return { status: 204 }
    }
  }
  throw new AppError('not_found', 'This path does not exist.')
}

/** Handles the tenant commands of operators and records each. Access to the socket authorizes them. */
const handle = async (deps: MaintenanceDeps, request: IncomingMessage): Promise<Reply> => {
  const { store, keys, journal, clock } = deps
  const route = `${request.method} ${request.url}`
  const record = (id: string, operation: string, message: string): AuditRecord =>
    operatorRecord(id, { entity: 'tenant', id, operation, message }, newId(), clock.now())

  if (route === 'GET /tenants') {
    const tenants = await store.tenants.list()
    const body = tenants.map(({ id, name, created_at }) => ({ id, name, created_at: isoTime(created_at) }))
    return { status: 200, body }
  }
  if (route === 'POST /tenants') {
    const credentials = credentialsOf(deps)
    const name = nameOf(await readJson(request, MAX_BODY))
    await journal.health()
    const id = newId()
    const key = new Secret(newKey())
    await createTenant({ store, keys, credentials }, { id, name, key, now: clock.now() })
    await journal.append([record(id, 'create', 'Tenant created')])
    return { status: 201, body: { id, name, key: key.reveal() } }
  }
  const tenantId = /^POST \/tenants\/([^/]{1,200})\/management-keys$/.exec(route)?.[1]
  if (tenantId !== undefined) return createManagementKey(deps, tenantId)
  const id = /^DELETE \/tenants\/([^/]{1,200})$/.exec(route)?.[1]
  if (id !== undefined) {
    await journal.health()
    if (!(await store.tenants.delete(id, clock.now()))) throw noTenant(id)
    await journal.append([record(id, 'delete', 'Tenant deleted')])
    return { status: 204 }
  }
  return handleRunKeys(deps, request)
}

/** A unix socket for operator commands. Only the service's own user can open it; Envoy does not route to it. */
export const startMaintenanceServer = async (
  deps: MaintenanceDeps,
  socketPath: string,
): Promise<{ close(): Promise<void> }> => {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let reply: Reply
    try {
      reply = await handle(deps, request)
    } catch (thrown) {
      const error = AppError.from(thrown)
      if (error.code === 'internal')
        deps.log.error({ err: error.cause ?? error }, 'maintenance command failed')
      reply = { status: error.status, body: error.toProblem() }
    }
    response.writeHead(reply.status, { 'content-type': 'application/json', connection: 'close' })
    response.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
  }
  return serveSocket(socketPath, (request, response) => void respond(request, response))
}
