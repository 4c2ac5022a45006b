/** Routes of `/console/api/proxy`, which the console calls with a session (docs/adr/0102). */
import { CONSOLE_API, CONSOLE_RESPONSE_HEADERS, PASSED_HEADERS } from '../common/console.ts'
import { destinationClusters } from './destinations.ts'
import type { Settings } from './options.ts'
import { ROUTES } from './route-names.ts'
import { metadata, methodRoute, releasedRoutes, waiting } from './routes.ts'

const PER_ROUTE =
  'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute'

/** Matches texts that neither are one of `names` nor begin with one of `prefixes`, in RE2, which has no look-ahead. */
const noneOf = (names: readonly string[], prefixes: readonly string[]): string => {
  const starts = [...new Set([...names, ...prefixes].map((text) => text[0] ?? ''))].filter(
    (start) => start !== '',
  )
  const rest = (texts: readonly string[], start: string) =>
    texts.filter((text) => text[0] === start).map((text) => text.slice(1))
  const others = starts.map((start) => start.replace(/[\\\]^-]/, '\\$&')).join('')
  return [
    ...(names.includes('') ? [] : ['']),
    others === '' ? '.+' : `[^${others}].*`,
    ...starts
      .filter((start) => !rest(prefixes, start).includes(''))
      .map(
        (start) =>
          `${start.replace(/[.*+?^$()|[\]\\{}]/, '\\$&')}(?:${noneOf(rest(names, start), rest(prefixes, start))})`,
      ),
  ].join('|')
}

/**
 * The last changes to every response, of a destination, the code of a proxy, the gateway or Envoy. Headers by
 * which a destination would act on the console's origin do not pass: cookies, redirects, stored policies.
 */
const guarded = ({ prefixes }: Settings) => ({
  typed_per_filter_config: {
    'envoy.filters.http.header_mutation': {
      '@type': PER_ROUTE,
      mutations: {
        response_mutations: [
          {
            remove_on_match: {
              key_matcher: {
                safe_regex: {
                  regex: noneOf(PASSED_HEADERS, [':', 'x-', ...prefixes.map((prefix) => `${prefix}-`)]),
                },
              },
            },
          },
          ...Object.entries(CONSOLE_RESPONSE_HEADERS).map(([key, value]) => ({
            append: { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
          })),
        ],
      },
    },
  },
})

const guard = (
  settings: Settings,
  route: { readonly typed_per_filter_config?: object; readonly [member: string]: unknown },
) => ({
  ...route,
  typed_per_filter_config: {
    ...route.typed_per_filter_config,
    ...guarded(settings).typed_per_filter_config,
  },
})

const PATH = `${CONSOLE_API}/proxy`

/**
 * `released`: routes that the gateway's metadata selects, besides those of `/proxy`. `pending`: calls as they arrive.
 * None without the console or without a gateway.
 */
export const consoleRoutes = (settings: Settings) => {
  if (settings.console !== true || settings.proxy === false) return { released: [], pending: [] }
  // The console streams no bodies, so it has no clusters that are dialed.
  const { dialed_https: _, dialed_http: __, ...clusters } = destinationClusters(settings)
  return {
    released: [
      ...releasedRoutes(settings, clusters, settings.prefixes, 'console_'),
      {
        name: ROUTES.hold,
        match: { prefix: '/', dynamic_metadata: [metadata('console', { bool_match: true })] },
        ...waiting(settings),
      },
    ].map((route) => guard(settings, route)),
    pending: [
      methodRoute(PATH),
      { name: ROUTES.pending, match: { path_separated_prefix: PATH }, ...waiting(settings) },
    ].map((route) => guard(settings, route)),
  }
}
