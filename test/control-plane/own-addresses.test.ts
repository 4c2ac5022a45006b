import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { loadConfig } from '../../src/config.ts'
import { type BootstrapOptions, hasNewAddress, settle } from '../../src/control-plane/options.ts'
import { startXdsServer } from '../../src/control-plane/xds-server.ts'
import { openEgress } from '../../src/roles/egress.ts'
import { directoryFor } from '../kit/directory.ts'
import { silentLog } from '../kit/egress.ts'
import { until } from '../supervisor/processes.ts'

const { networkInterfaces } = os
const addAddress = (address: string) => {
  const before = os.networkInterfaces()
  const added = { address, internal: false } as os.NetworkInterfaceInfo
  os.networkInterfaces = () => ({ ...before, [address]: [added] })
  syncBuiltinESMExports()
}
t.afterEach(() => {
  os.networkInterfaces = networkInterfaces
  syncBuiltinESMExports()
})

const OPTIONS: BootstrapOptions = {
  listen: { host: '127.0.0.1', port: 8080 },
  gatewaySockets: ['gateway.sock'],
  apiSocket: 'api.sock',
  envoyAdminSocket: 'envoy.sock',
  prefixes: ['SVC'],
  egress: { allow: [], http: false, trustBundle: 'trust.pem' },
}

/** A control plane without an Envoy, and the cluster that a gateway gets for a certificate. */
const start = async (t: Parameters<typeof directoryFor>[0], addressesMs?: number) => {
  const socketPath = join(directoryFor(t), 'control.sock')
  const control = await startXdsServer(
    { log: silentLog(), clock: Date },
    {
      socketPath,
      options: OPTIONS,
      edge: false,
      ...(addressesMs === undefined ? {} : { addressesMs }),
    },
  )
  t.teardown(() => control.close())
  return async (): Promise<string> => {
    const body = { owner: 'tenant' }
    const response = await unixHttp(socketPath, 'PUT', '/identities/destination_tls_1', { body })
    return JSON.parse(response.body).cluster
  }
}

t.test('a gateway gets the cluster that Envoy has, also after the addresses changed', async (t) => {
  const clusterOf = await start(t)
  const served = await clusterOf()
  t.match(served, /^destination_tls_1-/)
  addAddress('10.1.2.3')
  t.equal(await clusterOf(), served)
})

t.test('the egress guard rejects an address that this machine gets later', async (t) => {
  const clusterOf = await start(t, 5)
  const served = await clusterOf()
  addAddress('10.1.2.3')
  await until('the clusters have another guard', async () => (await clusterOf()) !== served)
})

t.test('a link-local address of IPv6 is no reason for a change', async (t) => {
  const { ownAddresses } = settle(OPTIONS)
  t.notOk(hasNewAddress(ownAddresses))
  addAddress('fe80::42:1')
  t.notOk(hasNewAddress(ownAddresses))
  addAddress('10.1.2.3')
  t.ok(hasNewAddress(ownAddresses))
})

t.test('code and streamed requests do not reach an address that this machine gets later', async (t) => {
  const config = loadConfig({ SIDEVAULT_EGRESS_ALLOW: '10.0.0.0/8', SIDEVAULT_EGRESS_PORTS: '*' })
  const egress = await openEgress(config, { ports: [8080], trustBundle: undefined, addressesMs: 5 })
  t.teardown(() => egress.close())
  const dials = () =>
    egress.dial('10.1.2.3', 8080).then(
      () => true,
      () => false,
    )
  t.ok(await dials(), 'another machine')
  addAddress('10.1.2.3')
  await until('it is rejected', async () => !(await dials()))
  t.equal(await egress.dial('10.1.2.3', 8081), '10.1.2.3:8081', 'other ports are not of this service')
})
