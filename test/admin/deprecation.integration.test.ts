import t from 'tap'
import { openApi } from '../../src/admin/openapi/document.ts'
import { printProtos } from '../../src/admin/proto/generated.ts'
import { methodOf, pathOf } from '../../src/kernel/check/operation.ts'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

t.test('what /v2 replaces is deprecated everywhere, and works as before', async (t) => {
  const { kernel, call, application } = await startTestService(t, { openStore: openInThread })
  const { operations, tokenTypes } = kernel.registry
  const key = await application({ permissions: ['token:read', 'token:search'] })
  const { paths } = openApi({ operations, tokenTypes }, { prefix: 'SVC', version: '0.0.0' })
  const proto = printProtos(operations, {}).files.get('sidevault/v1/tokens.proto') ?? ''
  const deprecated = operations.filter((operation) => operation.deprecated !== undefined)
  t.same(deprecated.map(({ http }) => http).sort(), ['GET /tokens', 'POST /tokens/search'])
  for (const operation of deprecated) {
    const { rpc, http } = operation
    const successor = operations.find((other) => other.http === operation.deprecated?.replacedBy)
    t.ok(successor && successor.deprecated === undefined, `${http} has a successor`)
    const where = [methodOf(operation), pathOf(operation)] as const
    const response = await call(...where, { key, body: where[0] === 'GET' ? undefined : {} })
    t.match(response, { status: 200, json: { data: [] } }, http)
    t.match((await call(...where, { key: null })).status, 401)
    // 27 November 2026, 00:00 UTC.
    t.equal(response.headers.deprecation, '@1795737600')
    t.equal(
      response.headers.link,
      `</docs/api#${rpc}>; rel="deprecation"; type="text/html", <${pathOf(successor!)}>; rel="successor-version"`,
    )
    const next = await call(where[0], pathOf(successor!), { key, body: where[0] === 'GET' ? undefined : {} })
    t.equal(next.status, 200)
    t.strictSame([next.headers.deprecation, next.headers.link], [undefined, undefined])
    const printed = paths[where[1]]?.[where[0].toLowerCase()]
    t.match(printed, { deprecated: true, description: /^Deprecated since 2026-11-27: use `/ })
  }
  t.equal(proto.split('option deprecated = true;').length - 1, deprecated.length)
})
