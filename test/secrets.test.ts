import t from 'tap'
import { sourcesIn } from './kit/sources.ts'

/** Where a Secret may be opened (docs/security-model.md, "No plaintext at rest"), and what for. */
const MAY_REVEAL: Readonly<Record<string, string>> = {
  'src/admin/console/session.ts': 'sets the cookie of a new console session',
  'src/kernel/services/services.ts': 'hashes an API key that a plugin made',
  'src/keys/root-keyring.ts': 'hands the root key to the cipher',
  'src/keys/root-key-rotation.ts': 'hands both root keys to the cipher',
  'src/keys/delegated-key.ts': 'writes the key of a delegation into its text',
  'src/keys/open-delegated.ts': 'hands the key of a delegation to the cipher',
  'src/maintenance/delegation-commands.ts':
    'writes a delegated key into its file, and the address of the store with another role',
  'src/roles/delegation.ts': 'hands the source of a delegated key to what reads it',
  'src/maintenance/encrypted-archive.ts': 'makes a key of the passphrase of an exported tenant',
  'src/maintenance/import-tenant.ts': 'prints the key of an imported tenant, once',
  'src/maintenance/keys.ts': 'hands the source of the root key to what reads it',
  'src/maintenance/rotate-root.ts': 'finds the key file in the source of the root key',
  'src/roles/runtime.ts':
    'hands the source of the root key, and addresses with passwords, to what reads them',
  'src/commands/run/environment.ts': 'finds the variable of the root key, which the command must not get',
  'src/supervisor/live-settings.ts':
    'compares what the configuration file held and holds, and hands it to the processes below',
  'src/forward-proxy/stored-authority.ts': "makes a key object of the private key of the proxy's authority",
  'src/roles/create-tenant.ts': 'hashes the first key of a tenant',
  'src/roles/maintenance.ts': 'hands the key of a new tenant to the command, which prints it once',
  'src/roles/destination-clusters.ts': "hands the key of a proxy's certificate to Envoy's control plane",
  'src/roles/bootstrap-tenant.ts':
    'hashes the first key; hands a generated one to the supervisor, which prints it once',
}

const files = sourcesIn('src', 'plugins', 'bin').filter(({ path }) => path !== 'src/common/secret.ts')
const reveals = (text: string) => /\.reveal\b|\['reveal'\]/.test(text)

t.test('secrets are revealed only in the files of the list', async (t) => {
  t.ok(files.length > 50, 'the files are found')
  const found = files.filter(({ text }) => reveals(text)).map(({ path }) => path)
  t.same(
    found.filter((path) => !(path in MAY_REVEAL)),
    [],
  )
  t.same(
    Object.keys(MAY_REVEAL).filter((path) => !found.includes(path)),
    [],
    'a line of the list that is not needed any more is removed',
  )
})
