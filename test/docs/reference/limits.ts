import { MAX_READS } from '../../../src/admin/grpc/methods.ts'
import { STRUCTURE_LIMITS as JSON_LIMITS, MAX_DEPTH } from '../../../src/admin/structure.ts'
import { CODE_JSON_LIMITS } from '../../../src/common/json-structure.ts'
import { type settingNames, variableOf } from '../../../src/config/schema.ts'
import { loadConfig } from '../../../src/config.ts'
import {
  CALL_BYTES,
  GUARDED_CALL_BYTES,
  HOSTS,
  heldBytes,
  TUNNEL_BYTES,
  TUNNEL_IDLE_MS,
  TUNNEL_MS,
} from '../../../src/control-plane/limits.ts'
import { BODY_BYTES, MAX_REDIRECTS } from '../../../src/egress/fetch.ts'
import { URL_LENGTH } from '../../../src/egress/parse-url.ts'
import { MAX_SURFACES } from '../../../src/egress/surfaces.ts'
import { LIMITS as EXPRESSION } from '../../../src/expressions/limits.ts'
import { MAX_HOSTS } from '../../../src/forward-proxy/bound-hosts.ts'
import { BODY_LIMITS } from '../../../src/gateway/body/limits.ts'
import { CODE_ADMISSION, RUNNING_BYTES } from '../../../src/gateway/server.ts'
import { STREAM_LIMITS } from '../../../src/gateway/streaming/pipe-body.ts'
import { URL_BYTES } from '../../../src/gateway/surfaces/url.ts'
import { CODE_BYTES, WALL_MS as TRANSFORM_MS } from '../../../src/gateway/transform/run.ts'
import { WALL_MS as REACTOR_MS } from '../../../src/host-api/code.ts'
import { MAX_CALLS, MAX_REACTOR_DEPTH, MAX_REQUESTS } from '../../../src/host-api/host.ts'
import { MAX_KEY, RETENTION as RESPONSES_MS } from '../../../src/kernel/invoke/idempotency.ts'
import { MAX_SIZE as LOGS_SIZE } from '../../../src/kernel/services/logs.ts'
import { CONFIGURATION_LENGTH, CONFIGURATION_MEMBERS } from '../../../src/kit/changes.ts'
import { CODE_LENGTH } from '../../../src/kit/code-warnings.ts'
import {
  CALL_BYTES as INPUT_BYTES,
  DEFAULT_LIMITS as SANDBOX,
  UNSETTLED_CALL_BYTES,
} from '../../../src/sandbox/limits.ts'
import { PAGE_SIZE } from '../../../src/sdk/lists.ts'
import { TOKEN_LIMITS as TOKEN } from '../../../src/sdk/token-input.ts'
import { PAGES_PER_MINUTE } from '../../../src/shared-state/rate-limits.ts'
import { MAX_STORED_BYTES } from '../../../src/vault/seal.ts'
import { DEFAULT_LIMITS as VAULT } from '../../../src/vault/vault-deps.ts'
import { bytes, code, count, duration, type Page, page, table } from './markdown.ts'

const setting = (name: (typeof settingNames)[number]): string => code(variableOf(name))

export const limits: Page = {
  name: 'limits',
  text: () => {
    const config = loadConfig({})
    const { rateLimits } = config
    const rows = (all: readonly (readonly [what: string, most: string, from?: string])[]): string =>
      table(
        ['What', 'Limit', 'Setting'],
        all.map(([what, most, from = '']) => [what, most, from]),
      )
    return page(
      'Limits',
      'A call that exceeds a limit gets 400, 413 or 429, with the place and the limit in `detail`. Settings change the limits that name one. Responses of the management API have the limits of key, address and origin, and what is left of them, in `RateLimit-Policy` and `RateLimit`.',
      '## Requests',
      rows([
        ['Body of a management call', bytes(config.bodyLimit), setting('body_limit')],
        ['Body of a proxied request, buffered', bytes(config.proxyBodyLimit), setting('proxy_body_limit')],
        ['Nesting of JSON', `${MAX_DEPTH} levels`],
        ['Arrays and objects of a body', count(JSON_LIMITS.containers)],
        ['Members of a body', count(JSON_LIMITS.members)],
        ['Different names of members of a body', count(JSON_LIMITS.names)],
        ['Tags and lengths of fields of a gRPC message', count(MAX_READS)],
        ['Calls a minute with one key', count(rateLimits.perKey ?? 0), setting('rate_limit_per_key')],
        [
          'Calls a minute from one address',
          count(rateLimits.perAddress ?? 0),
          setting('rate_limit_per_address'),
        ],
        [
          'Calls a minute by pages of one origin at one address',
          count(rateLimits.perOrigin ?? 0),
          setting('rate_limit_per_origin'),
        ],
        [
          'Values of `data` searched for, a minute',
          count(rateLimits.guesses ?? 0),
          setting('rate_limit_guesses'),
        ],
        ['Public pages from one address, a minute', count(PAGES_PER_MINUTE)],
        [
          'Items of a page',
          `${PAGE_SIZE.default}, at most ${PAGE_SIZE.maximum}; logs at most ${count(LOGS_SIZE)}`,
        ],
        ['Idempotency key', `${MAX_KEY} characters, stored for ${duration(RESPONSES_MS)}`],
      ]),
      '## Tokens',
      rows([
        ['Id', `${TOKEN.id.minimum} to ${TOKEN.id.maximum} characters`],
        ['Data, as JSON', bytes(TOKEN.dataBytes)],
        ['Arrays and objects in data', count(TOKEN.dataContainers)],
        ['Data with mask and expressions', bytes(MAX_STORED_BYTES)],
        ['Metadata', `${TOKEN.metadata.entries} entries, values of ${TOKEN.metadata.value} characters`],
        ['Search indexes', count(TOKEN.searchIndexes)],
        ['Stored expression', `${TOKEN.expression} characters`],
        ['Expressions of a mask', count(TOKEN.maskExpressions)],
        ['Tokens of one call', count(VAULT.tokens)],
        ['Stored bytes that one call opens', bytes(VAULT.opened)],
        ['Stored bytes that all calls of a process open, shared by tenants', bytes(VAULT.held)],
      ]),
      '## Expressions',
      rows([
        ['Characters of an expression', count(EXPRESSION.expression)],
        ['Filters of an expression', count(EXPRESSION.filters)],
        ['Search patterns, JSONPaths, date formats', `${EXPRESSION.pattern} characters`],
        ['Expressions of a body', count(BODY_LIMITS.expressions)],
        ['Work of one expression', `${count(EXPRESSION.expressionWork)} units`],
        ['Work of a call', `${count(EXPRESSION.bodyWork)} units, ${duration(EXPRESSION.milliseconds)}`],
      ]),
      '## Proxy',
      rows([
        ['Destination URL', `${URL_LENGTH} characters`],
        ['Places where expressions are evaluated', count(MAX_SURFACES)],
        ['Path and query with values', bytes(URL_BYTES)],
        ['Body once decoded', bytes(BODY_LIMITS.decodedBytes)],
        ['Body with its values', bytes(BODY_LIMITS.rewrittenBytes)],
        [
          'Time until the response starts',
          duration(config.destinationTimeoutMs),
          setting('destination_timeout_seconds'),
        ],
        ['Streamed body', `${bytes(STREAM_LIMITS.bytes)}, ${duration(STREAM_LIMITS.ms)}`],
        ['Expressions of a streamed body', count(STREAM_LIMITS.expressions)],
        ['One string, field or part of a streamed body', bytes(BODY_LIMITS.heldBytes)],
        ['Streamed bodies at once, shared by tenants', count(STREAM_LIMITS.running)],
        ['Bytes of bodies worked on at once, shared by tenants', bytes(RUNNING_BYTES)],
        [
          "Envoy's memory for calls, shared by tenants",
          bytes(heldBytes(config.envoyMemoryBytes)),
          setting('envoy_memory_mib'),
        ],
        ["Envoy's memory for one call, besides its body", bytes(CALL_BYTES)],
        ['The same for a guarded call, with windows to and from the gateway', bytes(GUARDED_CALL_BYTES)],
        ['Hosts called within two minutes, shared by tenants', count(HOSTS)],
      ]),
      '## Forward proxy',
      rows([
        ['Tunnel without a request', duration(TUNNEL_IDLE_MS)],
        ['Time in which a tunnel takes requests', duration(TUNNEL_MS)],
        ['Lifetime of a WebSocket, and of a tunnel that is not opened', duration(TUNNEL_MS)],
        [
          "Envoy's memory for one opened tunnel, shared by tenants with that for calls",
          bytes(CALL_BYTES + TUNNEL_BYTES),
        ],
        ["Envoy's memory for one WebSocket or unopened tunnel, likewise", bytes(CALL_BYTES)],
        [
          'Buffered body in a tunnel; a longer one streams',
          bytes(config.proxyBodyLimit),
          setting('proxy_body_limit'),
        ],
        ['Bound hosts', count(MAX_HOSTS.all)],
        ['Bound hosts of a tenant', count(MAX_HOSTS.ofTenant)],
      ]),
      '## Transforms and reactors',
      rows([
        ['Code', `${count(CODE_LENGTH)} characters`],
        ['Entries of a configuration', count(CONFIGURATION_MEMBERS)],
        ['A configuration, as JSON', `${count(CONFIGURATION_LENGTH)} characters`],
        ['Time of a transform', duration(TRANSFORM_MS)],
        ['Time of a reactor', duration(REACTOR_MS)],
        ['CPU', duration(SANDBOX.cpuMs)],
        ['Memory', `${SANDBOX.memoryMib} MiB`],
        ['Body of a transform', bytes(CODE_BYTES)],
        ['Result', bytes(SANDBOX.resultBytes)],
        ['Arrays and objects of JSON for or from code', count(CODE_JSON_LIMITS.containers)],
        ['Members of JSON for or from code, or fields of a form', count(CODE_JSON_LIMITS.members)],
        ['Values of JSON for or from code', count(CODE_JSON_LIMITS.values)],
        ['Different member names of JSON for or from code', count(CODE_JSON_LIMITS.names)],
        ['Console', `${SANDBOX.logLines} lines, ${bytes(SANDBOX.logBytes)}`],
        ['Requests by `fetch` of one invocation', count(MAX_REQUESTS)],
        ['Body of such a request or its response', bytes(BODY_BYTES)],
        ['Redirects of such a request', count(MAX_REDIRECTS)],
        ['Calls of `bt` of one invocation', count(MAX_CALLS)],
        ['Input of one `fetch` or `bt`', bytes(INPUT_BYTES)],
        ['Inputs of unfinished calls of one invocation', bytes(UNSETTLED_CALL_BYTES)],
        ['Reactors within reactors', count(MAX_REACTOR_DEPTH)],
        [
          'Transforms at once, shared by tenants',
          `${count(CODE_ADMISSION.running)}, ${bytes(CODE_ADMISSION.bytes)}`,
        ],
      ]),
    )
  },
}
