import type { Json } from '../../../src/common/json.ts'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { FILTERS } from '../../../src/expressions/filters/index.ts'
import { code, type Page, page, table } from './markdown.ts'

/** Arguments, what it does, and an example: a value with the filter behind it. Aliases are random: theirs has none. */
type Described = readonly [args: string, what: string, example?: readonly [value: Json, filter: string]]

const CARD = { number: '4242424242424242', expiration_month: 7, expiration_year: 2030 }

const DESCRIBED: Readonly<Record<string, Described>> = {
  last4: ['', 'the last 4 characters', ['4242424242424242', 'last4']],
  reveal_last: ["n, char='X'", 'masks all but the last n; keeps `-`', ['123-45-6789', 'reveal_last: 4']],
  reveal: [
    "first=0, last=0, char='X', keep=''",
    'masks all but the first and last; everything when that would show the complete value',
    ['4242424242424242', 'reveal: 4, 4'],
  ],
  card_mask: [
    "bin='false', last4='false', char='X', keep=''",
    'masks a card number',
    ['4242424242424242', "card_mask: 'true', 'true'"],
  ],
  card_bin: [
    "separator=''",
    'the BIN: 8 digits from 16-digit cards on, else 6',
    ['4242424242424242', 'card_bin'],
  ],
  card_exp: [
    'format',
    'expiry of a card object; formats such as `MM/YY`, `MMYY`, `YYYY-MM`',
    [CARD, "card_exp: 'MM/YY'"],
  ],
  json: [
    'path',
    'JSONPath (RFC 9535): one node, null for none, an error for several',
    [CARD, "json: '$.expiration_year'"],
  ],
  stringify: ['', 'text as it is, else JSON text', [{ a: 1 }, 'stringify']],
  to_string: ['', 'a string', [12, 'to_string']],
  to_number: ['', 'a number, or an error', ['12', 'to_number']],
  to_boolean: ['', 'a boolean, or an error', ['true', 'to_boolean']],
  pad_left: ["n, char=' '", 'fills up on the left', ['42', "pad_left: 4, '0'"]],
  pad_right: ["n, char=' '", 'fills up on the right', ['42', "pad_right: 4, '0'"]],
  alias_preserve_format: ['first=0, last=0', 'random: letters for letters, digits for digits'],
  alias_preserve_length: ['first=0, last=0', 'random: letters and digits'],
  alias_card: [
    "bin='false', last4='false'",
    'random: digits; passes the Luhn check when nothing is revealed',
  ],
  hmac: [
    "alg='sha-256', key",
    'keyed digest, as bytes',
    ['data', "hmac: 'sha-256', 'key' | to_base16 | slice: 0, 8"],
  ],
  to_base16: ['', 'hexadecimal, in capitals', ['data', 'to_base16']],
  to_base64: ['', 'Base64', ['data', 'to_base64']],
  append: ['text', 'adds behind', ['data', "append: '!'"]],
  prepend: ['text', 'adds in front', ['data', "prepend: '+'"]],
  upcase: ['', 'capitals', ['data', 'upcase']],
  downcase: ['', 'small letters', ['DATA', 'downcase']],
  capitalize: ['', 'first letter in capitals', ['data', 'capitalize']],
  strip: ['characters?', 'removes white space, or these characters, at both ends', [' data ', 'strip']],
  lstrip: ['characters?', 'the same on the left', [' data', 'lstrip']],
  rstrip: ['characters?', 'the same on the right', ['data ', 'rstrip']],
  strip_newlines: ['', 'removes line breaks', ['a\nb', 'strip_newlines']],
  slice: ['start, length=1', 'a part of a text or list', ['4242', 'slice: 0, 2']],
  first: ['', 'first element', [['a', 'b'], 'first']],
  last: ['', 'last element', [['a', 'b'], 'last']],
  size: ['', 'number of characters or elements', ['data', 'size']],
  split: ['pattern', 'a list of parts', ['a-b', "split: '-'"]],
  join: ["text=' '", 'a list as text', [['a', 'b'], "join: '-'"]],
  replace: ['pattern, text', 'replaces every occurrence', ['a-a', "replace: 'a', 'b'"]],
  replace_first: ['pattern, text', 'replaces the first occurrence', ['a-a', "replace_first: 'a', 'b'"]],
  remove: ['pattern', 'removes every occurrence', ['1-2-3', "remove: '-'"]],
  remove_first: ['pattern', 'removes the first occurrence', ['1-2-3', "remove_first: '-'"]],
  truncate: ["length=50, end='...'", 'cuts a text', ['4242424242', 'truncate: 7']],
  escape: ['', 'for HTML and XML', ['a<b', 'escape']],
  url_encode: ['', 'for URLs', ['a b&c', 'url_encode']],
  url_decode: ['', 'from URLs', ['a%20b', 'url_decode']],
  base64_encode: ['', 'text as Base64', ['data', 'base64_encode']],
  base64_decode: ['', 'text from Base64', ['ZGF0YQ==', 'base64_decode']],
  default: [
    'value, allow_false: false',
    'another value for null, false or empty text',
    ['', "default: 'none'"],
  ],
  plus: ['number', 'sum', [2, 'plus: 3']],
  minus: ['number', 'difference', [2, 'minus: 3']],
  times: ['number', 'product', [2, 'times: 3']],
  divided_by: ['number', 'quotient', [7, 'divided_by: 2']],
  modulo: ['number', 'remainder', [7, 'modulo: 2']],
  round: ['digits=0', 'rounds', [1.26, 'round: 1']],
  floor: ['', 'rounds down', [1.9, 'floor']],
  ceil: ['', 'rounds up', [1.1, 'ceil']],
  abs: ['', 'absolute value', [-2, 'abs']],
  at_least: ['number', 'the larger of both', [2, 'at_least: 3']],
  at_most: ['number', 'the smaller of both', [2, 'at_most: 1']],
  date: [
    'format, offset?',
    "strftime; offset as `'+02:00'` or minutes westward",
    ['2030-07-01T12:00:00Z', "date: '%d.%m.%Y'"],
  ],
}

const example = (value: Json, filter: string): string => {
  const { evaluate } = createExpressions().parseStored(`{{ data | ${filter} }}`)
  return `${code(JSON.stringify(value))} → ${code(JSON.stringify(evaluate({ data: value })))}`
}

export const expressions: Page = {
  name: 'expressions-and-filters',
  text: () => {
    const names = [...FILTERS.keys()]
    const opaque = (place: 'anywhere' | 'not in URLs') =>
      names
        .filter((name) => {
          const where = FILTERS.get(name)?.forOpaque
          return (typeof where === 'function' ? 'anywhere' : where) === place
        })
        .map(code)
        .join(', ')
    const rows = names.map((name) => {
      const [args, what, shown] = DESCRIBED[name] ?? ['', '']
      if (what === '') throw new Error(`${name} is not described in test/docs/reference/expressions.ts`)
      const [value, filter] = shown ?? []
      return [
        code(args === '' ? name : `${name}: ${args}`),
        what,
        filter === undefined ? '' : `${code(filter)}: ${example(value ?? null, filter)}`,
      ]
    })
    return page(
      'Expressions and filters',
      'An expression stands in double braces. Filters follow, each behind a `|`. It is the output form of Liquid, without tags and operators.',
      "```\n{{ 5b0c… | json: '$.number' | last4 }}\n```",
      table(
        ['Where', 'What the expression begins with'],
        [
          [
            'proxied bodies, reactor `args`, `/detokenize`',
            'a token id: `{{ <id> }}` is its data, `{{ token: <id> }}` the complete token; or a literal in quotes',
          ],
          [
            'path and query of proxied requests ([where they count](../guides/proxying.md#headers-path-and-query))',
            'the same',
          ],
          [
            'headers of proxied requests (likewise)',
            'the same, or `request.body`, `request.headers.<name>`, `configuration.<name>`, which filters take as arguments too',
          ],
          [
            '`mask`, `search_indexes`, an alias in `id`',
            '`data`, with a path: `data.number`, `data["odd name"]`, `data.list[0]`',
          ],
          ['`fingerprint_expression`', '`data` or `metadata`'],
        ],
      ),
      `- Text that is exactly one expression keeps the type of the value. Other text concatenates: objects as JSON, null as empty.
- A value is never evaluated again.
- \`{{-\` and \`-}}\` remove the white space outside. \`{% %}\` is text.
- What is not there is null. Most filters take null to null; those for text, lists and numbers read it as empty text or 0.
- An unclosed or empty expression, an unknown token, filter or a failing filter is 400, with the place.
- How values are encoded in JSON, forms, XML, CSV, multipart and text: [proxying](../guides/proxying.md#bodies).`,
      '## Filters',
      'These and no others; plugins add their own. The examples show a value, the filter, and the result.',
      table(['Filter', 'Result', 'Example'], rows),
      '## Values that the sender may not see',
      `A caller may send some values and not see them: tokens that its rule or application limits to [destinations](../guides/destinations.md), \`egress_only\` ones, and all tokens where it has no key. Expressions take them as a whole, with these filters: ${opaque('anywhere')} (\`json\` without \`?\` in its path), and outside URLs ${opaque('not in URLs')}. Multipart bodies take none of them. The variables of headers are taken so by all callers; they are arguments of \`hmac\`, \`append\` and \`prepend\` only.`,
    )
  },
}
