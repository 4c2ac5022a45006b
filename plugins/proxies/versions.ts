import { type Mutation, newId, type PluginContext } from '#sdk'
import { type ProxyRecord, ProxyVersions, type VersionRecord } from './collections.ts'

/** Versions of a proxy's code that are retained, the current one included (completions §16). */
const RETAINED = 20

type Code = Pick<ProxyRecord, 'request_transform' | 'response_transform'>

const codeOf = ({ request_transform, response_transform }: Code): Code => ({
  ...(request_transform === undefined ? {} : { request_transform }),
  ...(response_transform === undefined ? {} : { response_transform }),
})

const isSame = (a: Code, b: Code): boolean => JSON.stringify(codeOf(a)) === JSON.stringify(codeOf(b))

/** The version that the proxy has now. */
const currentOf = (proxy: ProxyRecord): Omit<VersionRecord, 'id'> => ({
  proxy_id: proxy.id,
  version: proxy.code_version ?? 1,
  ...codeOf(proxy),
  created_by: proxy.code_by ?? proxy.created_by,
  created_at: proxy.code_at ?? proxy.created_at,
})

/** Former versions of a proxy's code, written with the change that replaces them. */
export const createVersions = (context: PluginContext) => {
  const versions = () => context.records(ProxyVersions)

  /** Newest first. */
  const former = async (tenantId: string, proxyId: string): Promise<readonly VersionRecord[]> => {
    const { items } = await versions().find(tenantId, { where: { proxy_id: proxyId } })
    return items.toSorted((a, b) => b.version - a.version)
  }

  return {
    /** Members of the changed proxy, and writes that belong to its commit. `actorId` and `now`: of the change. */
    retain: async (
      tenantId: string,
      before: ProxyRecord,
      after: Code,
      { actorId, now }: { readonly actorId: string; readonly now: number },
    ): Promise<{
      readonly members: Pick<ProxyRecord, 'code_version' | 'code_by' | 'code_at'>
      readonly mutations: readonly Mutation[]
    }> => {
      if (isSame(before, after)) {
        const { code_version, code_by, code_at } = before
        const members = code_version === undefined ? {} : { code_version, code_by, code_at }
        return {
          members: members as Pick<ProxyRecord, 'code_version' | 'code_by' | 'code_at'>,
          mutations: [],
        }
      }
      const replaced = currentOf(before)
      const old = (await former(tenantId, before.id)).slice(RETAINED - 2)
      return {
        members: { code_version: replaced.version + 1, code_by: actorId, code_at: now },
        mutations: [
          versions().insertMutation(tenantId, { id: newId(), ...replaced }),
          ...old.map(({ id }) => versions().deleteMutation(tenantId, id)),
        ],
      }
    },

    /** The newest versions, the current one first. */
    list: async (tenantId: string, proxy: ProxyRecord): Promise<readonly Omit<VersionRecord, 'id'>[]> => {
      const current = currentOf(proxy)
      // The proxy may have changed since it was read.
      const older = (await former(tenantId, proxy.id)).filter(({ version }) => version < current.version)
      return [current, ...older].slice(0, RETAINED)
    },

    /** Writes that belong to the commit that deletes the proxy. */
    deleting: async (tenantId: string, proxyId: string): Promise<readonly Mutation[]> =>
      (await former(tenantId, proxyId)).map(({ id }) => versions().deleteMutation(tenantId, id)),
  }
}
