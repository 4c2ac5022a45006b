import type { Config, ListenAddress } from '../config.ts'
import { baseUrl } from './base-url.ts'
import { DEMO_HOST } from './demo-certificate.ts'
import { type GeneratedKey, keyInShell, shownKey } from './generated-key.ts'
import type { Role } from './messages.ts'

interface BannerOptions {
  readonly config: Pick<Config, 'headerPrefixes' | 'dataDir' | 'tls' | 'loopback' | 'console'>
  readonly listen: ListenAddress
  /** The management API without Envoy, besides `listen`. */
  readonly api: ListenAddress | undefined
  /** Health, metrics and documentation, when they are not at `listen`. */
  readonly ops: ListenAddress | undefined
  /** The forward proxy. */
  readonly forward: ListenAddress | undefined
  readonly role: Role
  /** False if only one role runs, or there is no demo destination. */
  readonly firstSteps: boolean
  /** True on the start that created the first tenant. */
  readonly installed: boolean
  /** The bootstrap key, if it was generated on this start. */
  readonly key: GeneratedKey | undefined
}

/**
 * Three lines for sh, bash, dash and zsh with curl and sed: create an application, store a card, send it through the
 * proxy and show what arrives.
 */
const firstStepLines = (
  url: string,
  options: { readonly key: string; readonly prefix: string; readonly tls: boolean },
): readonly [string, string, string] => {
  const curl = `curl -s${options.tls ? 'k' : ''} ${url}`
  const json = "-H 'Content-Type: application/json'"
  const keyHeader = (key: string) => `-H "${options.prefix}-API-KEY: ${key}"`
  const field = (name: string) => `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'`
  const application = `{"name":"First steps","type":"private","permissions":["token:create","token:read","token:use"]}`
  const card = `{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"}}`
  const body = String.raw`"{\"card\":\"{{ $TOKEN | json: '\$.number' }}\"}"`
  return [
    `KEY=$(${curl}/applications ${keyHeader(options.key)} ${json} -d '${application}' | ${field('key')})`,
    `TOKEN=$(${curl}/tokens ${keyHeader('$KEY')} ${json} -d '${card}' | ${field('id')})`,
    `${curl}/proxy ${keyHeader('$KEY')} -H '${options.prefix}-PROXY-URL: https://${DEMO_HOST}/pay' ${json} -d ${body}`,
  ]
}

const keyLine = ({ installed, key }: BannerOptions): string => {
  if (key !== undefined) return shownKey(key)
  return installed ? 'the one in SIDEVAULT_BOOTSTRAP_KEY' : 'the one of the first start'
}

/** The text that `npm start` prints when the service is ready. */
export const startupBanner = (options: BannerOptions): string => {
  const { config, listen } = options
  const url = baseUrl(listen, config.tls !== undefined)
  const ops = options.ops && baseUrl(options.ops, config.tls !== undefined)
  const pages = ops === undefined ? ', /healthz, /readyz, /metrics' : ''
  const lines = [
    '',
    'Sidevault is ready.',
    '',
    `  listens on      ${url}   ${options.role === 'gateway' ? `(the role gateway: /proxy${pages})` : `(documentation: ${ops ?? url}/docs)`}`,
    ...(options.api === undefined
      ? []
      : [`  management API  ${baseUrl(options.api, config.tls !== undefined)}   (without Envoy)`]),
    ...(ops === undefined ? [] : [`  operations      ${ops}   (/healthz, /readyz, /metrics)`]),
    ...(options.forward === undefined
      ? []
      : [`  forward proxy   ${baseUrl(options.forward, config.tls !== undefined)}   (HTTPS_PROXY)`]),
    ...(config.console && options.role !== 'gateway' ? [`  console         ${url}/console/`] : []),
    `  data directory  ${config.dataDir}`,
    ...(options.role === 'gateway' ? [] : [`  management key  ${keyLine(options)}`]),
    '',
  ]
  if (!options.firstSteps) return `${lines.join('\n')}\n`
  const key = options.key === undefined ? '$SIDEVAULT_BOOTSTRAP_KEY' : keyInShell(options.key)
  lines.push(
    'Paste these three lines into a shell: they store a card, send it through /proxy to a demo destination',
    options.key === undefined
      ? 'and show what arrives there. Set SIDEVAULT_BOOTSTRAP_KEY to the management key in that shell first.'
      : 'and show what arrives there.',
    '',
    ...firstStepLines(url, { key, prefix: config.headerPrefixes[0], tls: config.tls !== undefined }),
    '',
  )
  return `${lines.join('\n')}\n`
}
