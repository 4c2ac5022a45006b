import { createHash } from 'node:crypto'
import t from 'tap'
import { apiContent } from '../../../src/admin/openapi/docs-page.ts'
import { openApi } from '../../../src/admin/openapi/document.ts'
import { operationOf } from '../../kernel/kit.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const { call, kernel } = await startTestService(t, { openStore: openInThread })

t.test('the page lists every operation, and loads nothing but itself', async (t) => {
  const response = await call('GET', '/docs/api', { key: null })
  t.equal(response.status, 200)
  t.equal(response.headers['content-type'], 'text/html; charset=utf-8')
  for (const { rpc, summary } of kernel.registry.operations) {
    t.match(response.text, `id="${rpc}"`)
    t.match(response.text, summary.replaceAll("'", '&#39;'))
  }
  t.notMatch(response.text, /<script|<img|<iframe|<link|src=|@import|url\(|javascript:|\son\w+=/i)
  for (const [, target] of response.text.matchAll(/href="([^"]*)"/g))
    t.match(target, /^(#|\/openapi\.json$|\/docs)/)
})

t.test('complete examples are shown, and token types with theirs', async (t) => {
  const { text } = await call('GET', '/docs/api', { key: null })
  const create = /<details id="Tokens\.Create">[\s\S]*?<\/details>/.exec(text)?.[0] ?? ''
  for (const part of [
    '<h3>Example: A card</h3>',
    '&quot;number&quot;: &quot;4242424242424242&quot;',
    '&quot;number&quot;: &quot;XXXXXXXXXXXX4242&quot;',
    'Response <code>201</code>',
    'Response <code>400</code>',
    'must pass the Luhn check',
  ])
    t.ok(create.includes(part), part)
  const list = /<details id="Logs\.List">[\s\S]*?<\/details>/.exec(text)?.[0] ?? ''
  t.ok(list.includes('<code>entity_type</code>: <code>&quot;card&quot;</code>'), 'parameters of an example')
  t.match(text, /<details id="data\.card">[\s\S]*?<h3>Examples<\/h3>/)
})

t.test('the policy allows the one style of the page by its hash', async (t) => {
  const { text, headers } = await call('GET', '/docs/api')
  const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  t.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  )
  t.notMatch(text, /style=/)
})

t.test('texts of plugins are shown as text, never as markup', async (t) => {
  const evil = '<script>alert("x")</script>&\''
  const content = apiContent(
    openApi(
      {
        operations: [operationOf({ summary: evil, description: evil, permission: evil })],
        tokenTypes: new Map(),
      },
      { prefix: evil, version: evil },
    ),
  )
  t.notMatch(content, /<script/)
  t.match(content, '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;')
})
