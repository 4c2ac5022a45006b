/** What independent parsers make of rewritten bodies: what they make of the template, with the value in its place. */
import assert from 'node:assert/strict'
import { Busboy } from '@fastify/busboy'
import { parse as parseCsv } from 'csv-parse/sync'
import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { BODY_LIMITS } from '../../../src/gateway/body/rewrite.ts'
import { cut, inParts } from './kit.ts'

/** What the template has where the value will stand: neither is anywhere else. */
const HOLE = 'HOLE'

const hostile = fc.constantFrom(
  ']]>',
  '</n>',
  '<![CDATA[',
  ']',
  '>',
  '&lt;',
  '"',
  "'",
  '\r\n',
  '\n',
  '\r',
  '\t',
  ',',
  ';',
  '=',
  '\r\n--b',
  '--b--',
  '\r\n--b--\r\n',
  '-',
  'b',
  '{{ v }}',
  '","amount":1,"x":"',
  '💳',
  'ü',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u0000',
  '\u001f',
  '\uffff',
  '\ud800',
  ' ',
  '',
)
const value = fc.oneof(
  fc.array(hostile, { maxLength: 6 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const places = fc.array(fc.nat(400), { maxLength: 6 })

/** The template with the value in, cut into parts; undefined: the value cannot stand there. */
const filled = (template: string, type: string, data: string, at: readonly number[]): string | undefined => {
  const body = Buffer.from(template.replaceAll(HOLE, '{{ v }}'))
  try {
    return inParts(cut(body, at), type, BODY_LIMITS, () => ({ data, token: null })).toString()
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'invalid_expression') return undefined
    throw thrown
  }
}

type Parse = (body: string) => unknown

/** `parsed` with the value wherever the hole is. */
const withValue = (parsed: unknown, data: string): unknown => {
  if (typeof parsed === 'string') return parsed.replaceAll(HOLE, () => data)
  if (Array.isArray(parsed)) return parsed.map((item) => withValue(item, data))
  return parsed
}

const holds = (
  template: fc.Arbitrary<string>,
  type: string,
  parse: Parse,
  mayReject: (data: string, template: string) => boolean,
) =>
  fc.assert(
    fc.property(template, value, places, (text, data, at) => {
      const body = filled(text, type, data, at)
      if (body === undefined) assert.ok(mayReject(data, text), 'rejected without a reason')
      else assert.deepEqual(parse(body), withValue(parse(text), data.toWellFormed()))
    }),
    { numRuns: 1_000 },
  )

const join = (pieces: fc.Arbitrary<string>, maxLength = 4) =>
  fc.array(pieces, { minLength: 1, maxLength }).map((parts) => parts.join(''))

t.test(
  'XML: a parser finds the value in place of the expression, and everything else unchanged',
  async () => {
    /** Tags, attributes and text, with text around CDATA joined. */
    const parse: Parse = (body) => {
      const events: string[][] = []
      let text = ''
      const parser = new SaxesParser()
      const add = (...event: string[]) => {
        events.push(['text', text], event)
        text = ''
      }
      parser.on('opentag', ({ name, attributes }) => add('open', name, ...Object.entries(attributes).flat()))
      parser.on('closetag', ({ name }) => add('close', name))
      parser.on('comment', (comment) => add('comment', comment))
      parser.on('processinginstruction', ({ target, body: data }) => add('instruction', target, data))
      parser.on('text', (more) => {
        text += more
      })
      parser.on('cdata', (more) => {
        text += more
      })
      parser.on('error', (error) => {
        throw error
      })
      parser.write(body).close()
      return events
    }
    const text = fc.constantFrom(HOLE, HOLE, ' x ', '&amp;', '{ ', '{}', 'ü', '"', '\n')
    const inner = fc.oneof(
      text,
      join(fc.constantFrom(HOLE, 'x', '<', '&', ']', '{ ', '"')).map((data) => `<![CDATA[${data}]]>`),
      join(fc.constantFrom(HOLE, 'x', "'", ' ', '&quot;', '{ ', '>')).map((data) => `<b a="${data}"/>`),
      join(fc.constantFrom(HOLE, 'x', '"', ' ', '&lt;')).map(
        (data) => `<c d = '${data}' e="f">${data.includes('"') ? 'x' : HOLE}</c>`,
      ),
      fc.constantFrom('<!-- c -->', '<?p i?>'),
    )
    const template = join(inner, 6).map((data) => `<?xml version="1.0"?>\n<n>${data}</n>`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what XML 1.0 excludes
    const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
    holds(template, 'text/xml', parse, (data) => FORBIDDEN.test(data) || !data.isWellFormed())
  },
)

t.test('CSV: a parser finds the value in its field, and the same number of fields and records', async () => {
  const parse: Parse = (body) => parseCsv(body, { relaxColumnCount: true, recordDelimiter: ['\r\n', '\n'] })
  const field = fc.oneof(
    join(fc.constantFrom(HOLE, 'x', ' ', 'ü', '{ ', "'", '=')),
    fc.constantFrom(HOLE, '', 'x;', `x;${HOLE}`),
    join(fc.constantFrom(HOLE, 'x', ',', '""', '\r\n', '\n', ';', '{ ')).map((data) => `"${data}"`),
  )
  const record = fc.array(field, { minLength: 2, maxLength: 4 }).map((fields) => fields.join(','))
  const line = fc.oneof(record, fc.constantFrom(HOLE, `"${HOLE}"`))
  const template = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\r\n'))
  await holds(template, 'text/csv', parse, (data, text) => text.includes('x;') && /[,"\r\n;\t]/.test(data))
})

t.test(
  'multipart: a parser finds the value in its part, and every part, name and file unchanged',
  async () => {
    const parse = async (body: string) => {
      const parts: [name: string, type: string, filename: string | undefined, content: string][] = []
      const busboy = new Busboy({
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        isPartAFile: () => true,
      })
      busboy.on('file', (name, stream, filename, _encoding, type) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => parts.push([name, type, filename, Buffer.concat(chunks).toString()]))
      })
      await new Promise((resolve, reject) => {
        busboy.on('finish', resolve)
        busboy.on('error', reject)
        busboy.end(body)
      })
      return parts
    }
    const content = join(fc.constantFrom(HOLE, HOLE, 'x', '\r\n', '-', '{ ', '\n'))
    const part = fc.oneof(
      content.map((data) => `Content-Disposition: form-data; name="a"\r\n\r\n${data}`),
      content.map(
        (data) =>
          `Content-Disposition: form-data; name="${HOLE.toLowerCase()}"\r\nContent-Type: text/plain\r\n\r\n${data}`,
      ),
      fc.constant(
        'Content-Disposition: form-data; name="f"; filename="f.bin"\r\nContent-Type: a/b\r\n\r\n{{ v }}\r\n-',
      ),
    )
    const template = fc
      .array(part, { minLength: 1, maxLength: 4 })
      .map((parts) => `--b\r\n${parts.join('\r\n--b\r\n')}\r\n--b--\r\n`)
    await fc.assert(
      fc.asyncProperty(template, value, places, async (text, data, at) => {
        const body = filled(text, 'multipart/form-data; boundary=b', data, at)
        if (body === undefined) assert.match(text.replaceAll(HOLE, data), /[\r\n]--b/)
        else assert.deepEqual(await parse(body), withValue(await parse(text), data.toWellFormed()))
      }),
      { numRuns: 1_000 },
    )
  },
)
