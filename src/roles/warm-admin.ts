import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { startAdmin } from '../admin/server.ts'
import type { WarmUpVault } from './warm-up.ts'

/** Reads, enough for the functions of a call to be compiled. */
const READS = 10

/** The calls of an admin process: a token is read, over a socket as Envoy calls it. */
export const warmAdmin = async ({
  runtime,
  key,
  tokenId,
  directory,
  log,
  signal,
}: WarmUpVault): Promise<void> => {
  const { kernel, metrics, admit } = runtime
  const socketPath = `${directory}/api.sock`
  const admin = await startAdmin({ kernel, metrics, log }, { listen: { socketPath }, admit })
  const read = () =>
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
    for (let i = 0; i < READS; i++) await read()
  } finally {
    await admin.close()
  }
}
