/** Replaces invalid responses of destinations (completions §7). */

const FILTER = 'type.googleapis.com/envoy.extensions.filters.http.custom_response.v3.CustomResponse'
const STATUS = 'type.googleapis.com/envoy.type.matcher.v3.HttpResponseStatusCodeMatchInput'
const REPLY =
  'type.googleapis.com/envoy.extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy'

/** `101` would open a tunnel without a request, since upgrades are rejected. No status is below 100 (RFC 9110 §15). */
const INVALID_STATUS = '101|[0-9]{1,2}'

/** Replaces an invalid response by 502; local-replies.ts matches it by its empty details. */
export const customResponse = {
  name: 'envoy.filters.http.custom_response',
  typed_config: {
    '@type': FILTER,
    custom_response_matcher: {
      matcher_list: {
        matchers: [
          {
            predicate: {
              single_predicate: {
                input: { name: 'status', typed_config: { '@type': STATUS } },
                value_match: { safe_regex: { google_re2: {}, regex: INVALID_STATUS } },
              },
            },
            on_match: {
              action: { name: 'bad_gateway', typed_config: { '@type': REPLY, status_code: 502 } },
            },
          },
        ],
      },
    },
  },
}
