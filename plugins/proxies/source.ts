import { eachRecord } from '#kit'
import type { PluginContext, ProxySource, StoredProxy } from '#sdk'
import { Proxies, type ProxyRecord } from './collections.ts'
import { tlsOf } from './destination-tls.ts'
import { parseInterception } from './intercept.ts'

const stored = (tenantId: string, proxy: ProxyRecord): StoredProxy => ({
  id: proxy.id,
  tenantId,
  name: proxy.name,
  destinationUrl: proxy.destination_url,
  requireAuth: proxy.require_auth,
  ...(proxy.request_transform ? { requestTransform: proxy.request_transform.code } : {}),
  ...(proxy.response_transform ? { responseTransform: proxy.response_transform.code } : {}),
  ...(proxy.response_transform?.otherwise ? { responseOtherwise: proxy.response_transform.otherwise } : {}),
  configuration: proxy.configuration ?? {},
  ...(proxy.application_id === undefined ? {} : { applicationId: proxy.application_id }),
  ...(proxy.intercept ? { intercept: parseInterception(proxy.destination_url) } : {}),
  ...(proxy.destination_tls === undefined ? {} : { destinationTls: tlsOf(proxy.destination_tls) }),
  ...(proxy.evaluate === undefined ? {} : { evaluate: proxy.evaluate }),
  ...(proxy.response_guard === undefined ? {} : { responseGuard: proxy.response_guard }),
})

/** The port with which the gateway finds the proxy of a key. */
export const proxySource = (context: PluginContext): ProxySource => {
  const records = () => context.records(Proxies)
  return {
    collections: Object.freeze([Proxies.name]),
    find: async (keyHash) => {
      const entry = await records().lookup('key_hash', keyHash)
      return entry && stored(entry.tenantId, entry.record)
    },
    intercepting: async (tenantId, host) => {
      const { items } = await records().find(tenantId, { where: { bound_host: host } })
      return items.map((proxy) => stored(tenantId, proxy))
    },
    nameOf: async (tenantId, id) => (await records().get(tenantId, id))?.name,
    actingAs: async function* (tenantId, applicationIds) {
      for await (const proxy of eachRecord(records(), tenantId, { application_id: applicationIds })) {
        const { id, name, application_id, request_transform, response_transform, require_auth } = proxy
        const code = request_transform !== undefined || response_transform !== undefined
        const anonymous = !require_auth && request_transform === undefined
        if (application_id !== undefined && (code || anonymous))
          yield { id, name, applicationId: application_id, code, anonymous }
      }
    },
    newest: async (limit) =>
      (await records().newest(limit)).map(({ tenantId, record }) => stored(tenantId, record)),
  }
}
