import t from 'tap'
import { checkExamples, checkRejections, evaluate } from './table.ts'

const data = {
  books: [
    { category: 'fiction', author: 'Herman Melville', title: 'Moby Dick', price: 8.99 },
    { category: 'fantasy', author: 'J. R. R. Tolkien', title: 'The Lord of the Rings', price: 22.99 },
  ],
  bicycle: { color: 'red', price: 19.95, 'odd | }} name': 1 },
  nothing: null,
}

checkExamples([
  [data, "| json: '$.bicycle.color'", 'red'],
  [data, "| json: '$.bicycle.price'", 19.95],
  [data, "| json: '$.books[0].author'", 'Herman Melville'],
  [data, "| json: '$.books[-1].author'", 'J. R. R. Tolkien'],
  [data, "| json: '$.books[?(@.price < 10)].title'", 'Moby Dick'],
  [data, '| json: "$.books[?@.category == \'fantasy\'].price"', 22.99],
  [data, '| json: "$.bicycle[\'odd | }} name\']"', 1],
  [data, "| json: '$..color'", 'red'],
  [data, "| json: '$.books[?count(@.*) == 4 && @.price > 10].title'", 'The Lord of the Rings'],
  [data, "| json: '$.nope'", null],
  [data, "| json: '$.nothing'", null],
  [data, "| json: '$.bicycle' | json: '$.color' | upcase", 'RED'],
  ['text', "| json: '$'", 'text'],
  ['text', "| json: '$.a'", null],
  [{ a: 1 }, '| json', '{"a":1}'],
  [null, "| json: '$.a'", null],
])

checkRejections([
  [data, "| json: '$.books[*].title'"],
  [data, "| json: '$..price'"],
  [data, "| json: 'bicycle'"],
  [data, "| json: '$.['"],
  [data, '| json: 5'],
  [data, "| json: '$..a..b'"],
  [data, `| json: '$${'.a'.repeat(130)}'`],
  [data, "| json: '$.books[?@.price < $.bicycle.price]'"],
  [data, "| json: '$.books[?@..price]'"],
  [data, "| json: '$.books[?@[?@.a]]'"],
  [data, "| json: '$.books[?count($.books[*]) > 1]'"],
  [data, '| json: \'$.books[?search(@.title, "(a+)+b")]\''],
  [data, `| json: '$${'[0,0]'.repeat(60)}'`],
])

t.test('a path that visits every node of a large document is rejected', async (t) => {
  const list = Array.from({ length: 50_000 }, (_, at) => ({ at }))
  t.equal(evaluate(list, "| json: '$[49999].at'"), 49_999, 'not one that leads there')
  for (const path of ['$..[?@.at == 49999].at', '$[?@.at == 49999]', '$..nope'])
    t.throws(() => evaluate(list, `| json: '${path}'`), { code: 'invalid_expression' }, path)
})
