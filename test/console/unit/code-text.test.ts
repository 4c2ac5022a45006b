import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../../src/console/api/client.ts'
import { ApiError } from '../../../src/console/api/problem.ts'
import { codeCheck } from '../../../src/console/kit/code-check.ts'
import {
  type Edit,
  indent,
  lineCount,
  newLine,
  offsetAt,
  outdent,
  positionAt,
} from '../../../src/console/kit/code-text.ts'

const after = (text: string, edit: Edit | undefined) =>
  edit === undefined ? undefined : text.slice(0, edit.from) + edit.insert + text.slice(edit.to)

t.test('line and column and their offset are the same position', (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '\n', '\t', '😀')), fc.nat(40), (parts, wanted) => {
      const text = parts.join('')
      const offset = Math.min(wanted, text.length)
      const place = positionAt(text, offset)
      t.equal(offsetAt(text, place), offset)
      t.ok(place.line <= lineCount(text))
    }),
  )
  t.end()
})

t.test('a place beyond its line, or the text, is clamped to its end', (t) => {
  t.equal(offsetAt('ab\ncd', { line: 1, column: 99 }), 2)
  t.equal(offsetAt('ab\ncd', { line: 9, column: 1 }), 5)
  t.equal(offsetAt('ab', { line: 0, column: 0 }), 0)
  t.end()
})

t.test('Tab indents at the caret, or each line of a selection that is not empty', (t) => {
  t.equal(after('ab', indent('ab', 1, 1)), 'a  b')
  t.equal(after('abc', indent('abc', 1, 2)), 'a  c')
  const text = 'a\n\nb\nc'
  t.equal(after(text, indent(text, 0, 4)), '  a\n\n  b\nc')
  t.equal(after(text, indent(text, 0, 3)), '  a\n\nb\nc')
  t.end()
})

t.test('Shift+Tab removes one level, and does nothing where there is none', (t) => {
  t.equal(after('    a', outdent('    a', 4, 4)), '  a')
  t.equal(outdent('    a', 4, 4)?.start, 2)
  t.equal(outdent(' a', 0, 0)?.start, 0)
  t.equal(after('\ta\n  b\nc', outdent('\ta\n  b\nc', 0, 6)), 'a\nb\nc')
  t.equal(outdent('a', 0, 1), undefined)
  t.end()
})

t.test('indent and outdent of a selection restore the text', (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '  b', '\tc'), { minLength: 2 }), (lines) => {
      const text = lines.join('\n')
      const edit = indent(text, 0, text.length)
      const indented = after(text, edit)!
      t.equal(after(indented, outdent(indented, edit.start, edit.end)), text)
    }),
  )
  t.end()
})

t.test('Enter keeps the indentation, and adds a level after an opening bracket', (t) => {
  t.equal(after('  a', newLine('  a', 3, 3)), '  a\n  ')
  t.equal(after('\tf({', newLine('\tf({', 4, 4)), '\tf({\n\t\t')
  t.equal(after('  a', newLine('  a', 1, 3)), ' \n ')
  t.equal(after('a\n\tb', indent('a\n\tb', 1, 1)), 'a\t\n\tb', 'by the unit of the text')
  t.end()
})

t.test('error messages of the API give the places of problems', async (t) => {
  const controller = new AbortController()
  const { problems, save } = codeCheck({
    api: {} as Api,
    path: '/proxies/check-code',
    body: () => undefined,
    signal: controller.signal,
  })
  const error = new ApiError({
    issues: {
      'request_transform.code': ['line 2, column 42: Unexpected token', 'must have at most 50000 characters'],
      name: ['is required'],
    },
  })
  await t.rejects(
    save(() => Promise.reject(error)),
    error,
  )
  const path = 'request_transform.code'
  t.strictSame(problems(path), [{ path, line: 2, column: 42, message: 'Unexpected token' }])
  t.strictSame(problems('name'), [])
  controller.abort()
})
