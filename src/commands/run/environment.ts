/** Environment of a program whose HTTPS requests go through the forward proxy (completions §15). */
import { isIPv4, isIPv6 } from 'node:net'
import type { Config } from '../../config.ts'

/** Files of the authorities that the program should trust. */
export interface TrustFiles {
  /** PEM: those of the forward proxy, and those of NODE_EXTRA_CA_CERTS. For variables that add to the system's. */
  readonly added: string
  /** PEM: the same with the system's authorities. For variables that replace them: other tunnels are not opened. */
  readonly bundle: string
  /** The same as a Java key store. */
  readonly keyStore: string
}

/** Where the forward proxy listens, as programs reach it. */
export interface ProxyAddress {
  readonly tls: boolean
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Hosts of this machine, which the proxy does not reach. */
const LOCAL = ['localhost', '127.0.0.1', '::1']

/**
 * Variables that replace the system's authorities: OpenSSL (Python, Go on Linux, Ruby), Python requests, pip, curl,
 * git, cargo, npm, AWS tools.
 */
const BUNDLES = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
  'npm_config_cafile',
  'AWS_CA_BUNDLE',
]

/** Variables that add to the system's authorities: Node, Deno. */
const ADDED = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT']

/** The service's own settings may hold its root key; the compile cache is that of this program. */
const isOwn = (name: string): boolean => name.startsWith('SIDEVAULT_') || name === 'NODE_COMPILE_CACHE'

/** Tokens for the key server of a source `transit:…`. */
const TRANSIT_TOKENS = ['BAO_TOKEN', 'VAULT_TOKEN']

/** Other variables with secrets of the service: root key, its passphrase or key server, password of the database. */
const secretsOf = ({
  rootKeySource,
  delegatedKeySource,
  postgres,
}: Pick<Config, 'rootKeySource' | 'delegatedKeySource' | 'postgres'>): Set<string> => {
  const source = rootKeySource?.reveal() ?? ''
  const [, variable] = /^(?:passphrase:)?env:(.+)$/s.exec(source) ?? []
  const [, delegated] = /^env:(.+)$/s.exec(delegatedKeySource?.reveal() ?? '') ?? []
  return new Set([
    ...(delegated === undefined ? [] : [delegated]),
    ...(variable === undefined ? [] : [variable]),
    ...(source.startsWith('transit:') ? TRANSIT_TOKENS : []),
    ...(postgres === undefined ? [] : ['PGPASSWORD']),
  ])
}

/** `http://x:<key>@127.0.0.1:8090` */
const proxyUrl = ({ tls, host, port }: ProxyAddress, key: string): string =>
  `${tls ? 'https' : 'http'}://x:${encodeURIComponent(key)}@${host.includes(':') ? `[${host}]` : host}:${port}`

const noProxyOf = (env: Environment): string =>
  [...new Set([...LOCAL, ...`${env.NO_PROXY ?? ''},${env.no_proxy ?? ''}`.split(',')])]
    .map((host) => host.trim())
    .filter((host) => host !== '')
    .join(',')

/** The JVM has its own form: `*` in the place of a leading dot, addresses of IPv6 in brackets, no ports. */
const nonProxyHosts = (noProxy: string): string =>
  noProxy
    .split(',')
    .flatMap((host) => {
      if (host === '127.0.0.1') return '127.*'
      if (isIPv6(host)) return `[${host}]`
      const [name = ''] = host.replace(/^\*?\./, '').split(':')
      if (name === '' || name.includes('/')) return []
      return isIPv4(name) || name === '*' || name === 'localhost' ? name : [name, `*.${name}`]
    })
    .join('|')

/** JAVA_TOOL_OPTIONS are split at blanks, except inside quotes, which cannot be escaped. */
const quoted = (option: string): string => {
  if (!/[\s'"]/.test(option)) return option
  return option.replace(/[^"]+|"+/g, (part) => (part.startsWith('"') ? `'${part}'` : `"${part}"`))
}

/** Options of the JVM. The key is not among them: a JVM prints them. */
const javaOptions = ({ host, port }: ProxyAddress, keyStore: string, noProxy: string): string =>
  [
    `-Dhttps.proxyHost=${host}`,
    `-Dhttps.proxyPort=${port}`,
    `-Dhttp.nonProxyHosts=${nonProxyHosts(noProxy)}`,
    // Basic is disabled for CONNECT by default.
    '-Djdk.http.auth.tunneling.disabledSchemes=',
    `-Djavax.net.ssl.trustStore=${keyStore}`,
    '-Djavax.net.ssl.trustStoreType=JKS',
  ]
    .map(quoted)
    .join(' ')

/** The environment of the program, without secrets of the service. */
export const environmentFor = (
  env: Environment,
  {
    config,
    address,
    key,
    files,
  }: {
    readonly config: Pick<Config, 'rootKeySource' | 'delegatedKeySource' | 'postgres'>
    readonly address: ProxyAddress
    readonly key: string
    readonly files: TrustFiles
  },
): Record<string, string> => {
  const url = proxyUrl(address, key)
  const noProxy = noProxyOf(env)
  const secrets = secretsOf(config)
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !isOwn(entry[0]) && !secrets.has(entry[0]),
  )
  return {
    ...Object.fromEntries(passed),
    HTTPS_PROXY: url,
    https_proxy: url,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(ADDED.map((name) => [name, files.added])),
    ...Object.fromEntries(BUNDLES.map((name) => [name, files.bundle])),
    JAVA_TOOL_OPTIONS: [env.JAVA_TOOL_OPTIONS, javaOptions(address, files.keyStore, noProxy)]
      .filter((text) => text)
      .join(' '),
  }
}
