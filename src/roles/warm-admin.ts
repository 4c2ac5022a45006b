import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { startAdmin } from '../admin/server.ts'
import type { WarmUpTenant, WarmUpVault } from './warm-up.ts'

/** Reads of each tenant. */
const ROUNDS = 2

/** The calls of an admin process: a token is read, over a socket as Envoy calls it. */
export const warmAdmin = async ({ runtime, tenants, directory, log, signal }: WarmUpVault): Promise<void> => {
  const { kernel, metrics, admit } = runtime
  const socketPath = `${directory}/api.sock`
  const admin = await startAdmin({ kernel, metrics, log }, { listen: { socketPath }, admit })
  const read = ({ key, tokenId }: WarmUpTenant) =>
    new Promise<void>((resolve, reject) => {
      const sent = request({
        socketPath,
        path: `/tokens/${tokenId}`,
        headers: { 'svc-api-key': key },
        agent: false,
        signal,
      })
      sent.on('response', (response) => {
        if (response.statusCode === 200) text(response).then(() => resolve(), reject)
        else reject(new Error(`a read has status ${response.statusCode}`))
      })
      sent.on('error', reject)
      sent.end()
    })
  try {
    for (let round = 0; round < ROUNDS; round++) for (const tenant of tenants) await read(tenant)
  } finally {
    await admin.close()
  }
}
