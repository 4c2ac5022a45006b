import { ERRORS, type ErrorCode, invalid } from '../../../src/common/errors.ts'
import { code, type Page, page, table } from './markdown.ts'

const MISSING =
  'No entity of this tenant has this id. The response is the same for entities of other tenants.'

/** What a code means, and what the client does. */
const EXPLAINED: Readonly<Record<ErrorCode, string>> = {
  malformed:
    'The request cannot be read: its JSON, its path, its headers or its encoding is not valid. Correct the request. The status is 426 for a version of HTTP that is not served, such as HTTP/1.0: use HTTP/1.1.',
  invalid:
    'A member of the request is not valid. `errors` names each member by its property path. Correct them.',
  invalid_expression:
    'An expression does not parse, names an unknown filter or token, or fails on the value. Correct the expression. Expressions that exceed the work limit fail with it, too: use simpler or fewer ones.',
  invalid_surface:
    'An entry of `evaluate` names a place that cannot hold expressions, such as `header:host`. Use `body`, `path`, `header:<name>` or `query:<name>`.',
  expression_on_closed_surface:
    'An expression with the id of a token stands in a place that is not evaluated; `detail` names it. Nothing was forwarded. Add the place to `evaluate`, or remove the expression.',
  code_failed:
    'A transform or reactor threw an error, met a limit, or returned something unusable. `detail` has the message that the code threw. Correct the code.',
  invalid_destination:
    'The destination URL is missing or not valid. Correct `SVC-PROXY-URL` or the stored proxy.',
  unauthenticated: 'The API key is missing, unknown, deleted, expired or replaced. Use a valid key.',
  forbidden:
    'The key lacks the permission, no access rule matches, or the session is not authorized yet. Change the grants, or use another key.',
  denied_by_plugin:
    'A check of a plugin that the operator installed denies the call. `errors.check` has the code of the plugin, `detail` its reason. Ask the operator; do not retry. `SVC-PROXY-OUTCOME` says whether the destination received the request.',
  destination_not_allowed:
    'The egress rules do not allow the scheme, port or address of this destination: the operator opens it with the settings `SIDEVAULT_EGRESS_…`. Or the `destinations` of a token, access rule or application do not allow it: the error names the token and the host.',
  egress_only:
    'The token is `egress_only`, and the proxy has a request transform, which would get its value. Remove the transform, or use another token.',
  origin_not_allowed:
    'A page in a browser made the call (it has an `Origin` header). Its application does not list the origin in `allowed_origins`, pages cannot make this call, or the key is private or management: such keys are for servers. A server that forwards requests of browsers removes the header.',
  not_found: 'No such route or page. `/docs` lists all.',
  application_not_found: MISSING,
  association_not_found: 'The token is not a child of this parent. Read the associations of the parent.',
  delivery_not_found: MISSING,
  formula_not_found: MISSING,
  invitation_not_found: MISSING,
  key_not_found: MISSING,
  member_not_found: MISSING,
  proxy_not_found:
    "No proxy has this id or this proxy key. Check it. The response is the same for other tenants' proxies.",
  reactor_not_found: MISSING,
  result_not_found:
    'The asynchronous request has no result: it is not complete, was read before, has expired, or never existed.',
  session_not_found: 'No session has this id or nonce, or it has expired. Create a session.',
  tenant_not_found: 'The tenant was deleted. Use the key of an existing tenant.',
  token_not_found:
    'No token of this tenant has this id, or it has expired. The response is the same for tokens of other tenants.',
  webhook_not_found: MISSING,
  method_not_allowed: 'The path exists, the method does not. `Allow` lists the methods.',
  proxy_authentication_required:
    'The forward proxy got no valid API key in `Proxy-Authorization`. Put the key into the proxy URL: `http://x:<key>@host:port`.',
  request_timeout: 'The request did not arrive completely in time. Send it again.',
  destination_timeout:
    'The destination did not respond in time. It may have processed the request. The limit is `SIDEVAULT_DESTINATION_TIMEOUT_SECONDS`.',
  conflict:
    'The entity exists (gRPC `ALREADY_EXISTS`), its state does not allow the call (gRPC `FAILED_PRECONDITION`), it was changed at the same time, or a request with the same idempotency key is in progress (gRPC `ABORTED`). Read the state, then decide.',
  precondition_failed:
    'The entity was changed since the version that `If-Match` names. Read it again, then repeat the change with its `ETag`.',
  too_large:
    'The body, or what the call would open or produce, exceeds a limit. Send less, or stream the body.',
  uri_too_long:
    'The path and query are longer than 8 KiB once their expressions are replaced. Name smaller values, or send them in the body.',
  unsupported_media_type:
    'The content type or content coding is not accepted here. `detail` names those that are.',
  misdirected:
    'A request inside a tunnel of the forward proxy is for another host or port than its `CONNECT`. Open a tunnel for each.',
  unprocessable:
    'The request is valid but cannot be processed: code exports no function, a limit of entities is reached, or the plugin of a token type is missing.',
  rate_limited:
    'The key or address exceeds its rate limit, or the tenant exceeds its share. Wait for the seconds that `Retry-After` gives, then repeat the call.',
  headers_too_large: 'Path and headers exceed their limit. Send fewer or shorter headers.',
  internal:
    'Sidevault failed. The log has the cause, under the trace id of the response. Retry; then ask the operator.',
  destination_unreachable:
    'The name did not resolve, or the connection or its TLS failed. The destination may have received a part of the request.',
  bad_gateway:
    'The response cannot be used: it is not valid HTTP, or a response transform cannot read it. The destination received the request.',
  value_in_response:
    "The destination's response holds a value that the request sent, and the response guard blocks it. The request was carried out: do not repeat it. Use `replace`, or correct the destination.",
  response_unreadable:
    "The response guard must read the destination's response, and cannot: its coding is unknown, it is not valid in its coding, or it expands too far. The request was carried out: do not repeat it. Have the destination send identity, gzip, deflate or br.",
  overloaded: 'A component has no capacity or does not accept work. Nothing was done. Retry after a moment.',
  check_unavailable:
    'A check of a plugin failed, or did not decide in time, and rejects what it does not decide. Retry after a moment, unless `SVC-PROXY-OUTCOME` says that the destination responded; then ask the operator.',
  gateway_timeout:
    'A component did not respond in time. A write may have been done: repeat it with an idempotency key, or read the state first.',
}

/** https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const GRPC: Readonly<Record<number, string>> = {
  3: 'INVALID_ARGUMENT',
  4: 'DEADLINE_EXCEEDED',
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  10: 'ABORTED',
  11: 'OUT_OF_RANGE',
  12: 'UNIMPLEMENTED',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
  16: 'UNAUTHENTICATED',
}

export const errors: Page = {
  name: 'errors',
  text: () => {
    const all = (Object.keys(ERRORS) as ErrorCode[]).map((name) => ({ name, ...ERRORS[name] }))
    return page(
      'Errors',
      'Every response with a status from 400 up has one shape. Inside the proxy it is wrapped: `{ "proxy_error": { … } }`.',
      [
        '```json',
        JSON.stringify(invalid({ 'data.number': ['must pass the Luhn check'] }).toProblem(), null, 2),
        '```',
      ].join('\n'),
      '`code` is the stable name of the error: match it in programs. `type` is the reference to its section of this page. `title` and `detail` are for people, and may change.',
      '`detail` says what was asked, what is wrong and what to do. It never holds a value, a key or a body.',
      table(
        ['Code', 'HTTP', 'gRPC', 'Title'],
        all.map(({ name, status, grpc, title }) => [
          `[${code(name)}](#${name})`,
          String(status),
          name === 'conflict'
            ? '`ALREADY_EXISTS`, `ABORTED`, `FAILED_PRECONDITION`'
            : code(GRPC[grpc] ?? String(grpc)),
          title,
        ]),
      ),
      ...all.flatMap(({ name, status, title }) => [
        `## ${name}`,
        `**${status} ${title}.** ${EXPLAINED[name]}`,
      ]),
    )
  },
}
