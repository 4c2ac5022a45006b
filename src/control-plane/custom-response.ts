/** What a destination sends in the place of an answer must not look like one (completions §7). */

const FILTER = 'type.googleapis.com/envoy.extensions.filters.http.custom_response.v3.CustomResponse'
const STATUS = 'type.googleapis.com/envoy.type.matcher.v3.HttpResponseStatusCodeMatchInput'
const REPLY =
  'type.googleapis.com/envoy.extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy'

/** `101` opens a tunnel that nobody asked for, since upgrades are refused; below 100 there are no statuses (RFC 9110 §15). */
const NO_RESPONSE = '101|[0-9]{1,2}'

/** Puts a 502 in the place of an answer that is none, which local-replies.ts knows by its empty details. */
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
                value_match: { safe_regex: { google_re2: {}, regex: NO_RESPONSE } },
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
