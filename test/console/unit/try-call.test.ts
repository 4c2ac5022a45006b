import t from 'tap'
import {
  type Draft,
  expression,
  issuesOf,
  pathsIn,
  prettyJson,
  requestOf,
} from '../../../src/console/screens/try/call.ts'

const DRAFT: Draft = {
  method: 'POST',
  url: 'https://a.test/v1',
  proxyKey: '',
  path: '',
  headers: '',
  body: '',
  response: '',
  code: '',
}

t.test('header lines are split at their first colon; invalid lines are named', (t) => {
  const { headers } = requestOf({ ...DRAFT, headers: 'A: b: c\r\n\n x-y :z\nempty:' }, 'SVC', false)
  t.match(headers, { A: 'b: c', 'x-y': 'z', empty: '' })
  const issueOf = (lines: string) => issuesOf({ ...DRAFT, headers: lines }).headers
  for (const line of [
    'no colon',
    ': v',
    'a b: c',
    'Host: x',
    'cookie: a=b',
    'Sec-Fetch-Site: none',
    'x-sidevault-console: 1',
    'a: \u0001',
    'a: \u20ac',
  ])
    t.type(issueOf(line), 'string', line)
  for (const line of ['a: \u00e9', 'A: b: c\r\n\n x-y :z\nempty:']) t.equal(issueOf(line), undefined)
  t.end()
})

t.test('a draft becomes a request to a URL or through a stored proxy', (t) => {
  t.same(requestOf(DRAFT, 'BT', false), {
    method: 'POST',
    path: '/proxy',
    headers: { 'BT-PROXY-URL': 'https://a.test/v1' },
    body: undefined,
  })
  t.same(
    requestOf(
      {
        ...DRAFT,
        proxyKey: 'k',
        path: '/x?y',
        body: '{}',
        headers: 'a: b',
        response: '{"status": 200, "body": "\u20ac"}',
      },
      'SVC',
      true,
    ),
    {
      method: 'POST',
      path: '/proxy/x?y',
      headers: {
        'content-type': 'application/json',
        a: 'b',
        'SVC-PROXY-KEY': 'k',
        'SVC-PROXY-DRY-RUN': 'true',
        'SVC-PROXY-DRY-RUN-RESPONSE': '{"status":200,"body":"\\u20ac"}',
      },
      body: '{}',
    },
  )
  t.same(requestOf({ ...DRAFT, body: 'a=b', headers: 'Content-Type: text/plain' }, 'SVC', false).headers, {
    'Content-Type': 'text/plain',
    'SVC-PROXY-URL': 'https://a.test/v1',
  })
  t.end()
})

t.test('problems of a draft are reported by field', (t) => {
  t.same(issuesOf(DRAFT), {})
  t.same(Object.keys(issuesOf({ ...DRAFT, url: '', path: 'x', headers: 'x', response: '{' })), [
    'url',
    'path',
    'headers',
    'response',
  ])
  t.same(issuesOf({ ...DRAFT, url: '', proxyKey: 'k', path: '?a' }), {})
  for (const path of ['/a.b/...', '/', '/a?b=/../c', '']) t.same(issuesOf({ ...DRAFT, path }), {}, path)
  for (const path of ['/..', '/../tokens', '/a/./b', '/%2E%2e/x', '/a/.%2e', '/a#b', '/a\\..\\b'])
    t.same(Object.keys(issuesOf({ ...DRAFT, path })), ['path'], path)
  t.end()
})

t.test('expressions name a token and a part of it', (t) => {
  t.equal(expression('id', ''), '{{ id }}')
  t.equal(expression('id', "$['a b']"), String.raw`{{ id | json: '$[\'a b\']' }}`)
  t.same(pathsIn({ number: 'X', owner: { 'a b': 1 }, list: [1] }), [
    '$.number',
    '$.owner',
    "$.owner['a b']",
    '$.list',
  ])
  t.same(pathsIn('text'), [])
  t.equal(pathsIn(Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`m${at}`, 1]))).length, 40)
  t.end()
})

t.test('texts that are not JSON stay unchanged', (t) => {
  t.equal(prettyJson('{"a":1}'), '{\n  "a": 1\n}')
  t.equal(prettyJson('<b>'), '<b>')
  const sent = (response: string) => requestOf({ ...DRAFT, response }, 'SVC', true).headers
  t.notOk('SVC-PROXY-DRY-RUN-RESPONSE' in sent('{'))
  for (const text of ['{"a":9999999999999999}', '[1e400]']) {
    t.equal(prettyJson(text), text)
    t.notOk('SVC-PROXY-DRY-RUN-RESPONSE' in sent(text))
    t.match(issuesOf({ ...DRAFT, response: text }), { response: /cannot be stored exactly/ })
  }
  t.end()
})
