import { eachRecord, Reference, yieldIfDue } from '#kit'
import {
  type AccessDecision,
  defineOperation,
  field,
  type Grants,
  listOf,
  offsetPage,
  offsetQuery,
  type PluginContext,
  pageOf,
  type Static,
  Type,
} from '#sdk'
import { AccessDiff, AccessEntry } from './access-schemas.ts'
import { credentialOf } from './credentials.ts'
import type { Directory } from './directory.ts'
import * as examples from './examples.ts'
import { checkGrants } from './grants.ts'
import { ApplicationUpdate } from './schemas.ts'

type Entry = Static<typeof AccessEntry>
type DecisionsOf = Awaited<ReturnType<PluginContext['vault']['access']>>

type Application = Entry['application']

const isUse = ({ permission }: AccessDecision): boolean => permission === 'token:use'

const ruleOf = (rule: AccessDecision['rule']): NonNullable<Entry['rule']> | null => {
  if (rule === undefined) return null
  const { description, priority, container, conditions, transform, destinations } = rule
  return {
    description,
    priority,
    transform,
    ...(container === undefined ? {} : { container }),
    ...(conditions === undefined ? {} : { conditions: [...conditions] }),
    ...(destinations === undefined ? {} : { destinations }),
  }
}

const entriesOf = (
  application: Application,
  decisions: readonly AccessDecision[],
  through?: Entry['through'],
): readonly Entry[] =>
  decisions.map(({ permission, disclosure, rule }) => ({
    application,
    permission,
    disclosure,
    rule: ruleOf(rule),
    ...(through === undefined ? {} : { through }),
  }))

/** Calls about who sees which tokens (completions §16). */
export const accessOperations = (context: PluginContext, directory: Directory) => {
  /** Ways to a token: of applications, newest first, then through proxies, reactors and sessions. */
  async function* waysTo(tenantId: string, now: number, decisionsOf: DecisionsOf) {
    const applications = new Map<string, Application>()
    /** The grants of those that may do something with the token. */
    const holders = new Map<string, Grants>()
    for await (const record of eachRecord(directory.applications(), tenantId)) {
      const { caller, expiresAt = Number.POSITIVE_INFINITY } = credentialOf(tenantId, record)
      if (expiresAt <= now) continue
      const { id, name, type } = record
      applications.set(id, { id, name, type })
      const decisions = decisionsOf(caller.grants)
      if (decisions.length > 0) holders.set(id, caller.grants)
      yield entriesOf({ id, name, type }, decisions)
    }

    const ids = [...holders.keys()]
    for (const [port, type] of [
      ['proxies', 'proxy'],
      ['reactors', 'reactor'],
    ] as const) {
      if (ids.length === 0) break
      for await (const acting of context.port(port)?.actingAs(tenantId, ids) ?? []) {
        const { id, name, applicationId, code, anonymous } = acting
        const grants = holders.get(applicationId) as Grants
        const byCode = code ? decisionsOf(grants, type === 'proxy' ? 'transform' : type) : []
        const byCaller = anonymous ? decisionsOf(grants).filter(isUse) : []
        const decisions = byCaller.length > 0 ? [...byCode.filter((d) => !isUse(d)), ...byCaller] : byCode
        yield entriesOf(applications.get(applicationId) as Application, decisions, { type, id, name })
      }
    }

    const isHolder = (grants: Grants) => decisionsOf(grants).length > 0
    for await (const { caller } of context.port('sessions')?.authorized(tenantId, now, isHolder) ?? []) {
      const application = applications.get(caller.applicationId ?? '')
      const through = { type: 'session' as const, id: caller.actorId }
      if (application) yield entriesOf(application, decisionsOf(caller.grants), through)
    }
  }

  return [
    defineOperation({
      rpc: 'Access.ListByToken',
      http: 'GET /tokens/{id}/access',
      summary: 'List who can see a token, and through what',
      description:
        'Each entry is a permission that a call of the application, or through a session, proxy or reactor, has on the token, with what the call would disclose. The token is not opened.',
      permission: 'application:read',
      audit: 'none',
      input: Type.Object({ ...offsetQuery, id: Type.String({ field: 3 }) }),
      output: listOf(AccessEntry),
      examples: examples.access,
      run: async ({ id, ...input }, { caller, now }) => {
        const page = pageOf(input)
        const decisionsOf = await context.vault.access(id, { caller, now })
        const first = (page.page - 1) * page.size
        const entries: Entry[] = []
        let total = 0
        for await (const ways of waysTo(caller.tenantId, now, decisionsOf)) {
          const pause = yieldIfDue()
          if (pause) await pause
          if (total + ways.length > first && entries.length < page.size)
            entries.push(...ways.slice(Math.max(first - total, 0), first + page.size - total))
          total += ways.length
        }
        return offsetPage(entries, total, page)
      },
    }),
    defineOperation({
      rpc: 'Access.Diff',
      http: 'POST /access/diff',
      summary: 'Compare draft permissions and rules of an application with the current ones',
      description:
        'Changes nothing. Members that are left out stay as they are. A line for each container that tokens lie in and that would be seen differently.',
      permission: 'application:read',
      audit: 'none',
      input: Type.Object({
        application: field(1, Reference),
        permissions: field(2, ApplicationUpdate.properties.permissions),
        rules: field(3, ApplicationUpdate.properties.rules),
      }),
      output: AccessDiff,
      errors: ['application_not_found'],
      examples: examples.diff,
      run: async ({ application: { id }, permissions, rules }, { caller, now }) => {
        const { tenantId } = caller
        const current = await directory.get(tenantId, id)
        // Where a value may go does not change who sees it.
        const stored = current.rules.map(({ destinations: _, ...rule }) => rule)
        const draft = checkGrants(
          { permissions: permissions ?? current.permissions, rules: rules ?? stored },
          current.type,
          context.permissions(),
        )
        const { lines, more } = await context.vault.compareAccess(
          credentialOf(tenantId, current).caller.grants,
          { permissions: draft.permissions, rules: draft.rules },
          { caller, now },
        )
        return { data: [...lines], ...(more ? { more } : {}) }
      },
    }),
  ]
}
