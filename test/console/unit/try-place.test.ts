import t from 'tap'
import type { StoredProxy } from '../../../src/console/screens/proxies/types.ts'
import type { Draft } from '../../../src/console/screens/try/call.ts'
import { placeOf } from '../../../src/console/screens/try/place.ts'

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

/** `|` is the caret, or each end of a selection. */
const caretOf = (text: string) => {
  const [before = '', selected = '', after] = text.split('|')
  return after === undefined ? { before, selected: '', after: selected } : { before, selected, after }
}

/** The text with an expression at its caret, or the reason why none may be there. */
const inserted = (
  name: keyof Draft,
  text: string,
  {
    proxy,
    expression = "{{ i | json: '$[\\'a+b\\']' }}",
    ...draft
  }: Partial<Draft> & {
    readonly proxy?: Pick<StoredProxy, 'evaluate'>
    readonly expression?: string
  } = {},
): string => {
  const caret = caretOf(text)
  const place = placeOf(name, caret, {
    draft: { ...DRAFT, ...draft },
    proxy: proxy as StoredProxy | undefined,
    prefix: 'SVC',
  })
  return typeof place === 'string' ? place : `${caret.before}${place(expression)}${caret.after}`
}

/** Texts of JSON by what happens at their carets. */
const JSON_PLACES = {
  'inside a string': [
    '{"a": "|"}',
    '{"a": "b|c"}',
    '{"a": "|b c|"}',
    '{"a": ["b", "|"]}',
    '{"a": {"b": "}"}, "c": "{|',
    '"|"',
    String.raw`["\"|"]`,
    '{"a": "{{ b }}|"}',
    '{"a": "|{{ b }}|"}',
    '{"a": 1}\n{"a": "|"}',
  ],
  'with quotes': [
    '|',
    '{"a": |}',
    '{"a":| , "b": 1}',
    '{"a": |12|}',
    '{"a": |"b"|}',
    '[|]',
    '[1, |]',
    '{"a": [{"b": 1}, |]}',
  ],
  'Names are not evaluated': ['{"|": 1}', '{"a": 1, "b|', '{"a": {"|"}}', '[{"a": 1, "|": 2}]'],
  'inside another expression': ['{"a": "{{ b |}}"}', '{"a": "{{ b }} {{|"}'],
  'put the caret between quotes': [
    '|{}',
    '{}|',
    '{|}',
    '{"a"|: 1}',
    '{"a": 1|}',
    '{"a": |1}',
    '{"a": "b"|}',
    '{"a": "b",|}',
    '{"a": |{"b": 1}|}',
    '{"a": "b|", "|c": 1}',
    String.raw`{"a": "\|n"}`,
  ],
} as const

t.test('a place in JSON is in a string, a value, a name or outside', (t) => {
  const expression = '{{ i }}'
  for (const [place, texts] of Object.entries(JSON_PLACES))
    for (const text of texts) {
      const { before, after } = caretOf(text)
      const result = inserted('body', text, { expression })
      if (place === 'inside a string') t.equal(result, `${before}{{ i }}${after}`, text)
      else if (place === 'with quotes') t.equal(result, `${before}"{{ i }}"${after}`, text)
      else t.match(result, new RegExp(place), text)
    }
  t.end()
})

t.test('an expression is written as its place needs it', (t) => {
  t.same(JSON.parse(inserted('body', '{"a": "|"}')), { a: "{{ i | json: '$[\\'a+b\\']' }}" })
  t.same(JSON.parse(inserted('body', '{"a": |}')), { a: "{{ i | json: '$[\\'a+b\\']' }}" })
  const form = inserted('body', 'a=1&b=|&c=2', { headers: 'content-type: application/x-www-form-urlencoded' })
  t.equal(new URLSearchParams(form).get('b'), "{{ i | json: '$[\\'a+b\\']' }}")
  const expression = '{{ i }}'
  const xml = { headers: 'Content-Type: application/soap+xml; charset=utf-8', expression }
  t.equal(inserted('body', '<a>|</a>', xml), '<a>{{ i }}</a>')
  t.equal(
    inserted('body', '{"a": "|"}', { headers: 'content-type: application/ld+json', expression }),
    '{"a": "{{ i }}"}',
  )
  t.end()
})

t.test('where no expression may stand, a sentence says why', (t) => {
  const form = { headers: 'content-type: application/x-www-form-urlencoded' }
  for (const [name, text, reason, draft] of [
    ['body', '{"|": 1}', /Names are not/],
    ['body', '{} |', /inside a JSON string/],
    ['body', 'a=1&b|', /Names are not/, form],
    ['body', 'a={{ |', /inside another expression/, form],
    ['body', '|', /content type are not evaluated/, { headers: 'content-type: application/pdf' }],
    ['headers', 'authorization|: Bearer', /Names are not/],
    ['headers', 'content-type: |', /and not here/],
    ['headers', 'SVC-PROXY-EVALUATE: |', /and not here/],
    ['url', 'https://|', /and not here/],
    ['response', '{"body": "|"}', /and not here/],
    ['path', '/a?b|', /Names are not/],
  ] as const satisfies readonly (readonly [keyof Draft, string, RegExp, Partial<Draft>?])[])
    t.match(inserted(name, text, draft), reason, text)
  t.end()
})

t.test('a surface that the call does not evaluate is named, with how it would be', (t) => {
  const expression = '{{ i }}'
  t.match(
    inserted('headers', 'a: b\nAuthorization: Bearer |'),
    /evaluates body, and not header:authorization\. Add the header SVC-PROXY-EVALUATE: body, header:authorization$/,
  )
  const headers = 'svc-proxy-evaluate: header:Authorization, path, query:key'
  t.equal(
    inserted('headers', 'Authorization: Bearer |', { headers, expression }),
    'Authorization: Bearer {{ i }}',
  )
  t.equal(inserted('path', '/users/|/x', { headers, expression }), '/users/{{ i }}/x')
  t.equal(inserted('path', '/users?a=1&key=|', { headers, expression }), '/users?a=1&key={{ i }}')
  t.match(inserted('path', '/users?Key=|', { headers }), /not query:Key/)
  t.match(inserted('body', '{"a": "|"}', { headers }), /not body/)
  const proxy = { evaluate: ['path'] }
  t.match(inserted('body', '"|"', { proxy }), /evaluates path, and not body\. .*page of the proxy/)
  t.match(inserted('body', '"|"', { proxy: { evaluate: [] } }), /evaluates nothing/)
  t.equal(inserted('path', '/|', { proxy, expression }), '/{{ i }}')
  t.equal(inserted('path', '/|', { proxyKey: 'k', expression }), '/{{ i }}', 'surfaces are not known')
  t.end()
})
