import t from 'tap'
import { startOutside } from '../kit/outside.ts'
import { connect, secure } from '../kit/tunnel.ts'

const { sidevault, forward: proxy, forwardAuthority, destination } = await startOutside()
const { port } = destination
const key = await sidevault.application({ permissions: ['token:use'] })

/** The first tunnel to a host: TLS in it, with the certificate of the authority. */
const openOnce = async (host: string, as: string) => {
  const { status, body, socket } = await connect({ proxy, to: `${host}:${port}`, key: as })
  if (status !== 200) throw new Error(`CONNECT: ${status} ${body}`)
  const tls = await secure(socket, host, { ca: forwardAuthority.pem })
  tls.destroy()
}

t.test('the first tunnel behind the 201 of an intercepting proxy opens, twenty times', async (t) => {
  for (let at = 0; at < 20; at++) {
    const host = `new-${at}.test`
    const body = { name: host, destination_url: `https://${host}:${port}`, intercept: true }
    const created = await sidevault.call('POST', '/proxies', { key: sidevault.managementKey, body })
    t.equal(created.status, 201, created.text)
    await t.resolves(openOnce(host, key), host)
  }
})

t.test('the first tunnel behind the 201 of an application with destinations opens', async (t) => {
  const destinations = [{ host: '*.bound.test', ports: [port] }]
  const body = { name: 'bound', type: 'private', permissions: ['token:use'], destinations }
  const created = await sidevault.call('POST', '/applications', { key: sidevault.managementKey, body })
  t.equal(created.status, 201, created.text)
  await t.resolves(openOnce('new.bound.test', created.json.key))
})
